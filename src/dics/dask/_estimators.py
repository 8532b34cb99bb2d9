"""The six estimators on Dask collections."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self, TypeVar

import dask
import dask.array as da
import numpy as np
from distributed import Client, get_client
from sklearn.base import BaseEstimator

from dics._categories import ReadX
from dics._validation import Array
from dics.boosting import FastCGBMClassifier
from dics.boosting_regression import FastCGBMRegressor
from dics.dask._rows import ClusterRows
from dics.forest import CGForestClassifier, CGForestRegressor
from dics.tree import CGTreeClassifier, CGTreeRegressor

EstimatorT = TypeVar("EstimatorT", bound=type)


def client_of(estimator: Any) -> Client:
    """Return the client of an estimator, or the current one."""
    client = estimator.client
    if client is None:
        try:
            client = get_client()
        except ValueError as error:
            raise ValueError(
                "there is no Dask client; start one, such as "
                "client = distributed.Client(), or pass client=..."
            ) from error
    if client.status != "running":
        raise ValueError(
            f"the client is {client.status}; pass one that is connected to a scheduler."
        )
    return client


def takes_client(cls: EstimatorT) -> EstimatorT:
    """Add the parameter `client` to those of the local estimator."""
    local = cls._local_class

    def __init__(self: Any, *args: Any, client: Any = None, **kwargs: Any) -> None:
        local.__init__(self, *args, **kwargs)
        self.client = client

    signature = inspect.signature(local.__init__)
    own = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), own]
    )
    __init__.__doc__ = local.__init__.__doc__
    cls.__init__ = __init__  # type: ignore[misc]
    cls._parameter_constraints = {
        **local._parameter_constraints,
        "client": "no_validation",
    }
    return cls


class DaskEstimator:
    """What the estimators on Dask collections have in common."""

    _local_class: ClassVar[type]
    client: Client | None

    def to_local(self) -> Any:
        """Return the ordinary estimator, fitted as this one is.

        Returns
        -------
        estimator : object
            Of the class without "Dask" in its name.
        """
        local = object.__new__(self._local_class)
        vars(local).update({k: v for k, v in vars(self).items() if k != "client"})
        return local

    def _read_categories(self, X: Any, **_: bool) -> ReadX:
        """Refuse categories; those that a type tells of are found on the workers."""
        wanted: Any = vars(self)["categorical_features"]
        if wanted is not None and not isinstance(wanted, str):
            raise ValueError(
                "categorical_features names columns; on a cluster there are no "
                "categories yet. Encode them first, for example by OrdinalEncoder, and "
                "leave categorical_features alone."
            )
        return ReadX(X, [])

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[misc]
        return {**state, "client": None}  # a connection can't be sent

    def save(self, path: Any) -> None:
        """Write the model to a file that `dics.load` reads as the ordinary one."""
        self.to_local().save(path)

    # --- lazy predictions ---------------------------------------------------

    def _by_block(self, name: str, X: Any) -> Any:
        """Return the predictions of a collection, partition by partition."""
        if not dask.is_dask_collection(X):
            return getattr(super(), name)(X)
        local = self.to_local()
        call = BlockCall(local, name)
        meta = call(_one_row(X))
        if hasattr(X, "rechunk"):
            if X.numblocks[1] != 1:
                X = X.rechunk({1: -1})
            new_axis = list(range(1, meta.ndim)) or None
            return X.map_blocks(
                call,
                dtype=meta.dtype,
                drop_axis=[1],
                new_axis=new_axis,
                chunks=(X.chunks[0], *((n,) for n in meta.shape[1:])),
                meta=meta[:0],
            )
        blocks = [
            da.from_delayed(
                dask.delayed(call)(part), (np.nan, *meta.shape[1:]), meta=meta[:0]
            )
            for part in X.to_delayed()
        ]
        return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)

    def predict(self, X: Any) -> Any:
        """Predict each row; lazily, by partition, of a collection."""
        return self._by_block("predict", X)

    def apply(self, X: Any) -> Any:
        """Find the leaf of each row in each tree; lazily of a collection."""
        return self._by_block("apply", X)

    def predict_contributions(self, X: Any) -> Any:
        """Compute what each feature adds to a prediction; lazily of a collection."""
        return self._by_block("predict_contributions", X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score predictions as the ordinary estimator does."""
        if dask.is_dask_collection(X):
            predicted = np.asarray(self.predict(X).compute())
            y = _gathered(y)
            sample_weight = None if sample_weight is None else _gathered(sample_weight)
            return float(_Predicted(self, predicted).score(y, sample_weight))
        return float(super().score(X, y, sample_weight))  # type: ignore[misc]


class BlockCall:
    """A method of a fitted estimator, for partitions, which may be empty."""

    def __init__(self, estimator: Any, name: str) -> None:
        self.estimator = estimator
        self.name = name

    def __call__(self, part: Any) -> Array:
        method: Callable[[Any], Any] = getattr(self.estimator, self.name)
        if len(part) == 0:
            n_columns = self.estimator.n_features_in_
            found = np.asarray(method(_named(np.zeros((1, n_columns)), part)))
            return found[:0]
        return np.asarray(method(part))


def _named(values: Array, like: Any) -> Any:
    """Give values the columns of a frame."""
    if not hasattr(like, "columns"):
        return values
    return type(like)(values, columns=like.columns)


def _one_row(X: Any) -> Any:
    """Return a row of zeros that looks like X."""
    if hasattr(X, "rechunk"):
        return np.zeros((1, X.shape[1]), dtype=X.dtype)
    return _named(np.zeros((1, len(X.columns))), X._meta)


class _Predicted(BaseEstimator):
    """Predictions that are known, for the score of an estimator."""

    def __init__(self, estimator: Any, predicted: Array) -> None:
        self.estimator = estimator
        self.predicted = predicted

    def score(self, y: Array, sample_weight: Any) -> float:
        """Score them as classes or as numbers."""
        from sklearn.metrics import accuracy_score, r2_score

        is_classifier = hasattr(self.estimator, "classes_")
        measure = accuracy_score if is_classifier else r2_score
        return float(measure(y, self.predicted, sample_weight=sample_weight))


def _gathered(values: Any) -> Any:
    """Bring a vector of a collection here."""
    if not dask.is_dask_collection(values):
        return np.asarray(values)
    array = np.asarray(values.compute())
    # With NumPy's own object for the type, so that equal models have equal pickles.
    return array if array.dtype.hasobject else array.view(array.dtype.str)


class DaskClassifier(DaskEstimator):
    """Predictions of classifiers."""

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class; lazily of a collection."""
        return self._by_block("predict_proba", X)

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of `predict_proba`; lazily of a collection."""
        return self._by_block("predict_log_proba", X)


class DaskBoosting(DaskEstimator):
    """The fit of boosting."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        eval_set: Any = None,
        eval_names: Any = None,
        eval_sample_weight: Any = None,
        callbacks: Any = None,
    ) -> Self:
        """Grow the trees on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            In any partitions. Only codes of it, a byte a value, stay on the workers.
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
            Class labels or numbers; they are brought to the client.
        sample_weight : the same, default=None
        X_val, y_val, sample_weight_val : the same, default=None
            Validation rows for early stopping.
        eval_set, eval_names, eval_sample_weight : default=None
            Several validation sets, as in the ordinary estimator.
        callbacks : sequence of callables, default=None
            Called on the client after each round.

        Returns
        -------
        self : object
        """
        client = client_of(self)
        if not isinstance(getattr(self, "loss", ""), str):
            raise ValueError(
                "a loss of your own can't be used on a cluster: it is asked about all "
                "rows at once."
            )

        def rows(given: Any, name: str) -> Any:
            return None if given is None else ClusterRows.of(client, given, name)

        def vector(given: Any) -> Any:
            return None if given is None else _gathered(given)

        if eval_set is not None:
            pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
            eval_set = [
                (rows(pair[0], f"eval_set[{i}]"), vector(pair[1]))
                for i, pair in enumerate(pairs)
            ]
            if eval_sample_weight is not None:
                eval_sample_weight = [vector(weight) for weight in eval_sample_weight]
        super().fit(  # type: ignore[misc]
            rows(X, "X"),
            vector(y),
            vector(sample_weight),
            X_val=rows(X_val, "X_val"),
            y_val=vector(y_val),
            sample_weight_val=vector(sample_weight_val),
            eval_set=eval_set,
            eval_names=eval_names,
            eval_sample_weight=eval_sample_weight,
            callbacks=callbacks,
        )
        return self

    def _staged(self, name: str, X: Any) -> Iterator[Any]:
        if not dask.is_dask_collection(X):
            yield from getattr(super(), name)(X)
            return
        for n_rounds in range(1, len(self.to_local()) + 1):
            yield _first_rounds(self, n_rounds)._by_block(
                name.removeprefix("staged_"), X
            )

    def staged_predict(self, X: Any) -> Iterator[Any]:
        """Yield what `predict` is after each round; lazily of a collection."""
        return self._staged("staged_predict", X)


def _first_rounds(model: Any, n_rounds: int) -> Any:
    """Return a model of the first rounds."""
    first = object.__new__(type(model))
    vars(first).update(vars(model))
    first.trees_ = model.trees_.first(n_rounds)
    first.n_iter_ = n_rounds
    return first


@takes_client
class DaskFastCGBMClassifier(DaskBoosting, DaskClassifier, FastCGBMClassifier):
    """`dics.FastCGBMClassifier` on Dask collections.

    All parameters are those of the ordinary estimator, and `client`, a
    ``distributed.Client`` or None for the current one. The fitted model is the same,
    byte for byte, for any workers and partitions.
    """

    _local_class = FastCGBMClassifier


@takes_client
class DaskFastCGBMRegressor(DaskBoosting, FastCGBMRegressor):
    """`dics.FastCGBMRegressor` on Dask collections; see `DaskFastCGBMClassifier`."""

    _local_class = FastCGBMRegressor


class DaskForest(DaskEstimator):
    """The fit of forests: the codes go to all workers, and each grows some trees."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            In any partitions.
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
            Class labels or numbers; they are brought to the client.
        sample_weight : the same, default=None

        Returns
        -------
        self : object
        """
        client = client_of(self)
        if getattr(self, "oob_score", False):
            raise ValueError(
                "oob_score=True needs the values of all rows in one place, which a "
                "cluster has not; score validation rows instead."
            )
        weights = None if sample_weight is None else _gathered(sample_weight)
        super().fit(  # type: ignore[misc]
            ClusterRows.of(client, X, "X"), _gathered(y), weights
        )
        return self

    def _grow_arrays(
        self, data: Any, n_draws: int, trees: range, progress: Any
    ) -> dict[str, Any]:
        local = self.to_local()
        vars(local).pop("trees_", None)
        arrays: dict[str, Any] = data.X.grow_arrays(local, data, n_draws, trees)
        return arrays


@takes_client
class DaskCGForestClassifier(DaskForest, DaskClassifier, CGForestClassifier):
    """`dics.CGForestClassifier` on Dask collections; see `DaskFastCGBMClassifier`."""

    _local_class = CGForestClassifier


@takes_client
class DaskCGForestRegressor(DaskForest, CGForestRegressor):
    """`dics.CGForestRegressor` on Dask collections; see `DaskFastCGBMClassifier`."""

    _local_class = CGForestRegressor


class DaskTree(DaskEstimator):
    """The fit of a single tree, on the worker to which all rows are brought."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on a worker of the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            In any partitions. They are brought to the disk of one worker.
        y : dask array, dataframe or series, or array-like, of shape (n_samples,)
            Class labels or numbers; they are brought to the client.
        sample_weight : the same, default=None

        Returns
        -------
        self : object
        """
        rows = ClusterRows.of(client_of(self), X, "X")
        weights = None if sample_weight is None else _gathered(sample_weight)
        super().fit(rows, _gathered(y), weights)  # type: ignore[misc]
        return self

    def _grow(self, data: Any, dictionary: Any) -> Any:
        return data.X.call_with_rows(self.to_local(), "_grow", data, dictionary)

    def _pruned_tree(self, data: Any) -> Any:
        return data.X.call_with_rows(self.to_local(), "_pruned_tree", data)


@takes_client
class DaskCGTreeClassifier(DaskTree, DaskClassifier, CGTreeClassifier):
    """`dics.CGTreeClassifier` on Dask collections; see `DaskFastCGBMClassifier`."""

    _local_class = CGTreeClassifier


@takes_client
class DaskCGTreeRegressor(DaskTree, CGTreeRegressor):
    """`dics.CGTreeRegressor` on Dask collections; see `DaskFastCGBMClassifier`."""

    _local_class = CGTreeRegressor
