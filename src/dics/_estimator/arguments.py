"""Checks of arguments, answers to unknown ones, and the numbers they stand for."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import os
from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any, TypeVar

import joblib
from sklearn.base import _fit_context
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from dics._estimator.running import warn_user
from dics.options import GOSS, CategoricalOptions, Options

NO_LIMIT = 2**63 - 1
Method = TypeVar("Method", bound=Callable[..., Any])
GROUPS: dict[str, type[Options]] = {
    "categorical": CategoricalOptions,
    "sampling": GOSS,
}

FORESTS = "Forests have it: CGForestClassifier and CGForestRegressor."
BOOSTING = "Boosting has it: CGBoostingClassifier and CGBoostingRegressor."
NO_BOOSTER = "There is one kind of boosting; its parameter sampling samples rows."
RAW_SCORES = "The method decision_function of boosting classifiers returns the scores."
CONTRIBUTIONS = "The method predict_contributions returns the contributions."
LEAVES = "The method apply returns the leaf of each row in each tree."
CPU = "dics runs on the CPU only."
NO_L1 = "dics has no L1 penalty; use l2_regularization or min_samples_leaf."
LIMITS = "Use max_leaf_nodes, max_depth or min_samples_leaf to limit the trees."
BALANCED = ('class_weight="balanced"', "sample_weight")
PREDICTED_ROUNDS = ("n_rounds", "n_estimators", BOOSTING)
BINS = ("max_bins", "candidates=CentroidCandidates(max_bins=64)")
ROWS = ("max_samples", "subsample", FORESTS)

ANSWERS: dict[str, str | tuple[str, ...]] = {
    "alpha": ("huber_quantile", NO_L1),
    "bagging_fraction": ROWS,
    "base_margin": ("offset", BOOSTING),
    "base_margin_eval_set": ("eval_offset", BOOSTING),
    "baseline": ("offset", BOOSTING),
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
    "criterion": "loss",
    "depth": "max_depth",
    "device": CPU,
    "early_stopping": BOOSTING,
    "early_stopping_round": "n_iter_no_change",
    "early_stopping_rounds": "n_iter_no_change",
    "enable_categorical": "categorical_features",
    "eta": ("learning_rate", BOOSTING),
    "eval_init_score": ("eval_offset", BOOSTING),
    "eval_metric": ("scoring", BOOSTING),
    "eval_set": BOOSTING,
    "exposure": ("offset=np.log(exposure)", BOOSTING),
    "feature_fraction": "max_features",
    "fill": ("fill_quantiles", "candidates=CentroidCandidates(...)"),
    "gamma": ("min_split_gain", "min_impurity_decrease"),
    "group": "dics has no ranking.",
    "init_model": "warm_start",
    "init_score": ("offset", BOOSTING),
    "interaction_constraints": ("interaction_cst", BOOSTING),
    "is_unbalance": BALANCED,
    "iteration_range": PREDICTED_ROUNDS,
    "iterations": "n_estimators",
    "l2_leaf_reg": ("l2_regularization", BOOSTING),
    "lambda_l1": NO_L1,
    "lambda_l2": ("l2_regularization", BOOSTING),
    "layout": "A tree is grown where its rows are gathered; max_samples limits them.",
    "learning_rate": BOOSTING,
    "learning_rates": ("callbacks", BOOSTING),
    "loss": "criterion",
    "loss_function": ("loss", "criterion"),
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
    "ntree_end": PREDICTED_ROUNDS,
    "ntree_limit": PREDICTED_ROUNDS,
    "num_boost_round": "n_estimators",
    "num_iteration": PREDICTED_ROUNDS,
    "num_iterations": "n_estimators",
    "num_leaves": "max_leaf_nodes",
    "num_threads": "n_jobs",
    "objective": ("loss", "criterion"),
    "oob_score": FORESTS,
    "offset": BOOSTING,
    "output_margin": RAW_SCORES,
    "pred_contrib": CONTRIBUTIONS,
    "pred_contribs": CONTRIBUTIONS,
    "pred_leaf": LEAVES,
    "random_seed": "random_state",
    "raw_score": RAW_SCORES,
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
    "tweedie_variance_power": ("tweedie_power", BOOSTING),
    "verbosity": "verbose",
}

# Names of losses and criteria in other libraries, in lower case.
FOREIGN_LOSSES = {
    "absolute_error": "mae l1 lad mean_absolute_error regression_l1 absoluteerror",
    "squared_error": "mse rmse l2 ls mean_squared_error regression regression_l2 "
    "squarederror",
    "log_loss": "logloss deviance binary multiclass logistic softmax softprob "
    "cross_entropy crossentropy binary_logloss multi_logloss",
    "huber": "pseudohubererror",
    "quantile": "pinball quantileerror",
    "poisson": "",
    "gamma": "",
    "tweedie": "",
}

NO_BOOSTER_OBJECT = "The estimator is the model: it has trees_, predict and save."
ROUNDS = ("n_iter_", "A forest has len(model) trees.")
TEXTS = "Use dics.export.to_json(model), or export_text for one tree."
IMPORTANCES = ("feature_importances_",)
NAMES = ("feature_names_in_",)
BEST_ROUND = ("best_iteration_", BOOSTING)

# Attributes and methods of fitted models in other libraries.
FOREIGN_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "best_iteration": BEST_ROUND,
    "best_ntree_limit": BEST_ROUND,
    "best_score": ("best_score_", BOOSTING),
    "booster_": (NO_BOOSTER_OBJECT,),
    "calc_leaf_indexes": ("apply",),
    "current_iteration": ROUNDS,
    "dump_model": (TEXTS,),
    "eval_result": ("evals_result_", BOOSTING),
    "evals_result": ("evals_result_", BOOSTING),
    "feature_importance": IMPORTANCES,
    "feature_name": NAMES,
    "feature_name_": NAMES,
    "feature_names": NAMES,
    "feature_names_": NAMES,
    "get_best_iteration": BEST_ROUND,
    "get_best_score": ("best_score_", BOOSTING),
    "get_booster": (NO_BOOSTER_OBJECT,),
    "get_cat_feature_indices": ("is_categorical_",),
    "get_dump": (TEXTS,),
    "get_evals_result": ("evals_result_", BOOSTING),
    "get_feature_importance": IMPORTANCES,
    "get_fscore": ("split_counts_", BOOSTING),
    "get_num_boosting_rounds": ROUNDS,
    "get_score": IMPORTANCES,
    "load_model": ("Use dics.load(path).",),
    "model_to_string": (TEXTS,),
    "n_estimators_": ROUNDS,
    "n_features_": ("n_features_in_",),
    "num_boosted_rounds": ROUNDS,
    "num_feature": ("n_features_in_",),
    "num_features": ("n_features_in_",),
    "num_trees": ROUNDS,
    "predict_leaf_index": ("apply",),
    "save_model": ("save",),
    "save_raw": ("save",),
    "shap_values": ("predict_contributions",),
    "tree_": ("trees_",),
    "tree_count_": ROUNDS,
}

# More than a few threads per core only cost time: a fit with 20,000 took 20 s.
MAX_THREADS = 16

F = TypeVar("F", bound=Callable[..., Any])


def explain_unknown_arguments(method: Method) -> Method:
    """Let the error of a method name the argument to use instead."""
    own = set(argument_names(method))

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls, called = type(self), method.__name__
        # Predictions of one row take 10 us, so they need a quick check.
        for name in sorted(kwargs.keys() - own) if kwargs else ():
            # Python would name the base class that defines the method.
            shown = f"{cls.__name__}.{called}".removesuffix(".__init__")
            text = f"{shown}() got an unexpected argument {name!r}."
            raise TypeError(f"{text} {answer(cls, called, name)}".rstrip())
        return method(self, *args, **kwargs)

    return checked  # type: ignore[return-value]


def explain_attribute(cls: type, name: str) -> None:
    """Raise an AttributeError if an attribute of other libraries has an answer."""
    if name not in FOREIGN_ATTRIBUTES:
        return
    known = set(dir(cls))
    for base in cls.__mro__:  # annotations have the attributes that a fit sets
        known.update(inspect.get_annotations(base))
    for text in FOREIGN_ATTRIBUTES[name]:
        if text in known or text.endswith("."):
            remedy = f"Use {text} instead." if text in known else text
            raise AttributeError(
                f"{cls.__name__!r} object has no attribute {name!r}. {remedy}"
            )


def check_parameters(cls: type, names: Iterable[str]) -> None:
    """Raise a ValueError if `set_params` gets an unknown name that has an answer."""
    # Only the outer names: scikit-learn checks the parameters of nested objects.
    outer = {name.partition("__")[0] for name in names}
    for name in sorted(outer.difference(argument_names(cls))):
        if text := answer(cls, "__init__", name):
            raise ValueError(f"Invalid parameter {name!r} for {cls.__name__}. {text}")


def explain_loss(estimator: Any) -> None:
    """Raise a ValueError if the loss or criterion has a name of another library."""
    for parameter in ("loss", "criterion"):
        given = getattr(estimator, parameter, None)
        if not isinstance(given, str):
            continue
        plain = given.lower().rpartition(":")[2]  # "reg:gamma" of XGBoost
        for name, others in FOREIGN_LOSSES.items():
            if given == name or plain not in (name, *others.split()):
                continue
            constraints = type(estimator)._parameter_constraints[parameter]
            if any(name in getattr(c, "options", ()) for c in constraints):
                text = f"Use {parameter}={name!r}."
            else:
                kind = "Classifier" if name == "log_loss" else "Regressor"
                text = f"It is {name!r} of CGBoosting{kind} in dics."
            raise ValueError(f"{parameter}={given!r} is not supported. {text}")


def argument_names(method: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments of a method or a constructor, without self."""
    return [name for name in inspect.signature(method).parameters if name != "self"]


def answer(cls: Any, method: str, unknown: str) -> str:
    """Return a sentence about an unknown argument, or an empty string."""
    known = ANSWERS.get(unknown, ())
    answers = (known,) if isinstance(known, str) else known
    own, other = argument_names(cls), argument_names(cls.fit)
    is_constructor = method == "__init__"
    groups = GROUPS | {"advanced": getattr(cls, "_options_class", Options)}
    # The name itself comes first: it may now be an option of a group.
    texts = (unknown, *answers)
    for parameter, group in groups.items():
        if parameter in own:
            options = argument_names(group)
            texts = tuple(
                f"{parameter}={group.__name__}({text}=...)" if text in options else text
                for text in texts
            )
    if not is_constructor:
        own, other = argument_names(getattr(cls, method)), own
    for text in texts:
        name = text.partition("=")[0]
        if name in own:
            return f"Use {text} instead."
        if name in other:
            return f"Pass {text} to {'fit' if is_constructor else 'the constructor'}."
        if text.endswith("."):
            return text
    if answers:
        return f"It is {texts[-1]} in dics; {cls.__name__} does not have it."
    # A strict limit, because a wrong guess is worse than none.
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


def warn_without_effect(model: Any, names: Iterable[str], reason: str) -> None:
    """Warn if parameters that this fit does not use are set.

    Names of options have a prefix, such as "advanced.tol".
    """
    texts = []
    for name in names:
        group, _, own = name.rpartition(".")
        owner = getattr(model, group) if group else model
        # Without options, all have their defaults.
        if owner is not None and getattr(owner, own) != getattr(type(owner)(), own):
            texts.append(f"{name}={getattr(owner, own)!r}")
    if texts:
        warn_user(f"Without effect: {', '.join(texts)}, because {reason}.")


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
    if n_jobs is not None and n_jobs > MAX_THREADS:
        return min(n_jobs, max(MAX_THREADS, 4 * (os.cpu_count() or 1)))
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    try:
        available = int(_openmp_effective_n_threads())
    except (TypeError, ValueError):  # a scikit-learn built without OpenMP
        limit = os.environ.get("OMP_NUM_THREADS", "")
        available = int(joblib.cpu_count())
        if limit.isdigit() and int(limit) > 0:
            available = min(available, int(limit))
    # As in joblib: -2 leaves one core to others.
    return available if n_jobs is None else max(1, available + 1 + n_jobs)


def as_feature_count(max_features: Any, n_features: int) -> int:
    """Resolve a number of features: a count, a fraction, a rule or None (all)."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, math.isqrt(n_features))
    if max_features == "log2":
        return max(1, int(math.log2(n_features)))
    if isinstance(max_features, Integral):
        return min(n_features, int(max_features))
    return max(1, int(max_features * n_features))


def as_row_count(limit: Any, n_rows: int) -> int:
    """Resolve a number of rows that may be given as a fraction."""
    # One row more than there are is a limit that no node meets, as any larger one.
    rows = int(limit) if isinstance(limit, Integral) else math.ceil(limit * n_rows)
    return min(rows, n_rows + 1)
