"""The flat arrays that store the trees of every fitted model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from dics import _core
from dics._input.checks import Array, FloatArray
from dics._input.sparse import SparseRows
from dics._model.checks import WORDS, check_array, check_trees, require

# The fields that a row needs on its way down, in one 16-byte record: visiting a node is
# one access to memory (core/grow/grow.hpp).
NODE = np.dtype([("feature", "<i4"), ("left", "<i4"), ("threshold", "<f8")])
NODE_ARRAYS = ("nodes", "n_samples", "missing_left", "weight", "impurity", "gain")


@dataclass(eq=False)
class NodeSets:
    """Sets of categories by which nodes split.

    Parameters
    ----------
    numbers : ndarray of int32, shape (n_nodes,)
        Index of the set of each node; -1 for a leaf or a node with a threshold.
    words : ndarray of uint64, shape (n_sets, 4)
        One bit per rank of a category, from the lowest bit of the first word on. It is
        1 if the category goes left.
    """

    numbers: npt.NDArray[np.int32]
    words: npt.NDArray[np.uint64]

    def of_nodes(
        self, nodes: npt.NDArray[np.intp], inner: npt.NDArray[np.bool_]
    ) -> NodeSets:
        """Return the sets of some nodes; nodes that are not `inner` lose theirs."""
        numbers = np.where(inner, self.numbers[nodes], -1)
        # Sets of removed nodes are removed, too.
        used, places = np.unique(numbers[numbers >= 0], return_inverse=True)
        kept = numbers.astype(np.int32)
        kept[numbers >= 0] = places
        return NodeSets(kept, self.words[used])

    def members(self, node: int) -> npt.NDArray[np.bool_] | None:
        """Return a mask of the 256 ranks that go left; None for a threshold."""
        number = int(self.numbers[node])
        if number < 0:
            return None
        # Bits count from the lowest byte, on machines of any byte order.
        bits = np.unpackbits(
            self.words[number].astype("<u8").view(np.uint8), bitorder="little"
        )
        return bits.astype(bool)


def concat_arrays(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Concatenate the arrays of trees from several calls of the core.

    Starts of trees and indices of sets count from the beginning of all trees.
    """
    joined = {}
    for name in parts[0]:
        arrays = [part[name] for part in parts]
        if name in ("node_starts", "leaf_starts"):
            # Starts count from the first tree of their part.
            ends = np.cumsum([0, *(array[-1] for array in arrays[:-1])])
            shifted = [array[1:] + end for array, end in zip(arrays, ends, strict=True)]
            arrays = [arrays[0][:1], *shifted]
        if name == "set_numbers":
            before = np.cumsum([0, *(len(part["sets"]) for part in parts[:-1])])
            arrays = [
                np.where(array < 0, -1, array + n).astype(np.int32)
                for array, n in zip(arrays, before, strict=True)
            ]
        joined[name] = np.concatenate(arrays)
    return joined


def permuted_slices(
    starts: npt.NDArray[np.int64], order: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the indices of the entries of slices in another order, and new starts."""
    lengths = np.diff(starts)[order]
    new_starts = np.concatenate([[0], np.cumsum(lengths)])
    shifts = np.repeat(starts[:-1][order] - new_starts[:-1], lengths)
    return np.arange(new_starts[-1]) + shifts, new_starts


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees stored as flat arrays, one entry per node, tree after tree.

    The nodes of a tree are in breadth-first order. Its root is node 0. The two children
    of node i are ``left[i]`` and ``left[i] + 1``. A row goes left if its value is less
    than the threshold. Indices of nodes and leaves count from the beginning of their
    tree. ``trees[t]`` is a single tree, as views of the same memory. Methods that
    mention "the tree" require a single tree.

    Arrays that contradict each other raise a ValueError.

    Attributes
    ----------
    nodes : ndarray of records
        One record per node with the fields `feature`, `left` and `threshold`.
    n_samples : ndarray of int32
        Number of training rows in the node.
    missing_left : ndarray of uint8
        Whether NaN goes left.
    weight : ndarray of float32
        Weight of the training rows in the node, in units of the mean weight of a row.
    impurity : ndarray of float32 or float64
        Impurity of the training rows in the node, by `criterion`. Empty for boosting.
        float64 if the targets are too large or too small for float32.
    gain : ndarray of float64
        Gain of the split of the node, for boosting. Empty for trees and forests.
    leaf_values : ndarray of shape (n_mixed_leaves, n_classes)
        Fraction of each class in each leaf with several classes. For boosting, the
        values that each leaf adds to the scores. For regression, the prediction of each
        leaf, of shape (n_leaves, n_outputs). float32, and float64 for regression.
    node_starts : ndarray of shape (n_trees + 1,)
        Index of the first node of each tree.
    leaf_starts : ndarray of shape (n_trees + 1,)
        Index of the first row of `leaf_values` of each tree.
    criterion : str
        Name of the impurity; empty for boosting.
    n_features : int
        Number of features of the rows.
    sets : NodeSets or None
        The sets of categories in splits; None if there are none.
    feature : ndarray of int32
        Feature of the split of each node; -1 for a leaf.
    threshold : ndarray of float64
        Threshold of each node; NaN for a leaf, -inf if only NaN goes left.
    left : ndarray of int32
        Index of the left child of each node. For a leaf, its row in `leaf_values`, or
        ``~c`` if all its training rows have the class with index c.
    n_nodes : int
        Number of nodes, leaves included.
    n_leaves : int
        Number of leaves.
    n_classes : int
        Number of values per leaf: classes, or outputs.
    inner : ndarray of intp
        Indices of the nodes that are not leaves.

    See Also
    --------
    dics.export.to_dataframe : All nodes as a table of pandas.
    CGTreeClassifier : Its attribute `trees_` is such an object.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGForestClassifier
    >>> forest = CGForestClassifier(n_estimators=5, max_depth=1, random_state=0)
    >>> trees = forest.fit(*load_iris(return_X_y=True)).trees_
    >>> len(trees), trees.n_nodes, trees[0].node_depths()
    (5, 15, array([0, 1, 1]))
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
    n_features: int = -1  # if not given: as many as the splits use
    sets: NodeSets | None = None

    def __post_init__(self) -> None:
        if self.n_features == -1:
            has_nodes = getattr(self.nodes, "dtype", None) == NODE and len(self.nodes)
            n_features = int(self.feature.max()) + 1 if has_nodes else 0
            object.__setattr__(self, "n_features", n_features)
        require(
            self.sets is None or isinstance(self.sets, NodeSets),
            "`sets` must be a NodeSets object",
        )
        check_trees(self, NODE)

    def __getstate__(self) -> dict[str, Any]:
        # NumPy can crash when it reads a damaged dtype with fields.
        return {**vars(self), "nodes": self.nodes.view(np.int64)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        names = [field.name for field in fields(self)]
        require(
            set(names) - {"n_features", "sets"} <= set(state),
            "the trees are not complete",
        )
        known = {"n_features": -1, "sets": None, **state}
        nodes = known["nodes"]
        check_array("nodes", nodes, np.int64, (None,))
        require(len(nodes) % 2 == 0, "the nodes are not complete")
        known["nodes"] = nodes.view(NODE)
        # A model file has this order, and equal models have equal files.
        vars(self).update({name: known[name] for name in names})
        self.__post_init__()

    @classmethod
    def _unchecked(cls, **values: Any) -> Trees:
        """Construct trees from arrays that need no check."""
        trees = object.__new__(cls)
        vars(trees).update(values)
        return trees

    @classmethod
    def from_core(
        cls, arrays: dict[str, Any], n_features: int, criterion: str = ""
    ) -> Trees:
        """Construct trees from the arrays that the core returns.

        Parameters
        ----------
        arrays : dict of str to ndarray
            Arrays by name.
        n_features : int
            Number of features of the rows.
        criterion : str, default=""
            Name of the impurity; empty for boosting.

        Returns
        -------
        trees : Trees
            The trees.
        """
        nodes = arrays["nodes"].view(NODE)[:, 0]
        plain = dict(arrays)
        # The core computes in double precision; float32 halves the memory of a model.
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
        """Return zero trees, to which boosting adds its rounds.

        Parameters
        ----------
        n_outputs : int
            Number of values per leaf.
        n_features : int
            Number of features of the rows.

        Returns
        -------
        trees : Trees
            Zero trees.
        """
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
        """Return the same trees for rows of bin indices instead of values.

        The given thresholds must contain all those of the trees.

        Parameters
        ----------
        values : ndarray of float64
            Thresholds of all features, one after another.
        offsets : ndarray of shape (n_features + 1,)
            Index of the first threshold of each feature.

        Returns
        -------
        trees : Trees
            The trees, with thresholds of bin indices.
        """
        # Copied, because other trees may share the memory.
        nodes = self.nodes.copy()
        threshold, feature = nodes["threshold"], nodes["feature"]
        for f in np.unique(feature[feature >= 0]):
            # An infinite threshold separates missing values, also among codes.
            here = (feature == f) & np.isfinite(threshold)
            candidates = values[offsets[f] : offsets[f + 1]]
            # x < candidates[t] if and only if the code is t or less.
            threshold[here] = np.searchsorted(candidates, threshold[here]) + 1
        return Trees._unchecked(**{**vars(self), "nodes": nodes})

    @property
    def feature(self) -> npt.NDArray[np.int32]:
        """Feature of the split; -1 for a leaf."""
        feature: npt.NDArray[np.int32] = self.nodes["feature"]
        return feature

    @property
    def threshold(self) -> FloatArray:
        """Threshold of the split; NaN for a leaf, -inf if only NaN goes left."""
        threshold: FloatArray = self.nodes["threshold"]
        return threshold

    @property
    def left(self) -> npt.NDArray[np.int32]:
        """Index of the left child.

        For a leaf, its row in `leaf_values`, or ``~c`` if all its training rows have
        the class with index c.
        """
        left: npt.NDArray[np.int32] = self.nodes["left"]
        return left

    def __repr__(self) -> str:
        return (
            f"Trees(n_trees={len(self)}, n_nodes={self.n_nodes}, "
            f"n_features={self.n_features})"
        )

    def __len__(self) -> int:
        return len(self.node_starts) - 1

    def __getitem__(self, t: int) -> Trees:
        t = range(len(self))[t]  # also from the end
        return self._slice(t, t + 1)

    def first(self, n_trees: int) -> Trees:
        """Return the first trees, as views of the same memory.

        Parameters
        ----------
        n_trees : int
            Number of trees to keep.

        Returns
        -------
        trees : Trees
            The first trees.
        """
        return self._slice(0, n_trees)

    def without(self, n_trees: int) -> Trees:
        """Return all but the first trees, as views of the same memory.

        Parameters
        ----------
        n_trees : int
            Number of trees to leave out.

        Returns
        -------
        trees : Trees
            The other trees.
        """
        return self._slice(n_trees, len(self))

    def _slice(self, first: int, last: int) -> Trees:
        # Indices in nodes count from their own tree, so that slices need no change.
        nodes = slice(self.node_starts[first], self.node_starts[last])
        leaves = slice(self.leaf_starts[first], self.leaf_starts[last])
        sets = self.sets
        return Trees._unchecked(
            **{name: getattr(self, name)[nodes] for name in NODE_ARRAYS},
            leaf_values=self.leaf_values[leaves],
            node_starts=self.node_starts[first : last + 1] - nodes.start,
            leaf_starts=self.leaf_starts[first : last + 1] - leaves.start,
            criterion=self.criterion,
            n_features=self.n_features,
            sets=None if sets is None else NodeSets(sets.numbers[nodes], sets.words),
        )

    def reordered(self, order: npt.NDArray[np.intp]) -> Trees:
        """Return a copy with the trees in another order.

        Parameters
        ----------
        order : ndarray of intp
            Index of the tree for each position.

        Returns
        -------
        trees : Trees
            The trees in this order.
        """
        nodes, node_starts = permuted_slices(self.node_starts, order)
        leaves, leaf_starts = permuted_slices(self.leaf_starts, order)
        sets = self.sets
        arrays = {name: getattr(self, name) for name in NODE_ARRAYS}
        return Trees._unchecked(
            # Boosting has no impurity, and other trees no gain.
            **{name: a[nodes] if len(a) else a for name, a in arrays.items()},
            leaf_values=self.leaf_values[leaves],
            node_starts=node_starts,
            leaf_starts=leaf_starts,
            criterion=self.criterion,
            n_features=self.n_features,
            sets=None if sets is None else NodeSets(sets.numbers[nodes], sets.words),
        )

    def concat(self, *others: Trees) -> Trees:
        """Return these trees, followed by the other ones.

        Parameters
        ----------
        *others : Trees
            More trees, for the same number of outputs.

        Returns
        -------
        trees : Trees
            All trees.
        """
        every = (self, *others)
        has_sets = any(trees.sets is not None for trees in every)
        parts = []
        for trees in every:
            names = (*NODE_ARRAYS, "leaf_values", "node_starts", "leaf_starts")
            arrays = {name: getattr(trees, name) for name in names}
            # One part may have sets and the other none, as in a warm start.
            if has_sets:
                known = trees.sets or NodeSets(
                    np.full(len(trees.nodes), -1, dtype=np.int32),
                    np.empty((0, WORDS), dtype=np.uint64),
                )
                arrays |= {"set_numbers": known.numbers, "sets": known.words}
            parts.append(arrays)
        joined = concat_arrays(parts)
        sets = None
        if has_sets:
            sets = NodeSets(joined.pop("set_numbers"), joined.pop("sets"))
        return Trees._unchecked(
            **joined,
            criterion=self.criterion,
            n_features=max(trees.n_features for trees in every),
            sets=sets,
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
        """Number of values per leaf: classes, or outputs."""
        return int(self.leaf_values.shape[1])

    @property
    def inner(self) -> npt.NDArray[np.intp]:
        """Indices of the nodes that are not leaves."""
        return np.flatnonzero(self.feature >= 0)

    def core_arrays(
        self,
    ) -> tuple[Array, Array, Array, Array, Array | None, Array | None]:
        """Return the arrays that the core needs to send rows down the trees.

        Returns
        -------
        arrays : tuple
            Nodes, sides of NaN, starts of the trees in nodes and leaf values, and the
            sets of categories: two arrays, or None.
        """
        return (
            # nanobind has no structured arrays.
            self.nodes.view(np.int32).reshape(-1, 4),
            self.missing_left,
            self.node_starts,
            self.leaf_starts,
            None if self.sets is None else self.sets.numbers,
            None if self.sets is None else self.sets.words,
        )

    def _core_arguments(
        self, X: Array | SparseRows
    ) -> tuple[Array | SparseRows, tuple[Any, ...]]:
        """Return X and the arrays of the trees, if X has their features."""
        # X may have been checked for the model of an earlier fit, which another thread
        # has replaced. The core would read beyond its rows, or other features.
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the trees expect {self.n_features}."
            )
        return X, self.core_arrays()

    def apply(self, X: Array | SparseRows, n_threads: int) -> npt.NDArray[np.int64]:
        """Find the leaf (as a node index) of each row of a checked X in each tree.

        Parameters
        ----------
        X : ndarray or SparseRows
            Checked rows: a dense array, or the sparse rows of dics.
        n_threads : int
            Number of threads.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees)
            Indices of nodes, counted from each root.
        """
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
        """Add the class fractions (or one vote) of each tree for rows of X.

        Parameters
        ----------
        X : ndarray or SparseRows
            Checked rows: a dense array, or the sparse rows of dics.
        votes : ndarray of shape (n_samples, n_classes)
            Sums of the votes, changed in place.
        hard : bool
            Whether each tree has one vote; False uses its class fractions.
        n_threads : int
            Number of threads.
        rows : ndarray of uint32 or None, default=None
            Indices of the rows to use; None uses all.
        """
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
        """Add the leaf values of each tree for rows of X to sums of the same dtype.

        Parameters
        ----------
        X : ndarray or SparseRows
            Checked rows: a dense array, or the sparse rows of dics.
        sums : ndarray of shape (n_samples, n_outputs)
            Sums of the leaf values, changed in place.
        n_threads : int
            Number of threads.
        rows : ndarray of uint32 or None, default=None
            Indices of the rows to use; None uses all.
        """
        _core.add_values(
            *self._core_arguments(X), self.leaf_values, rows, sums, n_threads
        )

    def means(self, X: Array | SparseRows, *, n_threads: int) -> FloatArray:
        """Return the mean leaf value of the trees for each row of a checked X.

        Parameters
        ----------
        X : ndarray or SparseRows
            Checked rows: a dense array, or the sparse rows of dics.
        n_threads : int
            Number of threads.

        Returns
        -------
        means : ndarray of shape (n_samples, n_outputs)
            Mean leaf values.
        """
        sums = np.zeros((len(X), self.leaf_values.shape[1]))
        self.add_values(X, sums, n_threads=n_threads)
        # A division by one would change nothing, and cost a pass over the sums.
        return sums / len(self) if len(self) > 1 else sums

    def shares(
        self, X: Array | SparseRows, *, hard: bool, n_threads: int
    ) -> FloatArray:
        """Return the mean vote of the trees for each row of a checked X.

        Parameters
        ----------
        X : ndarray or SparseRows
            Checked rows: a dense array, or the sparse rows of dics.
        hard : bool
            Whether each tree has one vote; False uses its class fractions.
        n_threads : int
            Number of threads.

        Returns
        -------
        votes : ndarray of shape (n_samples, n_classes)
            Mean votes, which sum to one.
        """
        votes = np.zeros((len(X), self.n_classes))
        self.add_votes(X, votes, hard=hard, n_threads=n_threads)
        votes /= votes.sum(axis=1, keepdims=True)  # float32 fractions do not sum to one
        return votes

    def contributions(
        self, X: Array | SparseRows, *, n_threads: int, hard: bool = False
    ) -> FloatArray:
        """Return the contributions of features to the sum of all trees.

        Parameters
        ----------
        X : ndarray or SparseRows
            Checked rows: a dense array, or the sparse rows of dics.
        n_threads : int
            Number of threads.
        hard : bool, default=False
            Whether each tree has one vote; False uses its class fractions.

        Returns
        -------
        contributions : ndarray of shape (n_samples, n_features + 1, n_outputs)
            The last entry of a row is the expected value, without any feature.
        """
        values, rows = self._leaf_table(hard=hard)
        n_values = values.shape[1]
        out = np.zeros((len(X), (X.shape[1] + 1) * n_values))
        _core.add_contributions(
            *self._core_arguments(X), self.weight, rows, values, out, n_threads
        )
        return out.reshape(len(X), X.shape[1] + 1, n_values)

    def _leaf_table(self, *, hard: bool) -> tuple[FloatArray, npt.NDArray[np.int64]]:
        """Return a table of leaf values, and the row of each node in it."""
        # In double precision: contributions must sum to the prediction.
        values = self.leaf_values.astype(np.float64)
        if hard:
            values = np.eye(self.n_classes)[values.argmax(axis=1)]
        starts = np.repeat(self.leaf_starts[:-1], np.diff(self.node_starts))
        # Leaves with a single class have no row in `leaf_values`: rows of the identity
        # matrix, one per class, are appended for them.
        rows = np.where(
            self.left < 0,
            len(values) + ~self.left.astype(np.int64),
            starts + self.left,
        )
        rows[self.feature >= 0] = 0
        if (self.left < 0).any():
            values = np.concatenate([values, np.eye(self.n_classes)])
        return values, rows

    def leaf_value_rows(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the rows in `leaf_values` of the leaves that `apply` returns.

        Parameters
        ----------
        leaves : ndarray of shape (n_samples, n_trees)
            Indices of leaves, as `apply` returns them.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_trees)
            Indices of rows in `leaf_values`.
        """
        nodes = leaves + self.node_starts[:-1]
        rows: npt.NDArray[np.int64] = self.left[nodes] + self.leaf_starts[:-1]
        return rows

    def leaf_classes(self, leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
        """Return the index of the most frequent class in leaves of the tree.

        Parameters
        ----------
        leaves : ndarray of shape (n_samples,)
            Indices of leaves, as `apply` returns them.

        Returns
        -------
        classes : ndarray of shape (n_samples,)
            Class indices.
        """
        rows = self.left[leaves]
        if len(self.leaf_values) == 0:
            return (~rows).astype(np.intp)
        # The argmax of all leaves, or of the leaves of all rows: whichever are fewer.
        if len(rows) < len(self.leaf_values):
            commonest = self.leaf_values[np.maximum(rows, 0)].argmax(axis=1)
        else:
            commonest = self.leaf_values.argmax(axis=1)[np.maximum(rows, 0)]
        return np.where(rows < 0, ~rows, commonest)

    def depth_slices(self) -> list[slice]:
        """Return the nodes of each depth, which are adjacent in breadth-first order.

        Returns
        -------
        slices : list of slice
            Nodes of depth 0, 1 and so on.
        """
        slices, end = [slice(0, 1)], 1
        while True:
            n_inner = int(np.count_nonzero(self.feature[slices[-1]] >= 0))
            if n_inner == 0:
                return slices
            slices.append(slice(end, end + 2 * n_inner))
            end += 2 * n_inner

    def node_depths(self) -> npt.NDArray[np.intp]:
        """Return the depth of each node; the root has depth 0.

        Returns
        -------
        depths : ndarray of shape (n_nodes,)
            Depth of each node.
        """
        depths = np.empty(self.n_nodes, dtype=np.intp)
        for depth, nodes in enumerate(self.depth_slices()):
            depths[nodes] = depth
        return depths

    def node_values(self) -> FloatArray:
        """Return the values of all nodes; inner nodes average their children.

        Returns
        -------
        values : ndarray of shape (n_nodes, n_classes)
            Value of each node.
        """
        values = np.zeros((self.n_nodes, self.n_classes))
        leaves = np.flatnonzero(self.feature < 0)
        rows = self.left[leaves]
        values[leaves[rows < 0], ~rows[rows < 0]] = 1.0
        values[leaves[rows >= 0]] = self.leaf_values[rows[rows >= 0]]
        # Bottom up: children come before their parents.
        for same_depth in reversed(self.depth_slices()):
            nodes = np.arange(self.n_nodes)[same_depth]
            inner = nodes[self.feature[nodes] >= 0]
            left = self.left[inner]
            a = self.weight[left].astype(np.float64)
            b = self.weight[left + 1]
            # Children without weight, such as sampled nodes, count equally.
            fraction = np.divide(a, a + b, out=np.full(len(a), 0.5), where=a + b > 0)
            fraction = fraction[:, None]
            values[inner] = fraction * values[left] + (1 - fraction) * values[left + 1]
        return values

    def split_gains(self) -> FloatArray:
        """Return the gain, or decrease of impurity, of each inner node of the tree.

        Returns
        -------
        gains : ndarray of shape (n_inner_nodes,)
            Gain of the nodes `inner`.
        """
        node, left = self.inner, self.left[self.inner]
        if len(self.gain):
            return self.gain[node]
        mass = self.weight.astype(np.float64) * self.impurity
        # Rounding to float32 can turn a tiny decrease into an increase.
        gain: FloatArray = np.maximum(mass[node] - mass[left] - mass[left + 1], 0.0)
        return gain

    def feature_importances(self, n_features: int) -> FloatArray:
        """Return the total gain of each feature, as a fraction of that of all.

        Parameters
        ----------
        n_features : int
            Length of the result.

        Returns
        -------
        importances : ndarray of shape (n_features,)
            Fractions that sum to one; zeros without splits.
        """
        total: FloatArray = np.zeros(n_features)
        # Not `total[...] += gain`, which would count each feature once.
        np.add.at(total, self.feature[self.inner], self.split_gains())
        return total / total.sum() if total.sum() > 0 else total

    def decision_path(self, leaves: npt.NDArray[np.int64]) -> scipy.sparse.csr_matrix:
        """Return the nodes on the path to each given leaf, as an indicator matrix.

        Parameters
        ----------
        leaves : ndarray of shape (n_samples,)
            Indices of leaves, as `apply` returns them.

        Returns
        -------
        indicator : sparse matrix of shape (n_samples, n_nodes)
            1 for each node on the path to a leaf, otherwise 0.
        """
        # All rows walk up at the same time, one level per iteration.
        parent = np.full(self.n_nodes, -1, dtype=np.intp)
        parent[self.left[self.inner]] = self.inner
        parent[self.left[self.inner] + 1] = self.inner
        lengths = self.node_depths()[leaves] + 1
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.empty(indptr[-1], dtype=np.intp)
        node, rows = leaves, np.arange(len(leaves))
        position = indptr[1:] - 1  # from the leaf up: indices increase along a path
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

    The variance of targets around 1e20 is too large for float32. The variance of
    targets around 1e-20 would become zero.
    """
    # Only the largest one counts: impurities of almost pure nodes may become zero.
    largest = impurity.max(initial=0.0)
    single = np.finfo(np.float32)
    if largest == 0 or single.tiny <= largest <= single.max:
        return impurity.astype(np.float32)
    return impurity
