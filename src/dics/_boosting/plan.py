"""Rules that resolve the "auto" parameters of boosting.

A `DataProfile` describes the training data, and `make_plan` looks up the values for it.
Comments give the measurements that chose the values, all of November 2026. They name
the data sets of the benchmarks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from dics._dictionary import auto_budget
from dics._estimator.arguments import as_feature_count
from dics.candidates import CentroidCandidates
from dics.options import GOSS


class Defaults(NamedTuple):
    """Values for one kind of target, from `min_rows` training rows on."""

    kind: str
    min_rows: int
    n_estimators: int
    noise_shrinkage: float
    learning_rate: float
    categorical_rate: float  # learning rate with categorical features
    unshrunk_rate: float  # learning rate if noise_shrinkage=0 is given
    feature_fraction: float  # sampled for each round, if features are few
    trial_fraction: float  # of the rows, held out by a trial
    min_samples_leaf: int = 20
    l2: float = 0.1
    max_leaf_nodes: int = 31


# The last row that fits the data is used.
#
# Regression: R2 for rates of 0.06, 0.1, 0.15 and 0.2 is 0.827, 0.836, 0.842 and 0.842
# (california_housing), 0.512, 0.546, 0.564 and 0.582 (protein_casp); with fewer rows
# 0.982, 0.983, 0.982 and 0.980 (cpu_act), 0.563, 0.550, 0.536 and 0.519 (mercedes). A
# target with a long tail prefers smaller steps: 0.438, 0.429 and 0.412 for 0.1, 0.12
# and 0.15 (blog_feedback).
#
# Binary: 100 rounds with noise shrinkage have the log-loss of 300 smaller steps without
# it: 0.137 and 0.147 (spambase), 0.293 and 0.294 (magic), 0.276 and 0.274 (adult),
# 0.231 and 0.233 (electricity). With 1,000 rows of magic it is 0.36 instead of 0.43.
# Half the rate suits categorical features, which are noisier: AUC 0.888 instead of
# 0.879 (amazon_access), 0.930 instead of 0.929 (adult_categorical).
#
# Multiclass: noise shrinkage helps noisy tables (log-loss 0.201 instead of 0.228,
# dry_bean) and harms clean ones (0.234 instead of 0.117, letter). A trial replaces it.
# The accuracy of four tables minus that of LightGBM is 0.004, 0.008 and 0.007 for rates
# of 0.1, 0.15 and 0.2.
#
# With few rows, half of the features make the trees differ more. The log-loss is 0.084
# instead of 0.132 (wine), 0.092 instead of 0.105 (digits). With 34,000 rows,
# electricity loses 0.01 of accuracy.
DEFAULTS = (
    Defaults("regression", 0, 100, 0.0, 0.1, 0.1, 0.1, 0.5, 0.2),
    Defaults("regression", 10_000, 100, 0.0, 0.12, 0.12, 0.12, 1.0, 0.1),
    Defaults("binary", 0, 100, 10.0, 0.1, 0.05, 0.02, 0.5, 0.2),
    Defaults("binary", 10_000, 100, 10.0, 0.15, 0.075, 0.04, 1.0, 0.1),
    Defaults("binary", 20_000, 100, 10.0, 0.2, 0.1, 0.04, 1.0, 0.1),
    Defaults("multiclass", 0, 250, 0.0, 0.15, 0.15, 0.15, 0.5, 0.2),
    Defaults("multiclass", 10_000, 250, 0.0, 0.15, 0.15, 0.15, 1.0, 0.1),
)

# Rows of a leaf, as a divisor of the rows of small tables. Without it, 30 rows have no
# split at all. With leaves of 20 rows, a fifth, a tenth and a twentieth of 30 rows, the
# log-loss is 1.84, 1.10, 1.16 and 1.17 (dry_bean), 0.56, 0.49, 0.51 and 0.50 (adult);
# of 100 rows 2.59, 2.59, 2.30 and 2.23 (letter), and 0.529, 0.529, 0.549 and 0.582
# (electricity); R2 of 100 rows 0.50, 0.50, 0.54 and 0.53 (california_housing).
MIN_FULL_LEAVES = 10

# A trial holds out some rows from the first rounds. If their loss has not improved for
# TRIAL_PATIENCE rounds, the trial is discarded and the fit starts again with smaller
# steps. Log-loss without and with a trial: 0.240 and 0.195 (dry_bean), 0.745 and 0.716
# (jannis_part), 2.88 and 2.77 (helena_part). Clean tables keep the rounds of the trial.
TRIAL_ROUNDS = 100  # of a trial, and of the fit after a discarded trial
TRIAL_PATIENCE = 10
MIN_TRIAL_RATE = 0.02
# The other rounds use all rows. If all rounds are tried, tables that keep them lose up
# to 0.003 of the score; with 0.3 of them, be_mtpl97 explains 0.0337 instead of 0.0358.
MAX_TRIAL_FRACTION = 0.6
# Fewest and most training rows, without and with categorical features. With fewer rows
# the held-out loss is too noisy. With more rows a short trial can not overfit.
TRIAL_ROWS = {False: (1_000, 100_000), True: (1_000, 200_000)}
# Leaves of a tree after a discarded trial with categorical features, and the factor of
# the learning rate for usual and for such small trees. 57 real tables of the suite of
# 150 discarded a trial (six splits each). With small trees the loss is lower on 36 (20
# by more than 0.5 %) and higher on 21 (11), and 0.3 % lower on average.
SMALL_TREE_LEAVES = 8
TRIAL_RATE_FACTOR = {False: 1.15, True: 2.0}

# Rows, and rows times outputs, from which a round samples its rows. With fewer outputs
# sampling saves little: 0.2 of the time of adult for 0.002 of accuracy, but more than
# half of the time of otto (9 classes) for 0.001.
MIN_SAMPLED_ROWS = 20_000
MIN_SAMPLED_VALUES = 100_000
# Fractions of the rows: those with the largest gradients, and of the others. They fall
# from FULL_SAMPLE_ROWS on, down to a third of them. A round of a million rows takes
# half the time then, and the log-loss is 0.4329 instead of 0.4341 (1,000,000 x 28).
SAMPLED_FRACTIONS = (0.2, 0.1)
FULL_SAMPLE_ROWS = 333_333
MIN_SAMPLE_FACTOR = 1 / 3

# Features that a round samples at least. CIFAR-10 (3,072 features) has an accuracy of
# 0.509 in 2.9 s with 100 of them, 0.518 in 6.9 s with 221 and 0.519 in 11 s with 384.
MIN_ROUND_FEATURES = 100
# Values that a round can sum up without being slow: sampled rows times features times
# outputs. If 5 of 1,000 features are informative, 3,000 rows and 126 sampled features
# cost 0.1 of accuracy.
MAX_ROUND_VALUES = 20e6
# `feature_fraction` applies to tables with up to 64 features and keeps at least 8.
FEW_FEATURES, MIN_FEW_FEATURES = 64, 8

# Outputs from which splits are searched by random sums, and the number of sums. Seconds
# and log-loss of 300 rounds with all outputs and with sums: 8.7, 3.12 and 1.9, 2.93
# (helena_part, 100 classes), 1.2, 0.095 and 0.8, 0.103 (letter, 26 classes).
MIN_SKETCHED_OUTPUTS = 32
SKETCH_OUTPUTS = 6

# Thresholds of a feature times classes, and the fewest thresholds: for histograms with
# one hessian for each output, and for narrow ones (regression and sums of outputs).
# Accuracy of helena_part: 0.343 with 254 thresholds, 0.345 with 81 in half the time.
# Log-loss of dry_bean: 0.191 with 254, 0.194 with 128 in 0.8 of the time.
THRESHOLDS = {False: (1280, 64), True: (8192, 32)}


class RowSampling(NamedTuple):
    """Row sampling of a round; see `BoostingPlan`."""

    sampling: str | None
    top_rate: float
    other_rate: float

    @property
    def subsample(self) -> float:
        """Fraction of the rows that a round samples; 1 if it uses all."""
        if self.sampling is None:
            return 1.0
        return min(1.0, self.top_rate + self.other_rate)


@dataclass(frozen=True, kw_only=True)
class DataProfile:
    """The properties of the training data that the rules use.

    Attributes
    ----------
    n_rows : int
        Number of training rows, without held-out rows and rows of weight zero.
    n_features : int
        Number of features.
    n_classes : int
        Number of classes; 0 for regression and custom losses.
    n_outputs : int
        Number of scores of each row; 1 for two classes.
    has_categories : bool
        Whether X has categorical features.
    """

    n_rows: int
    n_features: int
    n_classes: int = field(repr=False)
    n_outputs: int = field(repr=False)
    has_categories: bool = field(default=False, repr=False)

    @property
    def kind(self) -> str:
        """Return the kind of the target: regression, binary or multiclass."""
        if self.n_classes == 0:
            return "regression"
        return "binary" if self.n_classes <= 2 else "multiclass"

    @property
    def n_costly_classes(self) -> int:
        """Return the number of classes that take as much time as the outputs."""
        return self.n_classes or self.n_outputs + 1

    def find_defaults(self) -> Defaults:
        """Return the row of `DEFAULTS` for this data."""
        return [
            row
            for row in DEFAULTS
            if row.kind == self.kind and row.min_rows <= self.n_rows
        ][-1]


@dataclass(frozen=True, kw_only=True)
class BoostingPlan(DataProfile):
    """The parameters of a boosting fit with every "auto" resolved.

    ``str(plan)`` has all parameters: the part after the semicolon can be copied into
    the constructor of the estimator. ``repr(plan)`` has the most frequent ones.

    Attributes
    ----------
    n_rows : int
        Number of training rows, without held-out rows and rows of weight zero.
    n_features : int
        Number of features.
    n_classes : int
        Number of classes; 0 for regression and custom losses.
    n_outputs : int
        Number of scores of each row; 1 for two classes.
    has_categories : bool
        Whether X has categorical features.
    n_estimators : int
        Number of rounds. Early stopping can end the fit before.
    learning_rate : float
        Factor of each tree.
    n_trial_rounds : int
        Number of rounds of the trial that chooses the learning rate; 0 for no trial.
    noise_shrinkage : float
        Strength that shrinks leaf values that may be noise; 0 for no shrinkage.
    max_features : int
        Number of features sampled for each round.
    sketch_outputs : int or None
        Number of random sums of the gradients that splits are searched by; None uses
        all outputs.
    sampling : {"goss", "mvs"} or None
        How the rows of a round are sampled; None uses all rows.
    top_rate, other_rate : float
        Fractions of the rows that "goss" uses: those with the largest gradients and a
        sample of the others. "mvs" samples the sum of both.
    early_stopping : bool
        Whether the fit stops if the validation score no longer improves.
    max_bins : int or None
        Maximum number of bins per feature of the default `candidates`; None if the
        estimator has other candidates.
    min_samples_leaf : int
        Minimum number of sampled rows in a leaf.
    l2_regularization : float
        L2 penalty of the leaf values.
    max_leaf_nodes : int or None
        Maximum number of leaves of a tree; None for no limit.
    trial_fraction : float
        Fraction of the rows that the trial holds out.
    """

    n_estimators: int
    learning_rate: float
    n_trial_rounds: int = field(repr=False)
    noise_shrinkage: float = field(repr=False)
    max_features: int
    sketch_outputs: int | None = field(repr=False)
    sampling: str | None = field(repr=False)
    top_rate: float = field(repr=False)
    other_rate: float = field(repr=False)
    early_stopping: bool = field(repr=False)
    max_bins: int | None = field(repr=False)
    # The plans of older model files lack these fields.
    min_samples_leaf: int = 20
    l2_regularization: float = field(default=0.1, repr=False)
    max_leaf_nodes: int | None = 31
    trial_fraction: float = field(default=0.0, repr=False)

    @property
    def subsample(self) -> float:
        """Fraction of the rows that a round samples; 1 if it uses all."""
        return RowSampling(self.sampling, self.top_rate, self.other_rate).subsample

    def __str__(self) -> str:
        """Describe the data, then the parameters as a constructor takes them."""
        target = f"{self.n_classes} classes"
        if self.n_classes == 0:
            target = f"{self.n_outputs} output{'s' if self.n_outputs > 1 else ''}"
        data = [f"{self.n_rows} training rows, {self.n_features} features, {target}"]
        if self.max_bins is not None:
            data.append(f"max_bins={self.max_bins}")
        if self.n_trial_rounds > 0:
            data.append(f"trial of {self.n_trial_rounds} rounds")
        return f"{', '.join(data)}; {self._describe_parameters()}"

    def _describe_parameters(self) -> str:
        sampling = f"sampling={self.sampling!r}"
        if self.sampling == "goss":
            rates = f"top_rate={self.top_rate:g}, other_rate={self.other_rate:g}"
            sampling = f"sampling=GOSS({rates})"
        elif self.sampling == "mvs":
            sampling += f", subsample={self.subsample:g}"
        options = f"sketch_outputs={self.sketch_outputs}"
        if self.n_classes > 0:  # regressors have no noise_shrinkage
            options += f", noise_shrinkage={self.noise_shrinkage:g}"
        return (
            f"n_estimators={self.n_estimators}, learning_rate={self.learning_rate:g}, "
            f"max_leaf_nodes={self.max_leaf_nodes}, max_features={self.max_features}, "
            f"{sampling}, min_samples_leaf={self.min_samples_leaf}, "
            f"l2_regularization={self.l2_regularization:g}, "
            f"early_stopping={self.early_stopping}, advanced=BoostingOptions({options})"
        )

    def after_trial(
        self,
        best_round: int,
        n_estimators: int | str,
        max_leaf_nodes: int | str | None,
    ) -> BoostingPlan:
        """Return the plan after a discarded trial, which was best after some rounds.

        `n_estimators` and `max_leaf_nodes` are the parameters of the estimator. All
        rounds together go about as far as those of the trial up to the best.
        """
        n_rounds = TRIAL_ROUNDS if n_estimators == "auto" else self.n_estimators
        has_small_trees = self.has_categories and max_leaf_nodes == "auto"
        factor = TRIAL_RATE_FACTOR[has_small_trees]
        rate = factor * self.learning_rate * best_round / n_rounds
        n_leaves = SMALL_TREE_LEAVES if has_small_trees else self.max_leaf_nodes
        return replace(
            self,
            n_estimators=n_rounds,
            learning_rate=min(max(rate, MIN_TRIAL_RATE), self.learning_rate),
            max_leaf_nodes=n_leaves,
        )

    def default_candidates(self) -> CentroidCandidates:
        """Make the candidates for an estimator that was given none."""
        n_bins = self.max_bins
        if n_bins is None or n_bins == auto_budget(self.n_features) + 1:
            return CentroidCandidates()
        return CentroidCandidates(max_bins=n_bins)


def make_plan(
    parameters: dict[str, Any],
    data: DataProfile,
    *,
    early_stopping: bool,
) -> BoostingPlan:
    """Resolve every "auto" of the parameters of an estimator and of its options."""
    defaults = data.find_defaults()

    def resolve(name: str, auto: Any) -> Any:
        return auto if parameters[name] == "auto" else parameters[name]

    n_rounds = int(resolve("n_estimators", defaults.n_estimators))
    shrinkage = float(resolve("noise_shrinkage", defaults.noise_shrinkage))
    is_tried = not early_stopping and needs_trial(parameters, data)
    n_tried = min(TRIAL_ROUNDS, int(MAX_TRIAL_FRACTION * n_rounds))
    sampling = choose_sampling(parameters, data)
    sketch = choose_sketch(parameters["sketch_outputs"], data.n_outputs)
    has_candidates = parameters["candidates"] is not None
    features = resolve("max_features", choose_features(data, sampling, sketch))
    return BoostingPlan(
        **vars(data),
        **sampling._asdict(),
        n_estimators=n_rounds,
        learning_rate=float(resolve("learning_rate", choose_rate(data, shrinkage))),
        n_trial_rounds=n_tried if is_tried else 0,
        trial_fraction=defaults.trial_fraction,
        noise_shrinkage=shrinkage,
        max_features=as_feature_count(features, data.n_features),
        sketch_outputs=sketch,
        early_stopping=early_stopping,
        max_bins=None if has_candidates else choose_bins(data, sketch),
        min_samples_leaf=int(resolve("min_samples_leaf", choose_leaf_rows(data))),
        l2_regularization=float(resolve("l2_regularization", defaults.l2)),
        max_leaf_nodes=resolve("max_leaf_nodes", defaults.max_leaf_nodes),
    )


def choose_leaf_rows(data: DataProfile) -> int:
    """Return the minimum number of rows in a leaf, which small tables can fill."""
    most = max(1, data.n_rows // MIN_FULL_LEAVES)
    return min(data.find_defaults().min_samples_leaf, most)


def choose_rate(data: DataProfile, noise_shrinkage: float) -> float:
    """Return the learning rate."""
    defaults = data.find_defaults()
    if noise_shrinkage == 0:
        return defaults.unshrunk_rate
    return defaults.categorical_rate if data.has_categories else defaults.learning_rate


def needs_trial(parameters: dict[str, Any], data: DataProfile) -> bool:
    """Return True if a trial chooses the learning rate.

    Without categorical features, it needs more than two classes and free rounds. A
    custom loss may hold arrays of all rows, and the trial uses a part of them.
    """
    if not isinstance(parameters.get("loss", ""), str):
        return False
    fewest, most = TRIAL_ROWS[data.has_categories]
    is_multiclass = data.kind == "multiclass" and parameters["n_estimators"] == "auto"
    return (
        parameters["learning_rate"] == "auto"
        and fewest <= data.n_rows < most
        and (data.has_categories or is_multiclass)
    )


def choose_sampling(parameters: dict[str, Any], data: DataProfile) -> RowSampling:
    """Return the row sampling of each round."""
    sampling, subsample = parameters["sampling"], parameters["subsample"]
    if isinstance(sampling, GOSS):
        return RowSampling("goss", float(sampling.top_rate), float(sampling.other_rate))
    if subsample != "auto":
        return RowSampling(None if subsample == 1 else "mvs", float(subsample), 0.0)
    if sampling == "auto":
        n_values = data.n_rows * (data.n_costly_classes - 1)
        is_large = data.n_rows >= MIN_SAMPLED_ROWS and n_values >= MIN_SAMPLED_VALUES
        sampling = "mvs" if is_large else None
    factor = max(MIN_SAMPLE_FACTOR, min(1.0, FULL_SAMPLE_ROWS / data.n_rows))
    return RowSampling(sampling, *(factor * rate for rate in SAMPLED_FRACTIONS))


def choose_sketch(sketch_outputs: int | str | None, n_outputs: int) -> int | None:
    """Return the number of random sums of the outputs; None to use all outputs."""
    if sketch_outputs == "auto":
        return SKETCH_OUTPUTS if n_outputs >= MIN_SKETCHED_OUTPUTS else None
    if sketch_outputs is None or int(sketch_outputs) >= n_outputs:
        return None
    return int(sketch_outputs)


def choose_features(
    data: DataProfile, sampling: RowSampling, sketch_outputs: int | None
) -> int:
    """Return the number of features sampled for each round."""
    n_features = data.n_features
    n_sampled = max(1.0, sampling.subsample * data.n_rows)
    affordable = int(
        MAX_ROUND_VALUES / (n_sampled * (sketch_outputs or data.n_outputs))
    )
    most = max(MIN_ROUND_FEATURES, 4 * math.isqrt(n_features), affordable)
    if n_features <= FEW_FEATURES:
        fraction = data.find_defaults().feature_fraction
        most = min(most, max(MIN_FEW_FEATURES, int(fraction * n_features)))
    return min(n_features, most)


def choose_bins(data: DataProfile, sketch_outputs: int | None) -> int:
    """Return the maximum number of bins per feature: fewer for wide histograms."""
    is_narrow = sketch_outputs is not None or data.kind == "regression"
    by_classes, fewest = THRESHOLDS[is_narrow]
    n_thresholds = max(fewest, by_classes // data.n_costly_classes)
    return min(n_thresholds, auto_budget(data.n_features)) + 1
