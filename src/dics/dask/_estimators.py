"""The six estimators on Dask collections."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeVar

import dask
import numpy as np
from distributed import Client, get_client
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score

from dics._boosting.fit import Boosting
from dics._boosting.rounds import Callback
from dics._boosting.rows import EvalSet
from dics._estimator.arguments import explain_unknown_arguments
from dics._estimator.base import TreesEstimator
from dics._growing.constraints import check_constraints
from dics._input.categories import Categories
from dics._input.checks import (
    check_class_labels,
    check_regression_target,
    errors_mention,
)
from dics.boosting import CGBoostingClassifier, CGBoostingRegressor
from dics.dask._collection import Collection
from dics.dask._predict import lazy_predictions
from dics.dask._rows import ClusterRows, check_columns
from dics.dask._watch import Watch, without_graph_warnings
from dics.forest import CGForest, CGForestClassifier, CGForestRegressor
from dics.tree import CGTree, CGTreeClassifier, CGTreeRegressor

EstimatorT = TypeVar("EstimatorT", bound=type)


def client_of(estimator: Any) -> Client:
    """Return the client of an estimator, or the current one."""
    client = estimator.client
    if client is None:
        try:
            client = get_client()
        except ValueError as error:
            raise ValueError(
                "No Dask client is running; start one, such as "
                "client = distributed.Client(), or pass client=..."
            ) from error
    if not isinstance(client, Client):
        raise TypeError(
            f"client must be a distributed.Client, got {type(client).__name__}."
        )
    if client.status != "running":
        raise ValueError(
            f"the client is {client.status}; pass one that is connected to a scheduler."
        )
    return client


def takes_client(cls: EstimatorT) -> EstimatorT:
    """Add `client` to the parameters of the ordinary estimator."""
    estimator: Any = cls
    local = estimator._local_class

    def init(
        self: Any, *args: Any, client: Client | None = None, **kwargs: Any
    ) -> None:
        local.__init__(self, *args, **kwargs)
        self.client = client

    signature = inspect.signature(local.__init__)
    own = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    documented: Any = init
    documented.__name__ = "__init__"
    documented.__doc__ = local.__init__.__doc__
    # scikit-learn reads the names of the parameters from the signature.
    documented.__signature__ = signature.replace(
        parameters=[*signature.parameters.values(), own]
    )
    estimator.__init__ = documented
    estimator._parameter_constraints = {
        **local._parameter_constraints,
        "client": "no_validation",
    }
    return cls


class DaskEstimator(TreesEstimator):
    """Base class of the estimators on Dask collections."""

    _local_class: ClassVar[type]
    client: Client | None
    _categories: Categories | None

    def to_local(self) -> Any:
        """Return the ordinary estimator, fitted as this one is.

        Returns
        -------
        estimator : object
            An object of the class without "Dask" in its name.
        """
        # Without a constructor call: all attributes are copied.
        local: Any = object.__new__(self._local_class)
        vars(local).update({k: v for k, v in vars(self).items() if k != "client"})
        return local

    def _check_columns(self, X: Collection) -> None:
        """Check the known types of the columns, before anything is computed."""
        # Single trees have no parameter `warm_start`.
        is_warm_start = vars(self).get("warm_start", False) and hasattr(self, "trees_")
        X.check_types(self, reset=not is_warm_start)
        check_constraints(self)

    def _read_rows(self, X: Collection, *, is_warm_start: bool) -> ClusterRows:
        known = self._categories
        if is_warm_start and known is not None:
            X.check(self, reset=False)
            rows = X.read(known.features)
        elif is_warm_start:
            rows = X.read(None)
        else:
            self.__dict__.pop("_categories", None)  # of an earlier fit
            rows = X.read(vars(self)["categorical_features"])
        check_columns(self, rows.meta, rows.shape[1], reset=not is_warm_start)
        self._check_room(rows)  # the shape is known, and nothing is gathered yet
        return rows

    def _check_room(self, rows: ClusterRows) -> None:
        """Raise if a worker has too little memory for the rows of a tree."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a connection stays here

    def __sklearn_clone__(self) -> Self:
        without_client = copy.copy(self)
        made: Self = super(DaskEstimator, without_client).__sklearn_clone__()
        made.client = self.client  # a connection cannot be copied
        return made

    def save(self, path: Any) -> None:
        """Write the model to a file that `dics.load` reads as the ordinary one."""
        self.to_local().save(path)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score predictions as the ordinary estimator does.

        Parameters
        ----------
        X : dask array or dataframe, or array-like, of shape (n_samples, n_features)
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
        sample_weight : the same, default=None

        Returns
        -------
        score : float
            Accuracy, or R^2.
        """
        model: Any = self
        if not dask.is_dask_collection(X):
            return float(model.to_local().score(X, y, sample_weight))
        known = (model.predict(X), y, sample_weight)
        # One graph, so that partitions of X are computed once. It contains the model.
        with without_graph_warnings():
            if self.client is None:
                predicted, y, sample_weight = dask.compute(*known)
            else:
                predicted, y, sample_weight = self.client.compute(known, sync=True)
        measure = accuracy_score if is_classifier(self) else r2_score
        return float(measure(y, predicted, sample_weight=sample_weight))


# --- fits -------------------------------------------------------------------


def begin_fit(estimator: Any) -> Watch:
    """Return the monitor of the workers of a fit."""
    watch = Watch(client_of(estimator))
    # Another version on a worker could give another model.
    watch.check_versions()
    return watch


def check_collection(X: Any, name: str) -> None:
    """Raise if X is not a collection with columns."""
    if not dask.is_dask_collection(X) or not hasattr(X, "_meta"):
        remedy = "for rows in memory, use the estimator without Dask in its name."
        if name != "X":
            remedy = "convert it with dask.array.from_array."
        raise TypeError(
            f"{name} must be a dask array or a dask dataframe, got "
            f"{type(X).__name__}; {remedy}"
        )
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, got {X.ndim}: a dask array of shape "
            f"{X.shape}."
        )


def check_lengths(**given: Any) -> None:
    """Raise if the known numbers of rows differ."""
    lengths = {name: known_length(values) for name, values in given.items()}
    known = {name: n for name, n in lengths.items() if n is not None}
    if len(set(known.values())) > 1:
        (first, n_first), *others = known.items()
        name, n = next(other for other in others if other[1] != n_first)
        # In the words of scikit-learn, as for rows in memory.
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"{first} has {n_first} rows, {name} has {n}."
        )


def known_length(values: Any) -> int | None:
    """Return the number of rows, if it is known without any work."""
    shape = getattr(values, "shape", None)
    if shape is None or len(shape) == 0:
        return None
    # Otherwise it is NaN, or a lazy number.
    is_known = isinstance(shape[0], int | np.integer)
    return int(shape[0]) if is_known else None


def gather(watch: Watch, values: Any) -> Any:
    """Return a vector of a collection as an array in this process."""
    if values is None:
        return None
    if not dask.is_dask_collection(values):
        return np.asarray(values)
    # Not `values.compute()`, which would wait forever without workers.
    (found,) = watch.results([watch.client.compute(values)])
    return np.asarray(found)


class DaskBoosting(DaskEstimator, Boosting):
    """Base class of boosting on Dask collections."""

    @explain_unknown_arguments
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset_val: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        eval_sample_weight: Any = None,
        eval_offset: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Grow the trees on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Rows in any partitions. Workers store only its codes, one byte per value.
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
            Class labels or targets of regression, gathered on the client.
        sample_weight, offset : the same, default=None
        X_val, y_val, sample_weight_val, offset_val : the same, default=None
            Validation rows for early stopping.
        eval_set, eval_names, eval_sample_weight, eval_offset : default=None
            Several validation sets, as in the ordinary estimator.
        callbacks : sequence of callables, default=None
            Called on the client after each round.

        Returns
        -------
        self : object
        """
        super().fit(
            X,
            y,
            sample_weight,
            offset=offset,
            X_val=X_val,
            y_val=y_val,
            sample_weight_val=sample_weight_val,
            offset_val=offset_val,
            eval_set=eval_set,
            eval_names=eval_names,
            eval_sample_weight=eval_sample_weight,
            eval_offset=eval_offset,
            callbacks=callbacks,
        )
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        offset: Any = None,
        sets: Sequence[EvalSet] = (),
        callbacks: Sequence[Callback] = (),
    ) -> None:
        if not isinstance(getattr(self, "loss", ""), str):
            raise ValueError(
                "Custom losses are not supported by the Dask estimators, because they "
                "need all rows at once."
            )
        training = EvalSet("training", X, y, sample_weight, offset, "X")
        for given in (training, *sets):
            check_collection(given.X, given.where.partition(",")[0])
            check_lengths(
                X=given.X, y=given.y, sample_weight=given.weights, offset=given.offset
            )
        watch = begin_fit(self)
        training, *held = (
            given._replace(X=Collection(watch, given.X)) for given in (training, *sets)
        )
        self._check_columns(training.X)
        for given in held:
            with errors_mention(given.where):
                given.X.check_types(self, reset=False)
                self._check_local_target(given.y)
        # Last, because all checks above need no work of the cluster.
        training, *held = (gather_targets(watch, given) for given in (training, *held))
        super()._fit(
            training.X, training.y, training.weights, training.offset, held, callbacks
        )

    def _check_local_target(self, y: Any) -> None:
        """Check y of validation rows, unless it is a collection."""
        if dask.is_dask_collection(y):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the check of the fit warns
            if is_classifier(self):
                check_class_labels(y, None, may_be_few=True)
            else:
                model: Any = self
                values = check_regression_target(y, None, type(self).__name__)
                model._check_target_values(values)

    def _eval_rows(self, X: Collection) -> ClusterRows:
        X.check(self, reset=False)
        known = self._categories
        if known is None:
            return X.rows([])
        # By the means of all training rows, as in predictions.
        return X.rows(known.features).encode_categories(known)


def gather_targets(watch: Watch, given: EvalSet) -> EvalSet:
    """Return rows with y, weights and offset in this process."""
    return given._replace(
        y=gather(watch, given.y),
        weights=gather(watch, given.weights),
        offset=gather(watch, given.offset),
    )


class DaskImpurityTrees(DaskEstimator):
    """Base class of trees and forests on Dask collections."""

    @explain_unknown_arguments
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Rows in any partitions. A tree is grown where its rows are gathered.
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
            Class labels or targets of regression, gathered on the client.
        sample_weight : the same, default=None

        Returns
        -------
        self : object
        """
        super().fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        check_collection(X, "X")
        check_lengths(X=X, y=y, sample_weight=sample_weight)
        watch = begin_fit(self)
        rows = Collection(watch, X)
        self._check_columns(rows)
        super()._fit(rows, gather(watch, y), gather(watch, sample_weight))


class DaskForest(DaskImpurityTrees, CGForest[Any]):
    """Forests: each worker grows some trees, from the rows that these have sampled."""

    def _check_room(self, rows: ClusterRows) -> None:
        rows.check_forest_room(self._find_sample_size(len(rows), None))


class DaskTree(DaskImpurityTrees, CGTree):
    """Single trees, each grown by the worker where all rows are gathered."""

    def _check_reuse_splits(self, X: Any) -> None:
        # On the client, the type of the partitions is all that is known of X.
        super()._check_reuse_splits(X.X._meta if isinstance(X, Collection) else X)

    def _check_room(self, rows: ClusterRows) -> None:
        rows.check_tree_room()


# --- estimators -------------------------------------------------------------


@lazy_predictions
@takes_client
class DaskCGBoostingClassifier(DaskBoosting, CGBoostingClassifier):
    """`dics.CGBoostingClassifier` on Dask collections.

    The parameters are those of the ordinary estimator, and `client`: a
    ``distributed.Client``, or None for the current one. The fitted model is
    bit-identical for any workers and partitions. Predictions of collections are lazy,
    partition by partition.
    """

    _local_class = CGBoostingClassifier


@lazy_predictions
@takes_client
class DaskCGBoostingRegressor(DaskBoosting, CGBoostingRegressor):
    """`dics.CGBoostingRegressor` on Dask collections."""

    _local_class = CGBoostingRegressor


@lazy_predictions
@takes_client
class DaskCGForestClassifier(DaskForest, CGForestClassifier):
    """`dics.CGForestClassifier` on Dask collections; see `DaskCGBoostingClassifier`."""

    _local_class = CGForestClassifier


@lazy_predictions
@takes_client
class DaskCGForestRegressor(DaskForest, CGForestRegressor):
    """`dics.CGForestRegressor` on Dask collections; see `DaskCGBoostingClassifier`."""

    _local_class = CGForestRegressor


@lazy_predictions
@takes_client
class DaskCGTreeClassifier(DaskTree, CGTreeClassifier):
    """`dics.CGTreeClassifier` on Dask collections; see `DaskCGBoostingClassifier`."""

    _local_class = CGTreeClassifier


@lazy_predictions
@takes_client
class DaskCGTreeRegressor(DaskTree, CGTreeRegressor):
    """`dics.CGTreeRegressor` on Dask collections; see `DaskCGBoostingClassifier`."""

    _local_class = CGTreeRegressor
