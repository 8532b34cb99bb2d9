"""Data sets of the paper: a generator, and a loader for real data."""

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
