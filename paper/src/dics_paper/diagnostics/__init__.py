"""Quality of candidate splits, compared with exhaustive search."""

from dics_paper.diagnostics._depth import (
    DepthComparison,
    DepthGain,
    compare_by_depth,
    gain_by_depth,
)
from dics_paper.diagnostics._root import RootSplitGap, root_split_gap
from dics_paper.diagnostics._splits import (
    Split,
    SplitComparison,
    compare_root_splits,
    compare_splits,
    gap_bound,
)

__all__ = [
    "DepthComparison",
    "DepthGain",
    "RootSplitGap",
    "Split",
    "SplitComparison",
    "compare_by_depth",
    "compare_root_splits",
    "compare_splits",
    "gain_by_depth",
    "gap_bound",
    "root_split_gap",
]
