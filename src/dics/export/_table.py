"""Export of all trees of a model as a table of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dics._input.checks import Array
from dics.export._plain_model import check_model, import_library
from dics.export._tree_view import Tree, left_categories, read_tree

if TYPE_CHECKING:
    import pandas as pd


# Categories by feature and by the mask of those that go left.
Shared = dict[tuple[int, bytes], tuple[Any, ...]]


def to_dataframe(model: Any) -> pd.DataFrame:
    """Return all nodes of all trees as a table of pandas, one row per node.

    The names of the columns are those of LightGBM's ``trees_to_dataframe``. Indices,
    and the depth of the root, begin with 0.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.

    Returns
    -------
    table : pandas.DataFrame
        One row per node; see Notes for the columns.

    Raises
    ------
    ImportError
        If pandas is not installed: ``pip install 'dics[pandas]'``.
    ValueError
        If the model has no trees: boosting with a constant target.

    See Also
    --------
    export_text : Rules of a single tree.
    to_json : All trees as JSON.

    Notes
    -----
    The columns are

    - `tree_index`, `node_index`, `node_depth`;
    - `left_child`, `right_child`, `parent_index`: indices in the same tree;
    - `split_feature`: the name, or "x[0]" and so on for a feature without a name;
    - `threshold`: smaller values go left. It is -inf if only missing values go
      left, and NaN for a split by categories;
    - `categories`: a tuple of those that go left, for a split by categories;
    - `missing_direction`: "left" or "right";
    - `split_gain`: the decrease of the loss (boosting), or of the weighted
      impurity (other models);
    - `weight`: weight of the training rows in units of their mean weight;
    - `count`: number of training rows;
    - `value`: prediction of the node, or the number that a leaf adds to the
      score of boosting. With several outputs, the columns are `value_` and the
      class label, or the index of the target.

    Entries that a node does not have are missing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGTreeClassifier
    >>> from dics.export import to_dataframe
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = CGTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    >>> table = to_dataframe(tree)
    >>> table[["node_index", "parent_index", "count", "value_0"]]
       node_index  parent_index  count   value_0
    0           0          <NA>    150  0.333333
    1           1             0     50  1.000000
    2           2             0    100  0.000000
    """
    pandas = import_library("pandas", "pandas", "to_dataframe")
    check_model(model, "to_dataframe")
    trees = list(model) if hasattr(model, "__getitem__") else [model]
    if not trees:
        raise ValueError(
            f"This {type(model).__name__} has no trees: it predicts a constant."
        )
    shared: Shared = {}
    tables = []
    for t, each in enumerate(trees):
        columns = _columns(read_tree(each, None, None, "x[{}]"), pandas, shared)
        tables.append(pandas.DataFrame({"tree_index": t, **columns}))
    return pandas.concat(tables, ignore_index=True)


def _columns(tree: Tree, pandas: Any, shared: Shared) -> dict[str, Any]:
    """Return the columns of a single tree."""
    arrays = tree.arrays
    inner, left = arrays.inner, arrays.left[arrays.inner].astype(np.int64)

    def indices(nodes: npt.NDArray[np.intp], values: Array) -> Any:
        found = np.full(arrays.n_nodes, -1)
        found[nodes] = values
        return pandas.arrays.IntegerArray(found, found < 0)

    def of_splits(values: Array, missing: Any) -> Array:
        found = np.full(arrays.n_nodes, missing, dtype=values.dtype)
        found[inner] = values
        return found

    names = np.array(tree.feature_names, dtype=object)
    sides = np.array(["right", "left"], dtype=object)
    categories = _left_categories(tree, shared)
    has_categories = np.array([entry is not None for entry in categories], dtype=bool)
    columns = {
        "node_index": np.arange(arrays.n_nodes),
        "node_depth": arrays.node_depths(),
        "left_child": indices(inner, left),
        "right_child": indices(inner, left + 1),
        "parent_index": indices(np.r_[left, left + 1], np.r_[inner, inner]),
        "split_feature": of_splits(names[arrays.feature[inner]], None),
        "threshold": np.where(has_categories, np.nan, arrays.threshold),
        "categories": categories,
        "missing_direction": of_splits(sides[arrays.missing_left[inner]], None),
        "split_gain": of_splits(arrays.split_gains(), np.nan),
        "weight": arrays.weight.astype(np.float64),
        "count": arrays.n_samples,
    }
    values = tree.values.copy()
    if tree.adds:  # only leaves add to scores
        values[inner] = np.nan
    if values.shape[1] == 1:
        return columns | {"value": values[:, 0]}
    labels = tree.class_names or range(values.shape[1])
    of_outputs = zip(labels, values.T, strict=True)
    return columns | {f"value_{label}": column for label, column in of_outputs}


def _left_categories(tree: Tree, shared: Shared) -> list[tuple[Any, ...] | None]:
    """Return the categories that go left in each node; None without categories."""
    found: list[tuple[Any, ...] | None] = [None] * tree.arrays.n_nodes
    for known in [] if tree.categories is None else tree.categories.columns:
        for node in np.flatnonzero(tree.arrays.feature == known.feature).tolist():
            left = left_categories(tree, node, known)
            # Thousands of nodes of a forest have the same thousands of categories.
            key = known.feature, left.tobytes()
            if key not in shared:
                shared[key] = tuple(known.categories[left].tolist())
            found[node] = shared[key]
    return found
