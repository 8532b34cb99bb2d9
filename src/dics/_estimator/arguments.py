"""Checks of arguments, answers to unknown ones, and the number of threads."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import joblib
from sklearn.base import _fit_context
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from dics.options import GOSS, CategoricalOptions, Options

Method = TypeVar("Method", bound=Callable[..., Any])
GROUPS: dict[str, type[Options]] = {
    "categorical": CategoricalOptions,
    "sampling": GOSS,
}

FORESTS = "Forests have it: CGForestClassifier and CGForestRegressor."
BOOSTING = "Boosting has it: CGBoostingClassifier and CGBoostingRegressor."
NO_BOOSTER = "There is one kind of boosting; its parameter sampling samples rows."
CPU = "dics runs on the CPU only."
LOG_LOSS = "Boosting for classification always minimizes the log-loss."
NO_L1 = "dics has no L1 penalty; use l2_regularization or min_samples_leaf."
LIMITS = "Use max_leaf_nodes, max_depth or min_samples_leaf to limit the trees."
BALANCED = ('class_weight="balanced"', "sample_weight")
BINS = ("max_bins", "candidates=CentroidCandidates(max_bins=64)")
ROWS = ("max_samples", "subsample", FORESTS)

ANSWERS: dict[str, str | tuple[str, ...]] = {
    "alpha": ("huber_quantile", NO_L1),
    "bagging_fraction": ROWS,
    "booster": NO_BOOSTER,
    "boosting_type": NO_BOOSTER,
    "bootstrap": ("sampling", FORESTS),
    "bootstrap_type": ("sampling", "bootstrap", FORESTS),
    "cat_features": "categorical_features",
    "cat_l2": "categorical=CategoricalOptions(l2=...)",
    "cat_pairs": "categorical=CategoricalOptions(pairs=...)",
    "cat_smooth": "categorical=CategoricalOptions(smooth=...)",
    "categorical_feature": "categorical_features",
    "ccp_alpha": LIMITS,
    "centroids": ("centroid_source", "candidates=CentroidCandidates(...)"),
    "class_weight": "sample_weight",
    "class_weights": ("class_weight", "sample_weight"),
    "colsample_bynode": "max_features",
    "colsample_bytree": "max_features",
    "criterion": ("loss", LOG_LOSS),
    "depth": "max_depth",
    "device": CPU,
    "early_stopping": BOOSTING,
    "early_stopping_rounds": "n_iter_no_change",
    "enable_categorical": "categorical_features",
    "eta": ("learning_rate", BOOSTING),
    "eval_metric": ("scoring", BOOSTING),
    "eval_set": BOOSTING,
    "feature_fraction": "max_features",
    "fill": ("fill_quantiles", "candidates=CentroidCandidates(...)"),
    "gamma": ("min_split_gain", "min_impurity_decrease"),
    "group": "dics has no ranking.",
    "init_model": "warm_start",
    "interaction_constraints": ("interaction_cst", BOOSTING),
    "is_unbalance": BALANCED,
    "iterations": "n_estimators",
    "l2_leaf_reg": ("l2_regularization", BOOSTING),
    "lambda_l1": NO_L1,
    "lambda_l2": ("l2_regularization", BOOSTING),
    "layout": "A tree is grown where its rows are gathered; max_samples limits them.",
    "learning_rate": BOOSTING,
    "loss": ("criterion", LOG_LOSS),
    "loss_function": ("loss", "criterion", LOG_LOSS),
    "max_bin": BINS,
    "max_bins": BINS,
    "max_cat_levels": "categorical=CategoricalOptions(max_categories=...)",
    "max_iter": "n_estimators",
    "max_leaves": "max_leaf_nodes",
    "max_samples": ROWS,
    "max_thresholds": BINS,
    "min_cat_samples": "categorical=CategoricalOptions(min_samples=...)",
    "min_child_samples": "min_samples_leaf",
    "min_child_weight": BOOSTING,
    "min_data_in_leaf": "min_samples_leaf",
    "min_impurity_decrease": "min_split_gain",
    "min_samples_split": LIMITS,
    "min_split_gain": "min_impurity_decrease",
    "min_sum_hessian": ("min_child_weight", BOOSTING),
    "missing": "NaN is always a missing value; each split learns its side.",
    "monotone_constraints": "monotonic_cst",
    "n_estimators": FORESTS,
    "n_iter": "n_estimators",
    "nthread": "n_jobs",
    "num_boost_round": "n_estimators",
    "num_iterations": "n_estimators",
    "num_leaves": "max_leaf_nodes",
    "num_threads": "n_jobs",
    "objective": ("loss", "criterion", LOG_LOSS),
    "oob_score": FORESTS,
    "random_seed": "random_state",
    "reg_alpha": NO_L1,
    "reg_lambda": ("l2_regularization", BOOSTING),
    "sample_weight_eval_set": ("eval_sample_weight", BOOSTING),
    "scale": ("standardize", "candidates=CentroidCandidates(...)"),
    "scale_pos_weight": ("class_weight", "sample_weight"),
    "seed": "random_state",
    "subsample": ROWS,
    "task_type": CPU,
    "thread_count": "n_jobs",
    "tree_method": "There is one method; candidates= chooses its thresholds.",
    "verbosity": "verbose",
}

# More than a few threads per core only cost time: a fit with 20,000 took 20 s.
MAX_THREADS = 16

F = TypeVar("F", bound=Callable[..., Any])


def explain_unknown_arguments(method: Method) -> Method:
    """Let the error of `__init__` or `fit` name the argument to use instead."""
    own = set(argument_names(method))

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls, called = type(self), method.__name__
        for name in sorted(kwargs.keys() - own):
            if text := answer(cls, called, name):
                shown = f"{cls.__name__}.{called}".removesuffix(".__init__")
                raise TypeError(
                    f"{shown}() got an unexpected argument {name!r}. {text}"
                )
        return method(
            self, *args, **kwargs
        )  # Python raises for names without an answer

    return checked  # type: ignore[return-value]


def check_parameters(cls: type, names: Iterable[str]) -> None:
    """Raise a ValueError if `set_params` gets an unknown name that has an answer."""
    outer = {name.partition("__")[0] for name in names}
    for name in sorted(outer.difference(argument_names(cls))):
        if text := answer(cls, "__init__", name):
            raise ValueError(f"Invalid parameter {name!r} for {cls.__name__}. {text}")


def argument_names(method: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments of a method or a constructor, without self."""
    return [name for name in inspect.signature(method).parameters if name != "self"]


def answer(cls: Any, method: str, unknown: str) -> str:
    """Return a sentence about an unknown argument, or an empty string."""
    known = ANSWERS.get(unknown, ())
    answers = (known,) if isinstance(known, str) else known
    own, other = argument_names(cls), argument_names(cls.fit)
    groups = GROUPS | {"advanced": getattr(cls, "_options_class", Options)}
    texts = (unknown, *answers)
    for parameter, group in groups.items():
        if parameter in own:
            options = argument_names(group)
            texts = tuple(
                f"{parameter}={group.__name__}({text}=...)" if text in options else text
                for text in texts
            )
    if method == "fit":
        own, other = other, own
    for text in texts:
        name = text.partition("=")[0]
        if name in own:
            return f"Use {text} instead."
        if name in other:
            return f"Pass {text} to {'the constructor' if method == 'fit' else 'fit'}."
        if text.endswith("."):
            return text
    if answers:
        return f"It is {texts[-1]} in dics; {cls.__name__} does not have it."
    close = difflib.get_close_matches(unknown, own, n=1, cutoff=0.8)
    return f"Did you mean {close[0]}?" if close else ""


def checks_parameters(*, skips_nested: bool = False) -> Callable[[F], F]:
    """Check the parameters of an estimator before its method runs.

    Parameters
    ----------
    skips_nested : bool, default=False
        Whether fits of other estimators inside it need no check.
    """
    decorate: Callable[[F], F] = _fit_context(
        prefer_skip_nested_validation=skips_nested
    )
    return decorate


def effective_n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`, at least one.

    None and -1 use all available cores. The helper of scikit-learn respects the cgroup
    quota, the affinity mask, ``OMP_NUM_THREADS`` and the limits of threadpoolctl. So
    estimators of both libraries use the same number inside joblib workers.
    """
    if n_jobs == 0:
        raise ValueError(
            "n_jobs == 0 has no meaning; use None, -1 or a positive number."
        )
    if n_jobs is not None and n_jobs > 0:
        return min(n_jobs, max(MAX_THREADS, 4 * (os.cpu_count() or 1)))
    try:
        available = int(_openmp_effective_n_threads())
    except (TypeError, ValueError):  # a scikit-learn built without OpenMP
        limit = os.environ.get("OMP_NUM_THREADS", "")
        available = int(joblib.cpu_count())
        if limit.isdigit() and int(limit) > 0:
            available = min(available, int(limit))
    return available if n_jobs is None else max(1, available + 1 + n_jobs)
