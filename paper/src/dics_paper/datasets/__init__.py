"""Data sets of the paper: the synthetic ones, and a loader for the real ones."""

from dics_paper.datasets._files import BadDatasetError, DatasetNotFoundError
from dics_paper.datasets._real import DATASET_NAMES, Dataset, load_dataset
from dics_paper.datasets._synthetic import make_paper_synthetic

__all__ = [
    "DATASET_NAMES",
    "BadDatasetError",
    "Dataset",
    "DatasetNotFoundError",
    "load_dataset",
    "make_paper_synthetic",
]
