"""The flat arrays that every fitted model holds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dics import _core
from dics._input.checks import Array, FloatArray
from dics._input.sparse import SparseRows
from dics._model.checks import BadModel, check_array, check_trees, require

WORDS = 4  # of 64 bits: core/data/code_set.hpp

# What a row on its way down needs to know of a node, in one place: core/grow/grow.hpp.
NODE = np.dtype([("feature", "<i4"), ("left", "<i4"), ("threshold", "<f8")])
OF_NODES = ("nodes", "n_samples", "missing_left", "weight", "impurity", "gain")


class NodeSets:
    """Which nodes split by a set of categories, and which set.

    Parameters
    ----------
    numbers : ndarray of int32, shape (n_nodes,)
        The set of each node; -1 if it has a threshold, or is a leaf.
    words : ndarray of uint64, shape (n_sets, 4)
        A bit for each rank of a category, from the lowest of the first word on. It is
        1 if the category goes left.
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
        """Check the fields of an untrusted model."""
        check_array("numbers of sets", self.numbers, np.int32, (len(trees.nodes),))
        check_array("sets of categories", self.words, np.uint64, (None, WORDS))
        require(
            (self.numbers >= -1) & (self.numbers < len(self.words)), "a set isn't there"
        )
        require(self.numbers[trees.feature < 0] == -1, "a leaf has a set of categories")


def concat_sets(first: Any, second: Any) -> NodeSets | None:
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


def concat_arrays(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Put trees that were grown in several calls of the core into one set of arrays."""
    joined = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        if name in ("node_starts", "leaf_starts"):
            ends = np.cumsum([0, *(array[-1] for array in arrays[:-1])])
            shifted = [array[1:] + end for array, end in zip(arrays, ends, strict=True)]
            arrays = [arrays[0][:1], *shifted]
        if name == "set_numbers":
            before = np.cumsum([0, *(len(part["sets"]) for part in parts[:-1])])
            arrays = [
                np.where(own < 0, -1, own + n).astype(np.int32)
                for own, n in zip(arrays, before, strict=True)
            ]
        joined[name] = np.concatenate(arrays)
    return joined


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees as arrays with one entry per node, one tree behind the other.

    Nodes of a tree are in breadth-first order, its root is node 0, and the two children
    of a node stand side by side: ``left[i]`` and ``left[i] + 1``. A row goes left if
    its value is less than the threshold. Node and leaf numbers count from the beginning
    of their tree. ``trees[t]`` is one tree alone, as views of the same memory; the
    methods that speak of "the tree" are for such a one.

    Arrays that contradict one another are refused with a ValueError.

    Attributes
    ----------
    nodes : structured array
        One record a node; see its parts `feature`, `left`, `threshold`.
    n_samples : int32 array
        Training rows in the node.
    missing_left : uint8 array
        Whether NaN goes left.
    weight : float32 array
        Weight of the training rows in the node, in units of the mean weight of a row.
    impurity : float32 array
        Impurity of the training rows in the node, by `criterion`. Of boosting: empty.
        float64 if the targets are too large or too small for float32.
    gain : float64 array
        Of boosting: what the split of the node gained. Empty otherwise.
    leaf_values : float32 array of shape (n_mixed_leaves, n_classes)
        Share of each class in each leaf of several classes. Of boosting: what each leaf
        adds to the scores. Of regression: the prediction of each leaf, float64 of shape
        (n_leaves, n_outputs).
    node_starts : int64 array of shape (n_trees + 1,)
        Where the nodes of each tree begin.
    leaf_starts : int64 array of shape (n_trees + 1,)
        Where its rows of `leaf_values` begin.
    criterion : str
        What `impurity` is; empty for boosting.
    n_features : int
        Features of the rows that may go down the trees.
    sets : NodeSets or None
        The sets of categories in splits; None if there are none.
    """

    nodes: Array
    n_samples: npt.NDArray[np.int32]
    missing_left: npt.NDArray[np.uint8]
    weight: npt.NDArray[np.float32]
    impurity: npt.NDArray[np.floating[Any]]
    gain: FloatArray
    leaf_values: npt.NDArray[np.floating[Any]]
    node_starts: npt.NDArray[np.int64]
    leaf_starts: npt.NDArray[np.int64]
    criterion: str = ""
    n_features: int = -1  # by hand: as many as the trees look at
    sets: NodeSets | None = None

    def __post_init__(self) -> None:
        self._check()

    def __setstate__(self, state: dict[str, Any]) -> None:
        names = [field.name for field in fields(self)]
        if not set(names) - {"n_features", "sets"} <= set(state):
            raise BadModel("This is no valid model: the trees are not complete.")
        known = {"n_features": -1, "sets": None, **state}
        # A model file has this order, and equal models have equal files.
        self._set({name: known[name] for name in names if name in known})
        self._check()

    def _check(self) -> None:
        if self.n_features == -1:
            feature = getattr(self.nodes, "dtype", None) == NODE and len(self.nodes)
            most = int(self.feature.max()) + 1 if feature else 0
            self._set({"n_features": most})
        check_trees(self, NODE)
        if self.sets is not None:
            require(isinstance(self.sets, NodeSets), "sets of nodes are odd")
            self.sets.check(self)

    def _set(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _unchecked(cls, **values: Any) -> Trees:
        """Make trees of arrays that are known to be right."""
        trees = object.__new__(cls)
        trees._set(values)
        return trees

    @classmethod
    def from_core(
        cls, arrays: dict[str, Any], n_features: int, criterion: str = ""
    ) -> Trees:
        """Take what the core returns."""
        nodes = arrays["nodes"].view(NODE)[:, 0]
        plain = dict(arrays)
        plain["impurity"] = narrowed_impurity(plain["impurity"])
        sets = None
        if "sets" in plain:
            sets = NodeSets(plain.pop("set_numbers"), plain.pop("sets"))
        return cls._unchecked(
            **{**plain, "nodes": nodes},
            criterion=criterion,
            n_features=n_features,
            sets=sets,
        )

    @classmethod
    def empty(cls, n_outputs: int, n_features: int) -> Trees:
        """Return an object without any tree, for boosting to add to."""
        start = np.zeros(1, dtype=np.int64)
        return cls._unchecked(
            nodes=np.empty(0, dtype=NODE),
            n_samples=np.empty(0, dtype=np.int32),
            missing_left=np.empty(0, dtype=np.uint8),
            weight=np.empty(0, dtype=np.float32),
            impurity=np.empty(0, dtype=np.float32),
            gain=np.empty(0, dtype=np.float64),
            leaf_values=np.empty((0, n_outputs), dtype=np.float32),
            node_starts=start,
            leaf_starts=start,
            criterion="",
            n_features=n_features,
            sets=None,
        )

    def with_code_thresholds(
        self, values: FloatArray, offsets: npt.NDArray[np.int64]
    ) -> Trees:
        """Return the same trees for rows that are codes of a dictionary.

        All their thresholds must be in it.
        """
        nodes = self.nodes.copy()
        threshold, feature = nodes["threshold"], nodes["feature"]
        for f in np.unique(feature[feature >= 0]):
            here = (feature == f) & np.isfinite(threshold)
            own = values[offsets[f] : offsets[f + 1]]
            # x < own[t] exactly where the code is t or less.
            threshold[here] = np.searchsorted(own, threshold[here]) + 1
        return Trees._unchecked(**{**vars(self), "nodes": nodes})

    @property
    def feature(self) -> npt.NDArray[np.int32]:
        """Feature of the split; -1 for a leaf."""
        feature: npt.NDArray[np.int32] = self.nodes["feature"]
        return feature

    @property
    def threshold(self) -> FloatArray:
        """NaN for a leaf; -inf where everything but NaN goes right."""
        threshold: FloatArray = self.nodes["threshold"]
        return threshold

    @property
    def left(self) -> npt.NDArray[np.int32]:
        """Left child.

        For a leaf, its row in `leaf_values`, or ``~c`` if all its training rows have
        class number c.
        """
        left: npt.NDArray[np.int32] = self.nodes["left"]
        return left

    def __len__(self) -> int:
        return len(self.node_starts) - 1

    def __getitem__(self, t: int) -> Trees:
        t = range(len(self))[t]  # also from the end
        first, last = self.node_starts[t], self.node_starts[t + 1]
        leaves = slice(self.leaf_starts[t], self.leaf_starts[t + 1])
        return Trees._unchecked(
            **{name: getattr(self, name)[first:last] for name in OF_NODES},
            leaf_values=self.leaf_values[leaves],
            node_starts=np.array([0, last - first]),
            leaf_starts=np.array([0, leaves.stop - leaves.start]),
            criterion=self.criterion,
            n_features=self.n_features,
            sets=None if self.sets is None else self.sets[first:last],
        )

    def first(self, n_trees: int) -> Trees:
        """Return the first few trees, as views of the same memory."""
        n_nodes, n_leaves = self.node_starts[n_trees], self.leaf_starts[n_trees]
        return Trees._unchecked(
            **{name: getattr(self, name)[:n_nodes] for name in OF_NODES},
            leaf_values=self.leaf_values[:n_leaves],
            node_starts=self.node_starts[: n_trees + 1],
            leaf_starts=self.leaf_starts[: n_trees + 1],
            criterion=self.criterion,
            n_features=self.n_features,
            sets=None if self.sets is None else self.sets[:n_nodes],
        )

    def concat(self, other: Trees) -> Trees:
        """Return these trees and the other ones behind them."""
        per_tree = {
            name: np.concatenate([mine, mine[-1] + getattr(other, name)[1:]])
            for name in ("node_starts", "leaf_starts")
            for mine in [getattr(self, name)]
        }
        joined = {
            name: np.concatenate([getattr(self, name), getattr(other, name)])
            for name in (*OF_NODES, "leaf_values")
        }
        return Trees._unchecked(
            **joined,
            **per_tree,
            criterion=self.criterion,
            n_features=max(self.n_features, other.n_features),
            sets=concat_sets(self, other),
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.nodes)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature < 0))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.leaf_values.shape[1])

    @property
    def inner(self) -> npt.NDArray[np.intp]:
        """Indices of the nodes that aren't leaves."""
        return np.flatnonzero(self.feature >= 0)

    def _core_arguments(
        self, X: Array | SparseRows
    ) -> tuple[
        Array | SparseRows, Array, Array, Array, Array, Array | None, Array | None
    ]:
        """Return X and what else the core needs to send its rows down the trees."""
        if X.shape[1] < self.n_features:  # of another model, or of a later fit
            raise ValueError(
                f"X has {X.shape[1]} features, but the trees expect {self.n_features}."
            )
        return (
            X,
            self.nodes.view(np.int32).reshape(-1, 4),
            self.missing_left,
            self.node_starts,
            self.leaf_starts,
            None if self.sets is None else self.sets.numbers,
            None if self.sets is None else self.sets.words,
        )

    def apply(self, X: Array | SparseRows, n_threads: int) -> npt.NDArray[np.int64]:
        """Find the leaf (as a node index) of each row of a checked X in each tree."""
        leaves = np.empty((len(X), len(self)), dtype=np.int64)
        _core.find_leaves(*self._core_arguments(X), leaves, n_threads)
        return leaves

    def add_votes(
        self,
        X: Array | SparseRows,
        votes: FloatArray,
        *,
        hard: bool,
        n_threads: int,
        rows: npt.NDArray[np.uint32] | None = None,
    ) -> None:
        """Add the class shares (or single votes) of each tree for rows of X."""
        _core.vote(
            *self._core_arguments(X), self.leaf_values, rows, hard, votes, n_threads
        )

    def add_values(
        self,
        X: Array | SparseRows,
        sums: npt.NDArray[np.floating[Any]],
        *,
        n_threads: int,
        rows: npt.NDArray[np.uint32] | None = None,
    ) -> None:
        """Add the leaf values of each tree for rows of X; `sums` are of their type."""
        _core.add_values(
            *self._core_arguments(X), self.leaf_values, rows, sums, n_threads
        )

    def means(self, X: Array | SparseRows, *, n_threads: int) -> FloatArray:
        """Mean of the leaf values of the trees for each row of a checked X."""
        sums = np.zeros((len(X), self.leaf_values.shape[1]))
        self.add_values(X, sums, n_threads=n_threads)
        return sums / len(self) if len(self) > 1 else sums

    def shares(
        self, X: Array | SparseRows, *, hard: bool, n_threads: int
    ) -> FloatArray:
        """Mean vote of the trees for each row of a checked X."""
        votes = np.zeros((len(X), self.n_classes))
        self.add_votes(X, votes, hard=hard, n_threads=n_threads)
        votes /= votes.sum(axis=1, keepdims=True)  # 32-bit shares don't sum to one
        return votes

    def contributions(
        self, X: Array | SparseRows, *, n_threads: int, hard: bool = False
    ) -> FloatArray:
        """Compute what features add to the sum of all trees, [row][feature][output].

        One entry more than features: what the trees say without any.
        """
        values, rows = self._leaf_table(hard=hard)
        n_values = values.shape[1]
        out = np.zeros((len(X), (X.shape[1] + 1) * n_values))
        _core.add_contributions(
            *self._core_arguments(X), self.weight, rows, values, out, n_threads
        )
        return out.reshape(len(X), X.shape[1] + 1, n_values)

    def _leaf_table(self, *, hard: bool) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Values of all kinds of leaves, and which of them each node has."""
        values = self.leaf_values.astype(np.float64)
        if hard:
            values = np.eye(self.n_classes)[values.argmax(axis=1)]
        starts = np.repeat(self.leaf_starts[:-1], np.diff(self.node_starts))
        of_class = len(values) + ~self.left.astype(np.int64)  # of a leaf of one class
        rows = np.where(self.left < 0, of_class, starts + self.left)
        rows[self.feature >= 0] = 0
        if (self.left < 0).any():
            values = np.concatenate([values, np.eye(self.n_classes)])
        return values, rows

    def leaf_value_rows(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Rows of `leaf_values` of given leaves, [row][tree] as `apply` has them."""
        nodes = leaves + self.node_starts[:-1]
        numbers: npt.NDArray[np.int64] = self.left[nodes] + self.leaf_starts[:-1]
        return numbers

    def leaf_classes(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Index of the commonest class in the given leaves of the tree."""
        rows = self.left[leaves]
        if len(self.leaf_values) == 0:
            return (~rows).astype(np.intp)
        if len(rows) < len(self.leaf_values):
            commonest = self.leaf_values[np.maximum(rows, 0)].argmax(axis=1)
        else:
            commonest = self.leaf_values.argmax(axis=1)[np.maximum(rows, 0)]
        return np.where(rows < 0, ~rows, commonest)

    def depth_slices(self) -> list[slice]:
        """Nodes of each depth: breadth-first order keeps them together."""
        slices, end = [slice(0, 1)], 1
        while True:
            n_inner = int(np.count_nonzero(self.feature[slices[-1]] >= 0))
            if n_inner == 0:
                return slices
            slices.append(slice(end, end + 2 * n_inner))
            end += 2 * n_inner

    def node_depths(self) -> npt.NDArray[np.intp]:
        """Depth of each node; the root has 0."""
        depths = np.empty(self.n_nodes, dtype=np.intp)
        for depth, nodes in enumerate(self.depth_slices()):
            depths[nodes] = depth
        return depths

    def node_values(self) -> FloatArray:
        """Class shares of every node, inner nodes included."""
        values = np.zeros((self.n_nodes, self.n_classes))
        leaves = np.flatnonzero(self.feature < 0)
        rows = self.left[leaves]
        values[leaves[rows < 0], ~rows[rows < 0]] = 1.0
        values[leaves[rows >= 0]] = self.leaf_values[rows[rows >= 0]]
        for same_depth in reversed(self.depth_slices()):
            nodes = np.arange(self.n_nodes)[same_depth]
            inner = nodes[self.feature[nodes] >= 0]
            left = self.left[inner]
            a = self.weight[left].astype(np.float64)
            b = self.weight[left + 1]
            share = np.divide(a, a + b, out=np.full(len(a), 0.5), where=a + b > 0)
            values[inner] = (
                share[:, None] * values[left] + (1 - share)[:, None] * values[left + 1]
            )
        return values

    def feature_gains(self, n_features: int) -> FloatArray:
        """Total gain, or decrease of impurity, by each feature."""
        node, left = self.inner, self.left[self.inner]
        if len(self.gain):
            gain = self.gain[node]
        else:
            mass = self.weight.astype(np.float64) * self.impurity
            gain = np.maximum(mass[node] - mass[left] - mass[left + 1], 0.0)
        total: FloatArray = np.zeros(n_features)
        np.add.at(total, self.feature[node], gain)
        return total

    def feature_importances(self, n_features: int) -> FloatArray:
        """Return the same as shares of all."""
        total = self.feature_gains(n_features)
        return total / total.sum() if total.sum() > 0 else total

    def decision_path(self, leaves: npt.NDArray[np.int64]) -> scipy.sparse.csr_matrix:
        """Nodes on the way to each of the given leaves, as an indicator matrix."""
        parent = np.full(self.n_nodes, -1, dtype=np.intp)
        parent[self.left[self.inner]] = self.inner
        parent[self.left[self.inner] + 1] = self.inner
        lengths = self.node_depths()[leaves] + 1
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.empty(indptr[-1], dtype=np.intp)
        node, rows = leaves, np.arange(len(leaves))
        position = indptr[1:] - 1  # from the leaf up: node indices rise along a path
        while len(rows):
            indices[position[rows]] = node
            position[rows] -= 1
            node = parent[node]
            rows, node = rows[node >= 0], node[node >= 0]
        return scipy.sparse.csr_matrix(
            (np.ones(len(indices), dtype=np.intp), indices, indptr),
            shape=(len(leaves), self.n_nodes),
        )


def narrowed_impurity(impurity: FloatArray) -> npt.NDArray[np.floating[Any]]:
    """Return impurities as float32, unless the largest one is out of its range.

    The variance of targets around 1e20 is too large for float32, and that of targets
    around 1e-20 would become zero.
    """
    largest = impurity.max(initial=0.0)
    single = np.finfo(np.float32)
    if largest == 0 or single.tiny <= largest <= single.max:
        return impurity.astype(np.float32)
    return impurity
