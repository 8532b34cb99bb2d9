"""Rules that resolve the "auto" parameters of boosting.

A `DataProfile` describes the training data, and `make_plan` looks up the values for it.
Comments give the measurements that chose the values, all of November 2026. They name
the data sets of the benchmarks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from typing import Any, NamedTuple

from dics._dictionary import auto_budget
from dics._estimator.arguments import as_feature_count
from dics.candidates import CentroidCandidates
from dics.options import GOSS


class Quality(NamedTuple):
    """How much time "auto" spends."""

    n_trials: int  # fits of a part of the rows, which find the rounds
    class_rate: float  # learning rate of classification
    regression_rate: float
    patience: float  # in rounds, times the learning rate
    max_rounds: int  # of a trial
    row_rounds: float  # largest product of rows and rounds


# Changes of the mean loss, of its median and of the CPU time on 64 tables of the suite
# with up to 30,000 rows, against 3 trials with a rate of 0.1: one trial of 0.15
# +6.3 %, +2.2 %, 0.27x; 2 trials +1.1 %, +0.2 %, 0.69x; 8 trials -0.2 %, -0.1 %, 2.5x.
# Rates of classification: 0.125 +1.9 %, +0.5 %, 0.84x; 0.15 +3.1 %, +1.6 %. Rates of
# regression: 0.05 (8 trials) -0.4 %, -0.3 %, 5x; 0.125 0.0 %, 0.0 %, 0.83x; 0.15
# +0.3 %, +0.1 %, 0.66x. Patience of 3.0 instead of 2.0: -0.5 % (most of it on
# car_evaluation), 0.0 %, 1.16x; of one trial -0.6 %, -0.2 %, 1.16x.
QUALITIES = {
    "fast": Quality(1, 0.15, 0.15, 3.0, 500, 12.5e6),
    "balanced": Quality(3, 0.1, 0.12, 2.0, 1000, 50e6),
    "best": Quality(8, 0.1, 0.05, 2.0, 2000, 100e6),
}
# A trial holds out this fraction of the rows. Without enough rows, the loss of the
# held-out rows is too noisy; without enough rounds, it does not rise.
TRIAL_FRACTION = 0.15
MIN_TRIAL_ROWS, MIN_TRIAL_ROUNDS = 200, 200
# Rounds and learning rate without trials.
UNTRIED_ROUNDS, UNTRIED_RATE = 100, 0.15


class Defaults(NamedTuple):
    """Values for one kind of target, from `min_rows` training rows on."""

    kind: str
    min_rows: int
    max_leaf_nodes: int
    min_samples_leaf: int
    l2_regularization: float
    noise_shrinkage: float
    subsample: float
    # Fractions of the features, of each trial in turn.
    max_features: tuple[float, ...]


# The last row that fits the data is used. Changes of the mean loss and of its median on
# 64 tables of the suite with other values for all kinds: 8 leaves +1.3 %, +0.3 %; 31
# leaves +1.1 %, +0.2 %; leaves of 1 row +2.3 %, +0.3 %; all features in each trial
# +1.2 %, +0.2 %; 0.4 of the features +1.4 %, 0.0 %; 0.8 of the rows +1.4 %, +0.3 %; 0.3
# of the rows +1.0 %, +0.1 %; two classes without noise shrinkage +2.5 %, 0.0 %. From
# 20,000 rows on, more leaves help most tables. 16 of them cost 12 % (3 tables of
# regression), 0.4 % (4 of two classes), 20 % (mnist), 9 % (connect_4), 2 % (otto), and
# gain 1 % (jannis_part).
DEFAULTS = (
    Defaults("regression", 0, 16, 3, 1.0, 0.0, 0.5, (1.0, 0.7, 0.7)),
    Defaults("regression", 20_000, 63, 3, 1.0, 0.0, 0.5, (1.0, 0.7, 0.7)),
    Defaults("binary", 0, 16, 5, 0.1, 3.0, 0.5, (0.7,)),
    Defaults("binary", 20_000, 31, 5, 0.1, 3.0, 0.5, (0.7,)),
    Defaults("multiclass", 0, 16, 20, 0.1, 0.0, 0.5, (0.7,)),
    Defaults("multiclass", 20_000, 31, 20, 0.1, 0.0, 0.5, (0.7,)),
)

# The paper does not state the learning rate. Its models, which compute leaf values from
# the sampled rows, use these below 10,000 training rows and from there on, and below
# half of up to 64 features.
PAPER_RATES = {
    "regression": (0.1, 0.12),
    "binary": (0.02, 0.04),
    "multiclass": (0.15, 0.15),
}
MANY_PAPER_ROWS, FEW_PAPER_FEATURES = 10_000, 64

# Rows of a leaf, as a divisor of the rows of small tables. Without it, 30 rows have no
# split at all. With leaves of 20 rows, a fifth, a tenth and a twentieth of 30 rows, the
# log-loss is 1.84, 1.10, 1.16 and 1.17 (dry_bean), 0.56, 0.49, 0.51 and 0.50 (adult);
# of 100 rows 2.59, 2.59, 2.30 and 2.23 (letter), and 0.529, 0.529, 0.549 and 0.582
# (electricity); R2 of 100 rows 0.50, 0.50, 0.54 and 0.53 (california_housing).
MIN_FULL_LEAVES = 10
MIN_PATIENCE = 10

# The fraction of sampled rows falls from FULL_SAMPLE_ROWS on, down to a third. A round
# of a million rows takes half the time then, and the log-loss is 0.4329 instead of
# 0.4341 (1,000,000 x 28).
FULL_SAMPLE_ROWS = 333_333
MIN_SAMPLE_FACTOR = 1 / 3
GOSS_RATES = (0.2, 0.1)  # if sampling="goss"

# Features that a round samples at least. CIFAR-10 (3,072 features) has an accuracy of
# 0.509 in 2.9 s with 100 of them, 0.518 in 6.9 s with 221 and 0.519 in 11 s with 384.
MIN_ROUND_FEATURES = 100
# Values that a round can sum up without being slow: sampled rows times features times
# outputs. If 5 of 1,000 features are informative, 3,000 rows and 126 sampled features
# cost 0.1 of accuracy.
MAX_ROUND_VALUES = 20e6
# A fraction of the features keeps at least this number.
MIN_FEW_FEATURES = 8

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
        """Kind of the target: "regression", "binary" or "multiclass"."""
        if self.n_classes == 0:
            return "regression"
        return "binary" if self.n_classes <= 2 else "multiclass"

    @property
    def n_costly_classes(self) -> int:
        """Number of classes that take as much time as the outputs."""
        return self.n_classes or self.n_outputs + 1

    def find_defaults(self) -> Defaults:
        """Return the row of `DEFAULTS` for this data.

        Returns
        -------
        defaults : Defaults
            The last row that fits the kind of the target and the number of rows.
        """
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
    noise_shrinkage : float
        Strength that shrinks leaf values that may be noise; 0 for no shrinkage.
    max_features : int
        Number of features sampled for each round.
    sketch_outputs : int or None
        Number of random sums of the gradients that splits are searched by; None uses
        all outputs.
    sampling : {"goss", "mvs"} or None
        How the rows of a round are sampled; None uses all rows.
    top_rate : float
        Fraction of the rows that "goss" uses because of their large gradients. "mvs"
        samples `top_rate` plus `other_rate` of the rows.
    other_rate : float
        Fraction of the rows that "goss" samples from the others.
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
    trial_features : tuple of int
        Number of features sampled for each round of each trial; empty without trials.
    trial_fraction : float
        Fraction of the rows that each trial holds out.
    n_iter_no_change : int
        Rounds without a better score after which a trial or early stopping ends.
    subsample : float
        Fraction of the rows that a round samples; 1 if it uses all.
    n_trials : int
        Number of trials that find the number of rounds; 0 for none.
    kind : str
        Kind of the target: "regression", "binary" or "multiclass".
    n_costly_classes : int
        Number of classes that take as much time as the outputs.

    See Also
    --------
    CGBoostingClassifier : Its attribute `plan_` is such an object.
    CGBoostingRegressor : Its attribute `plan_` is such an object.
    TreePlan : Plan of a tree or forest.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGBoostingClassifier
    >>> model = CGBoostingClassifier(n_estimators=20, random_state=0)
    >>> model.fit(*load_iris(return_X_y=True)).plan_.max_leaf_nodes
    16
    """

    n_estimators: int
    learning_rate: float
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
    trial_features: tuple[int, ...] = field(default=(), repr=False)
    trial_fraction: float = field(default=0.0, repr=False)
    n_iter_no_change: int = field(default=10, repr=False)

    @property
    def subsample(self) -> float:
        """Fraction of the rows that a round samples; 1 if it uses all."""
        return RowSampling(self.sampling, self.top_rate, self.other_rate).subsample

    @property
    def n_trials(self) -> int:
        """Number of trials that find the number of rounds; 0 for none."""
        return len(self.trial_features)

    def __str__(self) -> str:
        """Describe the data, then the parameters as a constructor takes them."""
        target = f"{self.n_classes} classes"
        if self.n_classes == 0:
            target = f"{self.n_outputs} output{'s' if self.n_outputs > 1 else ''}"
        data = [f"{self.n_rows} training rows, {self.n_features} features, {target}"]
        if self.max_bins is not None:
            data.append(f"max_bins={self.max_bins}")
        if self.n_trials > 0:
            data.append(f"{self.n_trials} trial{'s' if self.n_trials > 1 else ''}")
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

    def after_trials(self, n_rounds: int) -> BoostingPlan:
        """Return the plan of a fit that repeats the rounds of all trials.

        Parameters
        ----------
        n_rounds : int
            Number of rounds of all trials.

        Returns
        -------
        plan : BoostingPlan
            The plan with this number of rounds, and with the learning rate divided by
            the number of trials.
        """
        return replace(
            self,
            n_estimators=n_rounds,
            learning_rate=self.learning_rate / self.n_trials,
        )

    def default_candidates(self) -> CentroidCandidates:
        """Make the candidates for an estimator that was given none.

        Returns
        -------
        candidates : CentroidCandidates
            Candidates with at most `max_bins` bins per feature.
        """
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
    quality = QUALITIES[parameters["quality"]]
    auto = auto_values(parameters, data, quality)
    has_trials = not early_stopping and can_try(parameters, data, auto["n_estimators"])
    if not has_trials and not early_stopping:
        auto["n_estimators"] = UNTRIED_ROUNDS
        if parameters["n_estimators"] == "auto":
            auto["learning_rate"] = max(auto["learning_rate"], UNTRIED_RATE)

    def resolve(name: str) -> Any:
        return auto[name] if parameters[name] == "auto" else parameters[name]

    sampling = choose_sampling(parameters, data, auto["subsample"])
    sketch = choose_sketch(parameters["sketch_outputs"], data.n_outputs)

    def features_of(fraction: float) -> int:
        given = parameters["max_features"]
        if given == "auto":
            given = choose_features(data, sampling, sketch, fraction)
        return as_feature_count(given, data.n_features)

    trials = islice(cycle(auto["max_features"]), quality.n_trials if has_trials else 0)
    rate = float(resolve("learning_rate"))
    patience = parameters["n_iter_no_change"]
    if patience == "auto":
        patience = max(MIN_PATIENCE, round(quality.patience / rate))
    has_candidates = parameters["candidates"] is not None
    return BoostingPlan(
        **vars(data),
        **sampling._asdict(),
        n_estimators=int(resolve("n_estimators")),
        learning_rate=rate,
        noise_shrinkage=float(resolve("noise_shrinkage")),
        max_features=features_of(auto["max_features"][0]),
        sketch_outputs=sketch,
        early_stopping=early_stopping,
        max_bins=None if has_candidates else choose_bins(data, sketch),
        min_samples_leaf=int(resolve("min_samples_leaf")),
        l2_regularization=float(resolve("l2_regularization")),
        max_leaf_nodes=resolve("max_leaf_nodes"),
        trial_features=tuple(map(features_of, trials)),
        trial_fraction=TRIAL_FRACTION if has_trials else 0.0,
        n_iter_no_change=int(patience),
    )


def can_try(parameters: dict[str, Any], data: DataProfile, n_rounds: int) -> bool:
    """Return True if trials of up to `n_rounds` can find the number of rounds.

    A custom loss may hold arrays of all rows, and trials use a part of them.
    """
    return (
        parameters["n_estimators"] == "auto"
        and isinstance(parameters["loss"], str)
        and parameters["reuse_splits"]
        and data.n_rows >= MIN_TRIAL_ROWS
        and n_rounds >= MIN_TRIAL_ROUNDS
    )


def auto_values(
    parameters: dict[str, Any], data: DataProfile, quality: Quality
) -> dict[str, Any]:
    """Return the value of every "auto" that the core uses as it is."""
    defaults = data.find_defaults()
    auto = {
        **defaults._asdict(),
        "n_estimators": int(min(quality.max_rounds, quality.row_rounds / data.n_rows)),
        "learning_rate": quality.class_rate
        if data.n_classes
        else quality.regression_rate,
        "min_samples_leaf": min(
            defaults.min_samples_leaf, max(1, data.n_rows // MIN_FULL_LEAVES)
        ),
    }
    if parameters["leaf_values"] == "sample" and isinstance(
        parameters["sampling"], GOSS
    ):
        has_many = data.n_rows >= MANY_PAPER_ROWS
        auto["learning_rate"] = PAPER_RATES[data.kind][has_many]
        is_sampled = not has_many and data.n_features <= FEW_PAPER_FEATURES
        auto["max_features"] = (0.5 if is_sampled else 1.0,)
    return auto


def choose_sampling(
    parameters: dict[str, Any], data: DataProfile, fraction: float
) -> RowSampling:
    """Return the row sampling of each round; "auto" samples this fraction."""
    sampling, subsample = parameters["sampling"], parameters["subsample"]
    if isinstance(sampling, GOSS):
        return RowSampling("goss", float(sampling.top_rate), float(sampling.other_rate))
    if subsample != "auto":
        return RowSampling(None if subsample == 1 else "mvs", float(subsample), 0.0)
    factor = max(MIN_SAMPLE_FACTOR, min(1.0, FULL_SAMPLE_ROWS / data.n_rows))
    if sampling == "goss":
        return RowSampling("goss", *(factor * rate for rate in GOSS_RATES))
    return RowSampling(sampling and "mvs", factor * fraction, 0.0)


def choose_sketch(sketch_outputs: int | str | None, n_outputs: int) -> int | None:
    """Return the number of random sums of the outputs; None to use all outputs."""
    if sketch_outputs == "auto":
        return SKETCH_OUTPUTS if n_outputs >= MIN_SKETCHED_OUTPUTS else None
    if sketch_outputs is None or int(sketch_outputs) >= n_outputs:
        return None
    return int(sketch_outputs)


def choose_features(
    data: DataProfile,
    sampling: RowSampling,
    sketch_outputs: int | None,
    fraction: float,
) -> int:
    """Return the number of features sampled for each round, at most a fraction."""
    n_features = data.n_features
    n_sampled = max(1.0, sampling.subsample * data.n_rows)
    affordable = int(
        MAX_ROUND_VALUES / (n_sampled * (sketch_outputs or data.n_outputs))
    )
    most = max(MIN_ROUND_FEATURES, 4 * math.isqrt(n_features), affordable)
    few = max(MIN_FEW_FEATURES, int(fraction * n_features))
    return min(n_features, most, few)


def choose_bins(data: DataProfile, sketch_outputs: int | None) -> int:
    """Return the maximum number of bins per feature: fewer for wide histograms."""
    is_narrow = sketch_outputs is not None or data.kind == "regression"
    by_classes, fewest = THRESHOLDS[is_narrow]
    n_thresholds = max(fewest, by_classes // data.n_costly_classes)
    return min(n_thresholds, auto_budget(data.n_features)) + 1
