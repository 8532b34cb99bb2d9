"""The six estimators on Dask collections."""

from __future__ import annotations

import copy
import inspect
import re
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


def with_local_entries(own: str, local: str) -> str:
    """Return a docstring with the parameters and attributes of the ordinary estimator.

    Tooltips of scikit-learn and `help` read the docstring of a class, not those of its
    base classes.
    """
    own, local = inspect.cleandoc(own), inspect.cleandoc(local)
    # A section ends before the line above the next underline.
    section = r"(?ms)^{0}\n-+\n(.*?)(?=\n\n[^\n]+\n-+\n|\Z)"
    parts = {
        name: re.search(section.format(name), local)
        for name in ("Parameters", "Attributes")
    }
    parameters, attributes = (found[1] if found else "" for found in parts.values())
    before, title, after = own.partition("Parameters\n----------\n")
    client, _, rest = after.partition("\n\n")
    return (
        f"{before}{title}{parameters}\n{client}\n\n"
        f"Attributes\n----------\n{attributes}\n\n{rest}\n"
    )


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
    if estimator.__doc__ and local.__doc__:  # not with python -OO
        estimator.__doc__ = with_local_entries(estimator.__doc__, local.__doc__)
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
        """Write the model to a file that `dics.load` reads as the ordinary one.

        Parameters
        ----------
        path : str, path-like or binary file
            The usual extension is ".dics". An existing file is replaced when the new
            one is complete.
        """
        self.to_local().save(path)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score predictions as the ordinary estimator does.

        Parameters
        ----------
        X : dask array or dataframe, or array-like, of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
            Class labels, or targets of regression.
        sample_weight : dask array or series, or array-like, default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Accuracy, or R2.
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
        """Fit the model on the cluster, one tree per round.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Training rows, in any partitions.
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
            Class labels or targets of regression, gathered on the client.
        sample_weight : dask array or series, or array-like, default=None
            Weights of the rows, gathered on the client. Rows of weight zero are
            ignored.
        offset : dask array or series, or array-like, default=None
            Added to the raw scores, as in `fit` of the ordinary estimator.
        X_val : dask array or dataframe of shape (n_validation, n_features), \
                default=None
            Validation rows for early stopping.
        y_val : dask array, dataframe or series, or array-like, default=None
            Labels or targets of the validation rows.
        sample_weight_val : dask array or series, or array-like, default=None
            Weights of the validation rows.
        offset_val : dask array or series, or array-like, default=None
            Offset of the validation rows, if there is one in training.
        eval_set : sequence of pairs (X, y), default=None
            Validation sets instead of `X_val` and `y_val`, as in LightGBM and XGBoost.
            `evals_result_` stores the loss of each set. Early stopping uses the last
            one.
        eval_names : sequence of str, default=None
            Names of the sets; None for "validation_0" and so on.
        eval_sample_weight : sequence of array-like or None, default=None
            Weights of the rows of each set.
        eval_offset : sequence of array-like, default=None
            Offsets of the rows of each set, if there is one in training.
        callbacks : sequence of callables, default=None
            Called after each round with a `RoundReport`: the round, the losses, the
            score and the model. If a callback returns True, the fit ends and the rounds
            done so far are kept. If it sets ``report.learning_rate``, the next rounds
            use that rate. An exception in a callback aborts the fit and leaves the
            estimator unchanged.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        WorkersLost
            If the cluster has no workers left, or has lost workers too often.
        ValueError
            If an argument or a parameter is not valid, or if the loss is a custom one.
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
        """Grow the tree, or the trees of the forest, on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            Training rows, in any partitions.
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
            Class labels or targets of regression, gathered on the client.
        sample_weight : dask array or series, or array-like, default=None
            Weights of the rows, gathered on the client. Rows of weight zero are
            ignored.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        WorkersLost
            If the cluster has no workers left, or has lost workers too often.
        ValueError
            If an argument or a parameter is not valid.
        MemoryError
            If a worker has too little memory for the rows of a tree.
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
    """Gradient boosting classifier on a Dask cluster.

    The model is bit-identical to that of `CGBoostingClassifier` on the same rows, for
    any workers and partitions. Rows stay on their workers, which exchange sums of
    gradients. Predictions of collections are lazy, partition by partition. Workers use
    their own number of threads; `n_jobs` is that of the client.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Connection to the cluster. None uses the current client of Dask.

    See Also
    --------
    dics.CGBoostingClassifier : The same for rows in memory.
    DaskCGBoostingRegressor : The same for regression.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from dics.dask import DaskCGBoostingClassifier
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, 4))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = DaskCGBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> model.predict(X).compute().shape
    (1000,)
    >>> client.close()
    """

    _local_class = CGBoostingClassifier


@lazy_predictions
@takes_client
class DaskCGBoostingRegressor(DaskBoosting, CGBoostingRegressor):
    """Gradient boosting regressor on a Dask cluster.

    The model is bit-identical to that of `CGBoostingRegressor` on the same rows, for
    any workers and partitions. Rows stay on their workers, which exchange sums of
    gradients. Predictions of collections are lazy, partition by partition. Workers use
    their own number of threads; `n_jobs` is that of the client.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Connection to the cluster. None uses the current client of Dask.

    See Also
    --------
    dics.CGBoostingRegressor : The same for rows in memory.
    DaskCGBoostingClassifier : The same for classification.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from dics.dask import DaskCGBoostingRegressor
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, 4))
    >>> y = X[:, 0]
    >>> model = DaskCGBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    >>> model.predict(X).compute().shape
    (1000,)
    >>> client.close()
    """

    _local_class = CGBoostingRegressor


@lazy_predictions
@takes_client
class DaskCGForestClassifier(DaskForest, CGForestClassifier):
    """Forest of classification trees on a Dask cluster.

    The model is bit-identical to that of `CGForestClassifier` on the same rows, for any
    workers and partitions. Each worker grows some of the trees. Predictions of
    collections are lazy, partition by partition. Workers use their own number of
    threads; `n_jobs` is that of the client.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Connection to the cluster. None uses the current client of Dask.

    See Also
    --------
    dics.CGForestClassifier : The same for rows in memory.
    DaskCGForestRegressor : The same for regression.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from dics.dask import DaskCGForestClassifier
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, 4))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = DaskCGForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> model.predict(X).compute().shape
    (1000,)
    >>> client.close()
    """

    _local_class = CGForestClassifier


@lazy_predictions
@takes_client
class DaskCGForestRegressor(DaskForest, CGForestRegressor):
    """Forest of regression trees on a Dask cluster.

    The model is bit-identical to that of `CGForestRegressor` on the same rows, for any
    workers and partitions. Each worker grows some of the trees. Predictions of
    collections are lazy, partition by partition. Workers use their own number of
    threads; `n_jobs` is that of the client.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Connection to the cluster. None uses the current client of Dask.

    See Also
    --------
    dics.CGForestRegressor : The same for rows in memory.
    DaskCGForestClassifier : The same for classification.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from dics.dask import DaskCGForestRegressor
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, 4))
    >>> y = X[:, 0]
    >>> model = DaskCGForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    >>> model.predict(X).compute().shape
    (1000,)
    >>> client.close()
    """

    _local_class = CGForestRegressor


@lazy_predictions
@takes_client
class DaskCGTreeClassifier(DaskTree, CGTreeClassifier):
    """Classification tree on a Dask cluster.

    The model is bit-identical to that of `CGTreeClassifier` on the same rows, for any
    workers and partitions. One worker gathers all rows, and grows the tree. Predictions
    of collections are lazy, partition by partition. Workers use their own number of
    threads; `n_jobs` is that of the client.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Connection to the cluster. None uses the current client of Dask.

    See Also
    --------
    dics.CGTreeClassifier : The same for rows in memory.
    DaskCGTreeRegressor : The same for regression.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from dics.dask import DaskCGTreeClassifier
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, 4))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> model = DaskCGTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> model.predict(X).compute().shape
    (1000,)
    >>> client.close()
    """

    _local_class = CGTreeClassifier


@lazy_predictions
@takes_client
class DaskCGTreeRegressor(DaskTree, CGTreeRegressor):
    """Regression tree on a Dask cluster.

    The model is bit-identical to that of `CGTreeRegressor` on the same rows, for any
    workers and partitions. One worker gathers all rows, and grows the tree. Predictions
    of collections are lazy, partition by partition. Workers use their own number of
    threads; `n_jobs` is that of the client.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Connection to the cluster. None uses the current client of Dask.

    See Also
    --------
    dics.CGTreeRegressor : The same for rows in memory.
    DaskCGTreeClassifier : The same for classification.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from dics.dask import DaskCGTreeRegressor
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> X = da.random.default_rng(0).random((1000, 4), chunks=(250, 4))
    >>> y = X[:, 0]
    >>> model = DaskCGTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    >>> model.predict(X).compute().shape
    (1000,)
    >>> client.close()
    """

    _local_class = CGTreeRegressor
