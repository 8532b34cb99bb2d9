"""Rules for the "auto" parameters of boosting, with their measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dics._dictionary import auto_budget
from dics._growing.settings import as_feature_count
from dics.candidates import CentroidCandidates
from dics.options import GOSS

# Learning rates, and for two classes. Accuracy and log-loss less LightGBM's (defaults):
# five sets of two classes have +0.0034 and -0.010 after 200 rounds of 0.05, +0.0048 and
# -0.011 of 0.1, but magic's loss goes from +0.001 to +0.015. Four sets of more classes
# have +0.0042, +0.0078 and +0.0074 of accuracy after 300 rounds of 0.1, 0.15 and 0.2;
# with 0.2 helena_part is worse by 0.01 and 0.3 (2026-11).
AUTO_RATE = 0.15
AUTO_RATE_OF_TWO = 0.04
# For two classes and few rows: the log-loss of spambase (3,450 rows) is 0.124 instead
# of 0.141, of breast_cancer 0.126 instead of 0.134, with the same accuracy (2026-11).
AUTO_RATE_OF_FEW = 0.02
FEW_ROWS = 10_000
# Rounds, and for two classes; how far a leaf's sum must stand out of its noise, and the
# rates from so many rows on. Log-loss after 300 rounds without shrinkage (rates as
# above), after 100 with it, and LightGBM's: spambase 0.147, 0.137, 0.149, magic 0.294,
# 0.293, 0.288, adult 0.274, 0.276, 0.274, electricity 0.233, 0.231, 0.285,
# santander_satisfaction 0.137, 0.139, 0.136; of 1,000 rows of magic, electricity and
# spambase 0.43, 0.50, 0.187 and 0.36, 0.44, 0.167 (0.44, 0.49, 0.214). Of more classes
# it helps noisy sets (dry_bean 0.228 to 0.201) and harms clean ones (letter 0.117 to
# 0.234): 0 there (2026-11).
ROUNDS, ROUNDS_OF_TWO = 250, 100
NOISE_SHRINKAGE = 10.0
SHRUNK_RATES = ((0, 0.1), (10_000, 0.15), (20_000, 0.2))
# Their factor if X has categorical features: means of few rows are
# noisy columns, and sets of categories that a node chooses follow its noise. AUC of
# amazon_access (five splits) is 0.879 and 0.888 with it, of adult_categorical (five)
# 0.9286 and 0.9299, of eight generated sets between 0.001 less and 0.003 more. Numbers,
# without shrinkage, lose 0.02 of R2 and more in as many rounds (2026-11).
RATE_SHARE_OF_CATEGORIES = 0.5
# A trial for more than two classes: this many rounds without a share of the rows (of
# few, and of more), unless the loss of those no longer falls before. If it has been
# least after r rounds, the learning rate makes TRIED_ROUNDS worth r, and a bit more.
# Log-loss with 200 rounds of 0.15, with this rule, and LightGBM's: dry_bean 0.240,
# 0.195, 0.229, jannis_part 0.745, 0.716, 0.724, helena_part 2.88, 2.77, 34; of 3,000
# rows of otto 0.80, 0.68, 0.85, of 2,000 of connect_4 0.73, 0.61, 0.63 and of dry_bean
# 0.34, 0.24, 0.44. On letter, otto, digits and connect_4 the trial doesn't end early:
# its rounds are kept, and the others see all rows (2026-11).
TRIAL_ROUNDS, TRIED_ROUNDS = 100, 100
# The same with categorical features, for any target. At most this share of
# the rounds is tried, so that the others see all rows. R2 of mercedes (five splits) is
# 0.541 instead of 0.524, AUC of amazon_access 0.893 instead of 0.888; of 23 generated
# sets with mean targets for categories between 0.001 less and 0.11 more, in the mean
# 0.002 of AUC and 0.022 of R2. With few categories, the explained deviance of
# be_mtpl97 (three splits) is 0.0358 instead of 0.0340, of 30,000 of its rows 0.0275
# instead of 0.0112, and R2 of diamonds 0.9811 instead of 0.9813. Trials of all rounds
# lose up to 0.003 where they don't end early, and with 0.3 of the rounds
# be_mtpl97 has 0.0337 (2026-11).
TRIED_SHARE = 0.6
MOST_TRIED_OF_CATEGORIES = 200_000
TRIAL_SHARES = (0.2, 0.1)
TRIAL_PATIENCE = 10
TRIAL_ROWS = (1_000, 100_000)
LEAST_TRIED_RATE = 0.02
TRIED_RATE_FACTOR = 1.15
# Of numbers, and for few rows. R2 of 100 rounds of 31 leaves with 0.06, 0.1, 0.15, 0.2:
# california_housing 0.827, 0.836, 0.842, 0.842 (LightGBM 0.838), protein_casp 0.512,
# 0.546, 0.564, 0.582 (0.541), adult's age 0.481, 0.484, 0.484, 0.481 (0.485); of few
# rows cpu_act 0.9824, 0.9827, 0.9821, 0.9804 (0.9801), mercedes 0.563, 0.550, 0.536,
# 0.519 (0.549). Far tails want less: blog_feedback has 0.438, 0.429, 0.412 with 0.1,
# 0.12 and 0.15, california_housing 0.836, 0.840, 0.842. 63 leaves are as good after
# half the rounds, which take two thirds of the time (2026-11).
AUTO_RATE_OF_NUMBERS = 0.12
AUTO_RATE_OF_FEW_NUMBERS = 0.1
# Rows of a leaf, at least, and the l2 of its values.
LEAF_ROWS, L2 = 20, 0.1
# Leaves of a tree; how many where a trial has ended early with categorical features,
# and what takes the place of TRIED_RATE_FACTOR there. Means and sets of categories are
# noisy, and small trees follow the noise less, in 0.8 of the time. Score less that of
# 31 leaves with 16 leaves and a factor of 1.5, with 8 and 1.5, and with 8 and 2:
# mercedes (five splits) +0.005, +0.009, +0.007, 1,500 of its rows +0.010, +0.018,
# +0.017, amazon_access (five) -0.001, -0.002, -0.003, adult_categorical (six fits)
# 0.000, -0.001, 0.000, be_mtpl97 0.000, 0.000, 0.000, 30,000 of its rows +0.001,
# +0.002, +0.002, six generated sets in the mean +0.003, +0.004, +0.005. Products of
# numbers next to 1,000 categories of noise (six fits) have -0.001, -0.008 and 0.000:
# the steps of small trees must not be too small. Where the trial doesn't end, small
# trees lose: diamonds 0.003, sums over pairs of categories 0.04 of R2 with 8 leaves
# (2026-11).
LEAF_NODES, FEWER_LEAF_NODES = 31, 8
FEWER_LEAVES_RATE_FACTOR = 2.0
# Rows from which "auto" draws some of them for each round, and rows times outputs:
# with few outputs other work outweighs what drawing saves. Measured, 300 rounds against
# all rows: adult (37,000 rows, 2 classes) loses 0.002 of accuracy for a fifth of the
# time; otto (46,000, 9 classes) loses 0.001 and takes less than half (2026-11).
SAMPLED_ROWS = 20_000
SAMPLED_NUMBERS = 100_000
# Shares of the rows that "auto" draws, those with the longest gradients and others, of
# up to so many rows; of more rows less, but never less than a third. Of a million rows
# a tenth is drawn: a round takes half the time, and splits differ more from round to
# round. Log-loss and AUC of the 1,000,000 x 28 of `bench_tables` are 0.4329 and 0.8799
# instead of 0.4341 and 0.8788; two classes, five and numbers that depend on products of
# features, without noise, all have better scores too (2026-11).
AUTO_TOP, AUTO_OTHERS = 0.2, 0.1
ALL_DRAWN_ROWS = 333_333
LEAST_DRAWN = 1 / 3
# Features that "auto" draws for each round, at least; how many there must be for it to
# draw half of them for few rows: not so few that a tree could no longer join any two,
# not so many that the few that tell something would often be missed.
AUTO_FEATURES = 100
LEAST_HALVED, MOST_HALVED = 8, 64
# Outputs from which "auto" searches splits by a sketch of them, and of how many numbers
# (with the cells of hessian and rows they fill a register). 300 rounds with all outputs
# and with a sketch, seconds and log-loss: helena_part (100 classes) 8.7, 3.12 and 1.9,
# 2.93; its 40 commonest classes 4.7, 2.36 and 1.4, 2.26; 50 generated classes 4.5, 0.83
# and 1.4, 0.90 (LightGBM 21, 1.49). Of fewer outputs less time is saved and more is
# lost: letter (26) 1.2, 0.095 and 0.8, 0.103, otto (9) 1.8, 0.473 and 1.4, 0.486
# (2026-11).
SKETCHED_OUTPUTS = 32
SKETCH_NUMBERS = 6
# Numbers of all features, rows and outputs that a round may add up for its first node.
ROUND_NUMBERS = 20e6
# Thresholds of each feature times classes, and at least how many. Histograms are narrow
# with a sketch, and those of numbers, which have one hessian.
NARROW_THRESHOLDS, LEAST_NARROW = 8192, 32
THRESHOLDS_BY_CLASSES, LEAST_THRESHOLDS = 1280, 64


@dataclass(frozen=True)
class BoostingPlan:
    """The parameters of a boosting fit with every "auto" resolved.

    Attributes
    ----------
    n_rows : int
        Training rows, which the rules look at: without rows that were held out and
        without rows of weight zero.
    n_features : int
    n_classes : int
        0 for a regressor.
    n_outputs : int
        Scores of each row.
    n_estimators : int
    learning_rate : float
    n_trial_rounds : int
        Rounds of the trial that chooses the learning rate; 0 for none.
    noise_shrinkage : float
    max_features : int
        Features drawn for each round.
    sketch_outputs : int or None
        Random sums of a row's gradients that splits are searched by; None uses all
        outputs.
    sampling : {"goss", "mvs"} or None
        How the rows of a round are drawn; None takes all.
    top_rate, other_rate : float
        Fractions of the rows that "goss" uses; "mvs" samples the sum of both.
    early_stopping : bool
    max_bins : int or None
        Maximum number of bins per feature of the default `candidates`; None if another
        source was given.
    min_samples_leaf : int
    l2_regularization : float
    max_leaf_nodes : int or None
    """

    n_rows: int
    n_features: int
    n_classes: int
    n_outputs: int
    n_estimators: int
    learning_rate: float
    n_trial_rounds: int
    noise_shrinkage: float
    max_features: int
    sketch_outputs: int | None
    sampling: str | None
    top_rate: float
    other_rate: float
    early_stopping: bool
    max_bins: int | None
    # Files of models have plans without these, from before there were rules for them.
    min_samples_leaf: int = LEAF_ROWS
    l2_regularization: float = L2
    max_leaf_nodes: int | None = LEAF_NODES

    def __str__(self) -> str:
        """Describe the plan in one line."""
        thresholds = (
            "thresholds from the given candidates"
            if self.max_bins is None
            else f"up to {self.max_bins} bins per feature"
        )
        return (
            f"{self.n_rows} training rows, {self.n_features} features, "
            f"{self._describe_targets()}; {self.n_estimators} rounds, "
            f"learning rate {self.learning_rate:g}{self._describe_trial()}, "
            f"{self.max_features} features a round, "
            f"{self._describe_sketch()}"
            f"row sampling {self._describe_sampling()}, {thresholds}, leaves of "
            f"{self.min_samples_leaf} rows, l2 {self.l2_regularization:g}, early "
            f"stopping {'on' if self.early_stopping else 'off'}"
        )

    def _describe_trial(self) -> str:
        if self.n_trial_rounds == 0:
            return ""
        return f" (tried for {self.n_trial_rounds} rounds)"

    def after_trial(
        self, best_round: int, asked: int | str, *, takes_fewer_leaves: bool = False
    ) -> BoostingPlan:
        """Return the plan where a trial was best after some rounds, then worse.

        `asked` are the rounds that were asked for, or "auto"; `takes_fewer_leaves` is
        whether trees may be smaller now.
        """
        n_rounds = TRIED_ROUNDS if asked == "auto" else self.n_estimators
        factor = FEWER_LEAVES_RATE_FACTOR if takes_fewer_leaves else TRIED_RATE_FACTOR
        rate = factor * self.learning_rate * best_round / n_rounds
        return replace(
            self,
            n_estimators=n_rounds,
            learning_rate=min(max(rate, LEAST_TRIED_RATE), self.learning_rate),
            max_leaf_nodes=(
                FEWER_LEAF_NODES if takes_fewer_leaves else self.max_leaf_nodes
            ),
        )

    @property
    def subsample(self) -> float:
        """Fraction of the rows that a round samples; 1 if it uses all."""
        if self.sampling is None:
            return 1.0
        return min(1.0, self.top_rate + self.other_rate)

    def _describe_sampling(self) -> str:
        if self.sampling is None:
            return "none"
        return f"{self.sampling} of {self.subsample:.3g}"

    def _describe_sketch(self) -> str:
        if self.sketch_outputs is None:
            return ""
        return f"splits by a sketch of {self.sketch_outputs} numbers, "

    def _describe_targets(self) -> str:
        if self.n_classes > 0:
            return f"{self.n_classes} classes"
        return f"{self.n_outputs} output{'s' if self.n_outputs > 1 else ''}"

    def default_candidates(self) -> CentroidCandidates:
        """Make the source of thresholds for an estimator that was given none."""
        n_bins = self.max_bins
        if n_bins is None or n_bins == auto_budget(self.n_features) + 1:
            return CentroidCandidates()
        return CentroidCandidates(max_bins=n_bins)


def make_plan(
    parameters: dict[str, Any],
    *,
    n_rows: int,
    n_features: int,
    n_classes: int,
    n_outputs: int,
    early_stopping: bool,
    has_validation: bool = False,
    has_categories: bool = False,
) -> BoostingPlan:
    """Resolve every "auto" among the parameters of an estimator.

    Parameters
    ----------
    parameters : dict
        What ``get_params`` of the estimator and of its advanced options return.
    n_rows : int
        Number of training rows.
    n_features, n_classes : int
    n_outputs : int
        Scores of each row.
    early_stopping : bool
        Whether the fit stops early, which decides about the training rows.
    has_validation : bool, default=False
        Whether `fit` was given validation rows.
    has_categories : bool, default=False
        Whether X has categorical features.
    """
    rate = parameters["learning_rate"]
    n_rounds = parameters["n_estimators"]
    is_tried = rate == "auto" and not (early_stopping or has_validation)
    is_tried = is_tried and needs_trial(
        n_rows, n_classes, has_categories, is_free=n_rounds == "auto"
    )
    if n_rounds == "auto":
        n_rounds = ROUNDS if n_classes > 2 else ROUNDS_OF_TWO
    shrinkage = parameters["noise_shrinkage"]
    if shrinkage == "auto":
        shrinkage = NOISE_SHRINKAGE if n_classes in (1, 2) else 0.0
    if rate == "auto":
        rate = auto_rate(n_rows, n_classes, shrinkage)
        if has_categories and n_classes == 2 and shrinkage > 0:
            rate *= RATE_SHARE_OF_CATEGORIES
    # Two classes are one output, and cost as much as one number.
    n_like = n_classes or n_outputs + 1
    sampling, shares = sampled_shares(
        parameters["sampling"], parameters["subsample"], n_rows, n_like
    )
    sketch = parameters["sketch_outputs"]
    if sketch == "auto":
        sketch = SKETCH_NUMBERS if n_outputs >= SKETCHED_OUTPUTS else None
    if sketch is not None and sketch >= n_outputs:
        sketch = None
    max_features = parameters["max_features"]
    if max_features == "auto":
        n_drawn = max(1.0, (min(1.0, sum(shares)) if sampling else 1.0) * n_rows)
        n_numbers = n_drawn * (sketch or n_outputs)
        max_features = auto_features(n_rows, n_features, n_numbers)
    max_features = as_feature_count(max_features, n_features)
    leaf_rows, l2 = parameters["min_samples_leaf"], parameters["l2_regularization"]
    leaf_nodes = parameters["max_leaf_nodes"]
    return BoostingPlan(
        n_rows=n_rows,
        n_features=n_features,
        n_classes=n_classes,
        n_outputs=n_outputs,
        n_estimators=int(n_rounds),
        learning_rate=float(rate),
        n_trial_rounds=trial_rounds(n_rounds) if is_tried else 0,
        noise_shrinkage=float(shrinkage),
        max_features=max_features,
        sketch_outputs=sketch,
        sampling=sampling,
        top_rate=shares[0],
        other_rate=shares[1],
        early_stopping=early_stopping,
        max_bins=(
            auto_thresholds(
                n_features, n_like, is_narrow=sketch is not None or n_classes == 0
            )
            + 1
            if parameters["candidates"] is None
            else None
        ),
        min_samples_leaf=LEAF_ROWS if leaf_rows == "auto" else int(leaf_rows),
        l2_regularization=L2 if l2 == "auto" else float(l2),
        max_leaf_nodes=LEAF_NODES if leaf_nodes == "auto" else leaf_nodes,
    )


def auto_rate(n_rows: int, n_classes: int, shrinkage: float) -> float:
    """Learning rate; larger steps where those that may be noise are shrunk."""
    if n_classes == 0:
        return AUTO_RATE_OF_FEW_NUMBERS if n_rows < FEW_ROWS else AUTO_RATE_OF_NUMBERS
    if n_classes > 2:
        return AUTO_RATE
    if shrinkage > 0:
        steps = [rate for least, rate in SHRUNK_RATES if n_rows >= least]
        return steps[-1]
    return AUTO_RATE_OF_FEW if n_rows < FEW_ROWS else AUTO_RATE_OF_TWO


def needs_trial(
    n_rows: int, n_classes: int, has_categories: bool, *, is_free: bool
) -> bool:
    """Tell whether a trial chooses the learning rate.

    Few rows held out would tell nothing; of many, so few rounds don't fit the noise,
    and the copies of a trial would take memory. Without categories, more than two
    classes have a trial if their rounds are free as well.
    """
    fewest, most = TRIAL_ROWS
    if has_categories:
        return fewest <= n_rows < MOST_TRIED_OF_CATEGORIES
    return fewest <= n_rows < most and n_classes > 2 and is_free


def trial_rounds(n_rounds: int) -> int:
    """Return the rounds of a trial for so many rounds in all."""
    return min(TRIAL_ROUNDS, int(TRIED_SHARE * n_rounds))


def trial_share(n_rows: int) -> float:
    """Share of the rows that a trial holds out."""
    return TRIAL_SHARES[0] if n_rows < FEW_ROWS else TRIAL_SHARES[1]


def sampled_shares(
    sampling: Any, subsample: Any, n_rows: int, n_classes: int
) -> tuple[str | None, tuple[float, float]]:
    """Return the kind of row sampling, and its shares of the rows."""
    if isinstance(sampling, GOSS):
        return "goss", (float(sampling.top_rate), float(sampling.other_rate))
    if subsample != "auto":
        return None if subsample == 1 else "mvs", (float(subsample), 0.0)
    if sampling == "auto":
        sampling = auto_sampling(n_rows, n_classes)
    return sampling, auto_shares(n_rows)


def auto_sampling(n_rows: int, n_classes: int) -> str | None:
    """Row sampling."""
    costly = n_rows * (n_classes - 1) >= SAMPLED_NUMBERS
    return "mvs" if n_rows >= SAMPLED_ROWS and costly else None


def auto_shares(n_rows: int) -> tuple[float, float]:
    """Shares of the rows that are drawn, those with long gradients and others."""
    factor = max(LEAST_DRAWN, min(1.0, ALL_DRAWN_ROWS / n_rows))
    return AUTO_TOP * factor, AUTO_OTHERS * factor


def auto_features(n_rows: int, n_features: int, n_numbers: float) -> int:
    """Features drawn for each round: all if few, and more of more.

    At least as many as a round can have without being slow (`n_numbers` is what it adds
    up for each): where 5 of 1,000 features are informative and rows are 3,000, drawing
    126 of them costs 10 points (2026-11).

    CIFAR-10 (3,072 features), 200 rounds: 0.509 in 2.9 s with 100 a round, 0.518 in
    6.9 s with 221 (this rule) and 0.519 in 11 s with 384. With few rows, half of the
    features make the trees differ more: accuracy and log-loss of wine go from 0.956 and
    0.132 to 0.969 and 0.084, of digits from 0.969 and 0.105 to 0.970 and 0.092; but
    electricity (34,000 rows) loses a point (2026-11).
    """
    affordable = int(ROUND_NUMBERS / n_numbers)
    most = max(AUTO_FEATURES, 4 * math.isqrt(n_features), affordable)
    if n_rows < FEW_ROWS and n_features <= MOST_HALVED:
        most = min(most, max(LEAST_HALVED, n_features // 2))
    return min(n_features, most)


def auto_thresholds(n_features: int, n_classes: int, *, is_narrow: bool) -> int:
    """Thresholds of each feature; fewer for many classes, whose histograms are wide.

    helena_part (100 classes), 100 rounds: accuracy and log-loss 0.343 and 2.793 with
    254 thresholds, 0.345 and 2.783 with 81, in half the time. dry_bean (7 classes) has
    a log-loss of 0.191 with 254 in 0.34 s, 0.194 with 128 in 0.26 s, jannis_part (4)
    0.718 and 0.717; a round of ten classes (5,000 x 50) takes half the time (2026-11).
    """
    by_classes, least = THRESHOLDS_BY_CLASSES, LEAST_THRESHOLDS
    if is_narrow:
        by_classes, least = NARROW_THRESHOLDS, LEAST_NARROW
    return min(max(least, by_classes // n_classes), auto_budget(n_features))
