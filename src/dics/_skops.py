"""What skops has to be told about models of dics."""

from __future__ import annotations

# Types that a saved model may hold: numbers and settings, no code.
SKOPS_TRUSTED = [
    "dics._boosting_plan.BoostingPlan",
    "dics._leaf_rows.LeafRows",
    "dics._number_losses.NumberLoss",
    "dics.boosting.FastCGBMClassifier",
    "dics.boosting_regression.FastCGBMRegressor",
    "dics.candidates.CentroidCandidates",
    "dics.candidates.QuantileCandidates",
    "dics.dictionary.Dictionary",
    "dics.forest.CGForestClassifier",
    "dics.forest.CGForestRegressor",
    "dics.options.BoostingOptions",
    "dics.options.CategoricalOptions",
    "dics.options.ForestOptions",
    "dics.options.GOSS",
    "dics.options.TreeOptions",
    "dics.tree.CGTreeClassifier",
    "dics.tree.CGTreeRegressor",
    "dics.trees.Trees",
]
