"""Tables of the pages, generated from the library and from result files.

A page includes one by its name: ::

    ```{dics-table} defaults
    ```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar
from unittest import mock

import numpy as np
from docutils import nodes
from page_output import OutputDirective
from sklearn import ensemble, tree
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import dics
from dics._boosting import plan
from dics._boosting.plan import DEFAULTS, QUALITIES
from dics._estimator.arguments import (
    FOREIGN_ATTRIBUTES,
    FOREIGN_LOSSES,
    answer,
    argument_names,
    explain_attribute,
)
from dics._growing import randomness

TABLES: dict[str, Callable[[], str]] = {}


def table(function: Callable[[], str]) -> Callable[[], str]:
    """Register a function that returns a table in Markdown."""
    TABLES[function.__name__] = function
    return function


def markdown_table(header: list[str], rows: list[list[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


class TableDirective(SphinxDirective):
    """Insert a generated table."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the table."""
        # A page is written again if the rules that it lists have changed.
        for module in (plan, randomness):
            self.env.note_dependency(str(module.__file__))
        return self.parse_text_to_nodes(TABLES[self.arguments[0]]())


# --- "auto" ---------------------------------------------------------------------------

KINDS = {
    "regression": "regression",
    "binary": "two classes",
    "multiclass": "three or more classes",
}


@table
def qualities() -> str:
    """Return the trials, learning rates and limits of each quality."""
    header = [
        "`quality`",
        "trials",
        "rate of a trial, classification",
        "rate of a trial, regression",
        "most rounds of a trial",
        "most training rows with trials",
    ]
    rows = [
        [
            f'`"{name}"`',
            q.n_trials,
            f"{q.class_rate:g}",
            f"{q.regression_rate:g}",
            f"{q.max_rounds:,}",
            f"{q.row_rounds / plan.MIN_TRIAL_ROUNDS:,.0f}",
        ]
        for name, q in QUALITIES.items()
    ]
    return markdown_table(header, rows)


def default_rows(*names: str) -> str:
    """Return some columns of `DEFAULTS`, for each kind of target."""
    rows = [
        [
            KINDS[row.kind],
            f"from {row.min_rows:,} on" if row.min_rows else "fewer",
            *(f"{getattr(row, name):g}" for name in names),
        ]
        for row in DEFAULTS
    ]
    columns = [f"`{name}`" for name in names]
    return markdown_table(["target", "training rows", *columns], rows)


@table
def auto_trees() -> str:
    """Return the limits of the trees of boosting."""
    return default_rows("max_leaf_nodes", "min_samples_leaf")


@table
def auto_penalties() -> str:
    """Return the values that shrink the leaves of boosting."""
    return default_rows("l2_regularization", "noise_shrinkage")


@table
def auto_sampling() -> str:
    """Return the fractions of rows and features that a round samples."""
    rows = [
        [
            KINDS[row.kind],
            f"from {row.min_rows:,} on" if row.min_rows else "fewer",
            f"{row.subsample:g}",
            ", ".join(f"{fraction:g}" for fraction in row.max_features),
        ]
        for row in DEFAULTS
    ]
    header = [
        "target",
        "training rows",
        "`subsample`",
        "`max_features` of the trials, in turn",
    ]
    return markdown_table(header, rows)


@table
def auto_limits() -> str:
    """Return the limits of the rules of boosting."""
    least = f"{plan.MIN_SAMPLE_FACTOR:.2f}"
    least_features = plan.MIN_ROUND_FEATURES
    patience = ", ".join(f"{q.patience:g} ({name})" for name, q in QUALITIES.items())
    features = f"about 4 times the root of their number, at least {least_features}"
    rows: list[list[Any]] = [
        ["rows that a trial holds out", f"{plan.TRIAL_FRACTION:.0%} of the rows"],
        ["fewest training rows with trials", plan.MIN_TRIAL_ROWS],
        ["fewest rounds that a trial must be able to have", plan.MIN_TRIAL_ROUNDS],
        ["rounds without trials", plan.UNTRIED_ROUNDS],
        ["lowest learning rate without trials", f"{plan.UNTRIED_RATE:g}"],
        [
            "rounds without a better loss that end a trial",
            f"{patience} / `learning_rate`, at least {plan.MIN_PATIENCE}",
        ],
        [
            "training rows from which on `subsample` falls",
            f"{plan.FULL_SAMPLE_ROWS:,}, down to {least} of its value",
        ],
        ["most features of a round, if there are many", features],
        [
            "rows of very small tables that a leaf may require",
            f"1/{plan.MIN_FULL_LEAVES} of all rows",
        ],
        ["outputs from which on `sketch_outputs` is used", plan.MIN_SKETCHED_OUTPUTS],
        ["`sketch_outputs` from there on", plan.SKETCH_OUTPUTS],
    ]
    return markdown_table(["rule", "value"], rows)


@table
def forest_trials() -> str:
    """Return the values that the trials of a forest compare, found by running them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10 * randomness.MIN_ROWS, 3))
    y = X[:, 0] > 0
    rows = []
    for name in ("Classifier", "Regressor"):
        tried: list[randomness.Randomness] = []

        def record(*args: Any, tried: list[randomness.Randomness] = tried) -> Any:
            _, data, values = args
            tried.append(values)
            return np.zeros(len(data.rows))  # equal errors: the first value is kept

        with mock.patch.object(randomness, "trial_errors", record):
            forest = getattr(dics, f"CGForest{name}")(n_estimators=1, random_state=0)
            forest.fit(X, y.astype(float if name == "Regressor" else int))
        for i, values in enumerate(tried):
            kind = "default" if i == 0 else f"trial {i}"
            cells = [f"`{value!r}`" for value in values]
            rows.append([f"`CGForest{name}`", kind, *cells])
    names = [f"`{name}`" for name in randomness.Randomness._fields]
    return markdown_table(["forest", "", *names], rows)


@table
def forest_limits() -> str:
    """Return the sizes of the trials of forests."""
    rows: list[list[Any]] = [
        ["trees of a trial", randomness.N_TREES],
        ["rows of a trial", f"{randomness.ROW_FRACTION:.0%} of the training rows"],
        ["most rows of a trial", f"{randomness.MAX_ROWS:,}"],
        ["fewest rows of a trial", randomness.MIN_ROWS],
        ["most features with trials, classification", randomness.MAX_FEATURES],
        ["standard errors by which a value must be better", randomness.MIN_GAIN],
    ]
    return markdown_table(["rule", "value"], rows)


# --- names in other libraries ---------------------------------------------------------

# Names of parameters in other libraries. The answers come from dics.
LIGHTGBM = """boosting_type num_leaves max_depth learning_rate n_estimators objective
    class_weight min_split_gain min_child_weight min_child_samples subsample
    colsample_bytree reg_alpha reg_lambda random_state n_jobs is_unbalance
    scale_pos_weight max_bin monotone_constraints interaction_constraints
    num_iterations bagging_fraction feature_fraction min_data_in_leaf lambda_l1
    lambda_l2 num_threads verbosity cat_smooth cat_l2 top_rate other_rate
    tweedie_variance_power early_stopping_rounds"""
XGBOOST = """n_estimators max_depth max_leaves max_bin learning_rate eta verbosity
    objective booster tree_method n_jobs nthread gamma min_child_weight subsample
    colsample_bytree colsample_bynode reg_alpha reg_lambda scale_pos_weight
    random_state seed missing monotone_constraints interaction_constraints device
    enable_categorical early_stopping_rounds eval_metric tweedie_variance_power"""
CATBOOST = """iterations num_boost_round learning_rate depth max_depth max_leaves
    num_leaves min_data_in_leaf l2_leaf_reg reg_lambda loss_function objective
    eval_metric class_weights scale_pos_weight subsample bootstrap_type
    monotone_constraints cat_features random_seed thread_count task_type
    early_stopping_rounds max_bin"""
OF_FIT = """baseline base_margin init_score eval_set eval_names eval_sample_weight
    eval_init_score sample_weight_eval_set base_margin_eval_set categorical_feature
    cat_features callbacks init_model"""
OF_PREDICT = """raw_score output_margin pred_contrib pred_contribs pred_leaf
    num_iteration iteration_range ntree_limit ntree_end"""


def with_code(cls: type, sentence: str) -> str:
    """Format the names of arguments and attributes in an answer as code."""
    use = re.fullmatch(r"Use (\S.*) instead\.", sentence)
    if use is not None:
        return f"`{use[1]}`"
    passed = re.fullmatch(r"Pass (\S+) to (.*)\.", sentence)
    if passed is not None:
        return f"`{passed[1]}` of {passed[2].replace('fit', '`fit`')}"
    words = {w for w in dir(cls) if "_" in w} | set(argument_names(cls))
    words |= {"apply", "candidates=", "export_text", "trees_"}
    names = sorted(words, key=len, reverse=True)
    name = rf"(?:dics\.[\w.]+|{'|'.join(names)})(?:\([^)]*\))?"
    pattern = rf"(?<![\w`.])({name})(?![\w`=])"
    return re.sub(pattern, lambda found: f"`{found[1].rstrip('.')}`", sentence)


def answers(cls: type, method: str, names: Iterable[str]) -> list[list[str]]:
    """Return the answers of the library to arguments of other libraries."""
    own = set(argument_names(getattr(cls, method)))
    rows = []
    for name in names:
        if name in own:
            rows.append([f"`{name}`", f"`{name}`"])
            continue
        text = answer(cls, method, name)
        if not text or text.startswith("Did you mean"):
            raise ValueError(f"{cls.__name__} has no answer to {name}.")
        rows.append([f"`{name}`", with_code(cls, text)])
    return rows


def library_table(library: str, names: str) -> str:
    """Return a table of the parameters of a library of boosting."""
    rows = answers(dics.CGBoostingClassifier, "__init__", names.split())
    return markdown_table([library, "dics"], rows)


@table
def from_lightgbm() -> str:
    """Return the parameters of LightGBM."""
    return library_table("LightGBM", LIGHTGBM)


@table
def from_xgboost() -> str:
    """Return the parameters of XGBoost."""
    return library_table("XGBoost", XGBOOST)


@table
def from_catboost() -> str:
    """Return the parameters of CatBoost."""
    return library_table("CatBoost", CATBOOST)


def sklearn_table(theirs: type, ours: type) -> str:
    """Return the parameters of scikit-learn that have another name or place."""
    own = set(argument_names(ours))
    rows = []
    for name in argument_names(theirs):
        if name in own:
            continue
        text = answer(ours, "__init__", name)
        text = "" if text.startswith("Did you mean") else with_code(ours, text)
        rows.append([f"`{name}`", text or "not needed, or not supported"])
    header = [f"`{theirs.__name__}`", f"`{ours.__name__}`"]
    return markdown_table(header, rows)


@table
def from_hist_gradient_boosting() -> str:
    """Return the parameters of HistGradientBoosting that differ."""
    return sklearn_table(
        ensemble.HistGradientBoostingClassifier, dics.CGBoostingClassifier
    )


@table
def from_random_forest() -> str:
    """Return the parameters of random forests that differ."""
    return sklearn_table(ensemble.RandomForestClassifier, dics.CGForestClassifier)


@table
def from_decision_tree() -> str:
    """Return the parameters of trees that differ."""
    return sklearn_table(tree.DecisionTreeClassifier, dics.CGTreeClassifier)


@table
def other_arguments() -> str:
    """Return arguments of fit and predict in other libraries."""
    cls = dics.CGBoostingClassifier
    rows = [["fit", *row] for row in answers(cls, "fit", OF_FIT.split())]
    rows += [["predict", *row] for row in answers(cls, "predict", OF_PREDICT.split())]
    for row in rows:
        row[0] = f"`{row[0]}`"
    return markdown_table(["method", "argument there", "dics"], rows)


@table
def other_attributes() -> str:
    """Return attributes and methods of fitted models in other libraries."""
    cls = dics.CGBoostingClassifier
    groups: dict[str, list[str]] = {}
    for name in FOREIGN_ATTRIBUTES:
        try:
            explain_attribute(cls, name)
        except AttributeError as error:
            remedy = str(error).partition("'. ")[2]
            groups.setdefault(remedy, []).append(f"`{name}`")
    rows = [[", ".join(names), with_code(cls, text)] for text, names in groups.items()]
    return markdown_table(["attribute or method there", "dics"], rows)


@table
def other_losses() -> str:
    """Return names of losses in other libraries."""
    rows = [
        [f'`"{name}"`', ", ".join(f'`"{other}"`' for other in others.split())]
        for name, others in FOREIGN_LOSSES.items()
        if others
    ]
    return markdown_table(["dics", "in other libraries"], rows)


# --- set-up ---------------------------------------------------------------------------


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("dics-table", TableDirective)
    app.add_directive("output", OutputDirective)
    return {"parallel_read_safe": True}
