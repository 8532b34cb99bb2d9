"""What arguments of LightGBM, XGBoost, CatBoost and scikit-learn are called here.

An answer is one of our names, or a sentence that says why there is none. Each table
has the names of others behind their answer; a name may have several answers, of which
the first counts that fits the estimator.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])
Answers = Mapping[str, list[str]]


def by_name(*tables: Mapping[str, str]) -> Answers:
    """Turn answers and the names behind them into names and their answers."""
    answers: dict[str, list[str]] = {}
    for table in tables:
        for answer, names in table.items():
            for name in names.split():
                answers.setdefault(name, []).append(answer)
    return answers


# --- constructors -------------------------------------------------------------------

EVERYWHERE = {
    "n_jobs": "n_threads num_threads nthread thread_count",
    "random_state": "random_seed seed data_random_seed bagging_seed",
    "verbose": "verbosity logging_level silent verbose_eval metric_period",
    "max_depth": "depth",
    "class_weight": "class_weights",
    'use class_weight="balanced"': "auto_class_weights is_unbalance",
    "use class_weight, such as {0: 1, 1: 5}": "scale_pos_weight",
    "weigh rows by sample_weight of fit": "class_weight class_weights scale_pos_weight "
    "auto_class_weights is_unbalance",
    "monotonic_cst": "monotone_constraints mc monotone_constraints_method",
    "interaction_cst": "interaction_constraints",
    "only boosting has constraints of interactions": "interaction_cst "
    "interaction_constraints",
    "thresholds come from candidates, such as CentroidCandidates(max_thresholds=64)": (
        "max_bin max_bins border_count subsample_for_bin bin_construct_sample_cnt "
        "min_data_in_bin feature_border_type per_float_feature_quantization "
        "input_borders output_borders splitter"
    ),
    "categorical_features": "categorical_feature cat_features enable_categorical "
    "feature_types",
    "cat_smooth": "smooth",
    "only boosting has it; cat_smooth draws rare levels to the mean": (
        "cat_l2 cat_pairs"
    ),
    "min_cat_samples": "min_data_per_group",
    "max_cat_levels": "max_cat_threshold",
    "cat_pairs": "max_ctr_complexity combinations_ctr",
    "sets of levels need no such limit; cat_smooth draws rare levels to the mean": (
        "max_cat_to_onehot max_cat_threshold one_hot_max_size min_data_per_group "
        "counter_calc_method ctr_leaf_count_limit store_all_simple_ctr "
        "max_ctr_complexity final_ctr_computation_mode simple_ctr combinations_ctr "
        "per_feature_ctr ctr_description ctr_target_border_count ctr_history_unit "
        "gpu_cat_features_storage"
    ),
    "columns of text or vectors are not there; make numbers of them first": (
        "text_features tokenizers dictionaries feature_calcers text_processing "
        "embedding_features"
    ),
    "NaN is always taken as missing, and each split learns its side": (
        "missing nan_mode use_missing zero_as_missing"
    ),
    "features of X are all used; leave columns out before fit": "ignored_features "
    "ignore_column",
    "features all cost the same": (
        "feature_weights penalties_coefficient first_feature_use_penalties "
        "per_object_feature_penalties feature_contri feature_penalty model_size_reg"
    ),
    "feature_importances_ is the gain, and split_counts_ of boosting the number of "
    "splits": "importance_type",
    "the core runs on the CPU alone": (
        "device device_type task_type devices device_config gpu_id gpu_ram_part "
        "pinned_memory_size gpu_use_dp predictor"
    ),
    "models are always the same for the same seed, with any number of threads": (
        "deterministic force_col_wise force_row_wise deterministic_histogram"
    ),
    "classes are found in y": "num_class n_classes classes_count class_names "
    "allow_const_label",
    "parameters are always checked": "validate_parameters",
    "a model is kept by save and read by dics.load; fit writes no files": (
        "save_snapshot snapshot_file snapshot_interval allow_writing_files train_dir "
        "metadata"
    ),
    "the name of a model is up to the variable it is in": "name",
    "there is no such setting; memory is bounded by the size of the codes": (
        "used_ram_limit max_bin_by_feature histogram_pool_size data_partition "
        "dev_score_calc_obj_block_size dev_efb_max_buckets "
        "sparse_features_conflict_fraction max_cached_hist_node enable_bundle"
    ),
}

OF_BOOSTING = {
    "n_estimators": "max_iter iterations n_iter num_iterations num_iteration "
    "num_boost_round num_trees num_round n_rounds nrounds",
    "learning_rate": "eta shrinkage_rate",
    "max_leaf_nodes": "num_leaves max_leaves max_leaf num_leaf",
    "min_samples_leaf": "min_child_samples min_data_in_leaf min_data min_samples",
    "min_sum_hessian": "min_child_weight min_sum_hessian_in_leaf",
    "min_split_gain": "gamma min_gain_to_split min_split_loss min_impurity_decrease",
    "l2_regularization": "reg_lambda lambda lambda_ lambda_l2 l2_leaf_reg",
    "max_features": "colsample_bytree feature_fraction rsm sub_feature "
    "max_features_per_tree",
    "max_features draws features for each round, not for each level or node": (
        "colsample_bylevel colsample_bynode feature_fraction_bynode"
    ),
    'use sampling="mvs"; top_rate + other_rate is the share of the rows drawn': (
        "subsample bagging_fraction sub_row subsample_freq bagging_freq mvs_reg "
        "bagging_temperature sampling_frequency sampling_unit max_samples"
    ),
    "sampling": "sampling_method bootstrap_type data_sample_strategy bootstrap",
    'there are no such boosters; sampling="goss" and sampling="mvs" are ways to draw '
    "rows": "boosting_type boosting booster",
    "dropping trees (DART) is not there": (
        "drop_rate max_drop skip_drop uniform_drop xgboost_dart_mode drop_seed "
        "rate_drop one_drop normalize_type sample_type"
    ),
    "there is no L1 penalty; use l2_regularization, min_split_gain or "
    "min_samples_leaf": "reg_alpha lambda_l1 alpha",
    "what a leaf adds is limited by itself; use learning_rate or l2_regularization": (
        "max_delta_step max_leaf_output path_smooth leaf_estimation_iterations "
        "leaf_estimation_method leaf_estimation_backtracking model_shrink_rate "
        "model_shrink_mode"
    ),
    "loss": "objective loss_function criterion",
    "classifiers always minimise the log-loss": "objective loss loss_function "
    "criterion score_function",
    "splits are always rated by what they gain of the loss": "criterion "
    "score_function random_strength random_score_type",
    "quantile": "quantile_alpha",
    "only the regressor has quantiles": "quantile",
    "rounds begin with the best constant": (
        "base_score init boost_from_average init_score"
    ),
    "n_iter_no_change": "early_stopping_rounds early_stopping_round od_wait",
    "tol": "early_stopping_min_delta od_pval",
    "use early_stopping, n_iter_no_change and tol": "od_type first_metric_only",
    "early stopping always keeps the rounds up to the best": (
        "use_best_model best_model_min_trees"
    ),
    "compare y with the border before fit": "target_border",
    "validation_fraction": "eval_fraction",
    "scoring": "eval_metric metric",
    "callbacks of fit can compute them; evals_result_ has the losses": (
        "custom_metric custom_loss"
    ),
    "it is callbacks of fit": "callbacks callback",
    "trees always grow at the leaf that gains most, up to max_leaf_nodes": (
        "grow_policy tree_method tree_learner fixed_binary_splits"
    ),
    "a tree always has a value for each output": "multi_strategy",
    "each round makes one tree": "num_parallel_tree",
    "splits are always searched among all candidates; max_candidates draws some": (
        "extra_trees splitter"
    ),
    "leaves always hold numbers, no linear models": "linear_tree linear_lambda",
    "rows have no order, and gradients come from the model of all rows": (
        "has_time fold_permutation_block fold_len_multiplier approx_on_full_history"
    ),
    "there is no noise in the rounds; noise_shrinkage of the classifier shrinks what "
    "may be noise": "langevin diffusion_temperature posterior_sampling",
    "use max_leaf_nodes, max_depth or min_samples_leaf": (
        "min_samples_split min_weight_fraction_leaf ccp_alpha"
    ),
    "rows are not drawn with replacement; use early_stopping for an estimate": (
        "oob_score"
    ),
}

# Of trees and of forests.
OF_TREES = {
    "n_estimators": "num_trees num_parallel_tree iterations n_iter max_iter "
    "num_boost_round num_iterations",
    "this is a single tree; see CGForestClassifier and CGForestRegressor": (
        "n_estimators num_trees bootstrap max_samples oob_score warm_start verbose "
        "verbosity feature_sampling voting"
    ),
    "max_features": "colsample_bynode feature_fraction_bynode",
    'use max_features with feature_sampling="tree"': "colsample_bytree "
    "feature_fraction",
    "max_samples": "subsample bagging_fraction",
    "max_leaf_nodes": "num_leaves max_leaves max_leaf num_leaf",
    "min_samples_leaf": "min_child_samples min_data_in_leaf",
    "min_impurity_decrease": "min_split_gain gamma min_gain_to_split",
    "criterion": "loss objective loss_function",
    "only boosting has it; see FastCGBMClassifier and FastCGBMRegressor": (
        "learning_rate eta l2_regularization reg_lambda reg_alpha lambda_l1 lambda_l2 "
        "early_stopping early_stopping_rounds n_iter_no_change validation_fraction "
        "scoring eval_metric tol min_child_weight sampling callbacks"
    ),
}

# --- methods ------------------------------------------------------------------------

OF_FIT = {
    "n_iter_no_change": "early_stopping_rounds early_stopping_round",
    "scoring": "eval_metric metric feval",
    "verbose": "verbose verbose_eval logging_level silent metric_period",
    "eval_sample_weight": "sample_weight_eval_set",
    "sample_weight_val": "weight_val",
    "eval_set": "eval_sets valid_sets evals validation_data watchlist",
    "eval_names": "valid_names",
    "X_val": "eval_X",
    "y_val": "eval_y",
    "sample_weight": "weight weights sample_weights",
    "callbacks": "callback monitor",
    "only boosting has validation rows": (
        "eval_set eval_names X_val y_val sample_weight_val eval_sample_weight "
        "sample_weight_eval_set eval_sets valid_sets evals early_stopping_rounds "
        "eval_metric callbacks callback monitor"
    ),
    "warm_start": "init_model xgb_model",
    "rounds begin with the best constant; warm_start adds to an earlier fit": (
        "init_score eval_init_score base_margin base_margin_eval_set baseline"
    ),
    "class_weight counts for validation rows too": "eval_class_weight",
    "early stopping always keeps the rounds up to the best": "use_best_model",
    "names of features are those of the columns of a data frame": "feature_name "
    "feature_names",
    "rankings are not there": "group eval_group qid eval_qid group_id eval_at pairs",
    "evals_result_ has the losses; dics.plot.plot_metric draws them": (
        "plot plot_file evals_result log_cout log_cerr column_description"
    ),
    "X is always checked": "check_input",
    "graphs of rows are not there": "graph",
}

OF_PREDICT = {
    "predict_contributions": "pred_contrib pred_contribs",
    "there are no contributions of pairs of features; use predict_contributions": (
        "pred_interactions approx_contribs"
    ),
    "apply": "pred_leaf",
    "decision_function": "raw_score output_margin",
    "there are no raw scores; predict_contributions explains what boosting adds up": (
        "raw_score output_margin prediction_type"
    ),
    "use predict_proba for probabilities, decision_function for scores": (
        "prediction_type"
    ),
    "staged_predict": (
        "num_iteration start_iteration iteration_range ntree_limit ntree_start "
        "ntree_end"
    ),
    "a forest has its trees in estimators_": (
        "num_iteration start_iteration iteration_range ntree_limit ntree_start "
        "ntree_end"
    ),
    "n_jobs": "thread_count num_threads",
    "X is always checked": "validate_features validate_parameters check_input "
    "predict_disable_shape_check",
    "rounds begin with the best constant; add a margin to decision_function": (
        "base_margin"
    ),
    "predictions always look at the whole path of each row": (
        "pred_early_stop pred_early_stop_freq pred_early_stop_margin"
    ),
    "the core runs on the CPU alone": "task_type",
    "predict_quantiles": "quantile quantiles",
    "means have no deviation here; predict_quantiles of CGForestRegressor tells the "
    "spread": "return_std",
}

BOOSTING_NAMES = by_name(OF_BOOSTING, EVERYWHERE)
TREE_NAMES = by_name(OF_TREES, EVERYWHERE)
METHOD_NAMES = {
    "fit": by_name(OF_FIT),
    "predict": by_name(OF_PREDICT),
    "predict_proba": by_name(OF_PREDICT),
}

# --- answers ------------------------------------------------------------------------


def answer(cls: type, method: str, name: str) -> str:
    """Say what an unknown argument is called here; empty if nothing is known of it.

    Parameters
    ----------
    cls : type
        An estimator, whose `_other_names` are those of its constructor.
    method : str
        "__init__", "fit", "predict" or "predict_proba".
    name : str
        The argument.
    """
    constructor = argument_names(cls.__init__)  # type: ignore[misc]
    own = argument_names(getattr(cls, method))
    tables: list[Answers] = [getattr(cls, "_other_names", {})]
    if method != "__init__":
        if name in constructor and name not in own:
            return f"it is {name} of the constructor"
        tables.insert(0, METHOD_NAMES[method])
    for text in (text for table in tables for text in table.get(name, ())):
        if not text.isidentifier():
            return text
        if text in own:
            return f"it is {text} here"
        if text in constructor:
            return f"it is {text} of the constructor"
        if hasattr(cls, text):
            return f"use {text}"
    close = difflib.get_close_matches(name, own, n=1, cutoff=0.8)
    return f"did you mean {close[0]}?" if close else ""


def argument_names(method: Callable[..., Any]) -> list[str]:
    """Names of the arguments of a method, without self."""
    return list(inspect.signature(method).parameters)[1:]


def answers_other_names(method: Method) -> Method:
    """Let a method refuse unknown arguments with the name that they have here."""
    own = set(argument_names(method))
    name = method.__name__

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not own.issuperset(kwargs):
            refuse(type(self), name, kwargs.keys() - own)
        return method(self, *args, **kwargs)

    return checked  # type: ignore[return-value]


def refuse(cls: type, method: str, unknown: Iterable[str]) -> None:
    """Raise a TypeError about unknown arguments, if anything is known of one."""
    called = cls.__name__ + ("" if method == "__init__" else f".{method}")
    for name in sorted(unknown):
        text = answer(cls, method, name)
        if text:
            raise TypeError(f"{called}() got an unexpected argument {name!r}: {text}")


def check_parameters(estimator: Any, parameters: Iterable[str]) -> None:
    """Raise a ValueError about parameters that `set_params` doesn't know.

    Those that nothing is known of are left to scikit-learn.
    """
    cls = type(estimator)
    known = argument_names(cls.__init__)
    for name in parameters:
        outer = name.partition("__")[0]
        text = "" if outer in known else answer(cls, "__init__", outer)
        if text:
            raise ValueError(
                f"Invalid parameter {outer!r} for estimator {cls.__name__}: {text}"
            )
