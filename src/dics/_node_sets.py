"""Sets of levels by which nodes of trees split categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dics._model_check import check_array, require

WORDS = 4  # of 64 bits: core/data/code_set.hpp


class NodeSets:
    """Which nodes split by a set of levels, and which set.

    Parameters
    ----------
    numbers : ndarray of int32, shape (n_nodes,)
        The set of each node; -1 if it has a threshold, or is a leaf.
    words : ndarray of uint64, shape (n_sets, 4)
        A bit for each rank of a level, from the lowest of the first word on: those that
        go left.
    """

    def __init__(
        self, numbers: npt.NDArray[np.int32], words: npt.NDArray[np.uint64]
    ) -> None:
        self.numbers = numbers
        self.words = words

    def __getitem__(self, nodes: slice) -> NodeSets:
        """Return those of some nodes, as views of the same memory."""
        return NodeSets(self.numbers[nodes], self.words)

    def of_nodes(
        self, nodes: npt.NDArray[np.intp], inner: npt.NDArray[np.bool_]
    ) -> NodeSets:
        """Return those of some nodes alone, of which some are inner ones."""
        numbers = np.where(inner, self.numbers[nodes], -1)
        used, places = np.unique(numbers[numbers >= 0], return_inverse=True)
        kept = numbers.astype(np.int32)
        kept[numbers >= 0] = places
        return NodeSets(kept, self.words[used])

    def members(self, node: int) -> npt.NDArray[np.bool_] | None:
        """Tell which of 256 ranks go left at a node; None if it has a threshold."""
        number = int(self.numbers[node])
        if number < 0:
            return None
        bits = np.unpackbits(
            self.words[number].astype("<u8").view(np.uint8), bitorder="little"
        )
        return bits.astype(bool)

    def check(self, trees: Any) -> None:
        """Check what a model from elsewhere has here."""
        check_array("numbers of sets", self.numbers, np.int32, (len(trees.nodes),))
        check_array("sets of levels", self.words, np.uint64, (None, WORDS))
        require(
            (self.numbers >= -1) & (self.numbers < len(self.words)), "a set isn't there"
        )
        require(self.numbers[trees.feature < 0] == -1, "a leaf has a set of levels")


def joined_sets(first: Any, second: Any) -> NodeSets | None:
    """Return the sets of some trees and of others behind them."""
    if first.sets is None and second.sets is None:
        return None
    parts = [
        NodeSets(
            np.full(len(trees.nodes), -1, dtype=np.int32),
            np.empty((0, WORDS), dtype=np.uint64),
        )
        if trees.sets is None
        else trees.sets
        for trees in (first, second)
    ]
    shifted = parts[1].numbers + np.int32(len(parts[0].words))
    numbers = np.where(parts[1].numbers < 0, parts[1].numbers, shifted)
    return NodeSets(
        np.concatenate([parts[0].numbers, numbers.astype(np.int32)]),
        np.concatenate([part.words for part in parts]),
    )
