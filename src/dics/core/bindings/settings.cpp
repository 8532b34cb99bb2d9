// Settings cross the border as objects with named fields, 0 or off unless they are set.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "boost/boost.hpp"
#include "candidates/kmeans.hpp"
#include "grow/grow.hpp"
#include "objective/objective.hpp"

namespace dics {

void bind_settings(nb::module_& m) {
    nb::enum_<Criterion>(m, "Criterion")
        .value("gini", Criterion::gini)
        .value("entropy", Criterion::entropy)
        .value("squared_error", Criterion::squared_error)
        .value("poisson", Criterion::poisson)
        .value("absolute_error", Criterion::absolute_error)
        .value("binomial", Criterion::binomial);
    nb::enum_<RegressionLoss>(m, "RegressionLoss")
        .value("squared_error", RegressionLoss::squared)
        .value("absolute_error", RegressionLoss::absolute)
        .value("huber", RegressionLoss::huber)
        .value("poisson", RegressionLoss::poisson)
        .value("gamma", RegressionLoss::gamma);
    nb::enum_<FeatureSampling>(m, "FeatureSampling")
        .value("none", FeatureSampling::none)
        .value("tree", FeatureSampling::tree)
        .value("node", FeatureSampling::node);
    nb::enum_<Splitter>(m, "Splitter")
        .value("best", Splitter::best)
        .value("random", Splitter::random);
    nb::enum_<RowSampling>(m, "RowSampling")
        .value("none", RowSampling::none)
        .value("goss", RowSampling::goss)
        .value("mvs", RowSampling::mvs);
    nb::class_<NodeLimits>(m, "NodeLimits")
        .def(nb::init<>())
        .def_rw("max_depth", &NodeLimits::max_depth)
        .def_rw("min_samples_split", &NodeLimits::min_samples_split)
        .def_rw("min_samples_leaf", &NodeLimits::min_samples_leaf)
        .def_rw("max_leaf_nodes", &NodeLimits::max_leaf_nodes)
        .def_rw("reuse_splits", &NodeLimits::reuse_splits);
    nb::class_<MomentScale>(m, "MomentScale")
        .def(nb::init<>())
        .def_rw("centers", &MomentScale::centers)
        .def_rw("scales", &MomentScale::scales);
    nb::class_<SetLimits>(m, "SetLimits")
        .def(nb::init<>())
        .def_rw("min_rows", &SetLimits::min_rows)
        .def_rw("max_codes", &SetLimits::max_codes);
    nb::class_<CategorySettings>(m, "CategorySettings")
        .def(nb::init<>())
        .def_rw("categorical", &CategorySettings::categorical)
        .def_rw("smooth", &CategorySettings::smooth)
        .def_rw("charge", &CategorySettings::charge)
        .def_rw("set_limits", &CategorySettings::set_limits);
    nb::class_<GrowSettings>(m, "GrowSettings")
        .def(nb::init<>())
        .def_rw("criterion", &GrowSettings::criterion)
        .def_rw("n_classes", &GrowSettings::n_classes)
        .def_rw("limits", &GrowSettings::limits)
        .def_rw("min_weight_fraction_leaf", &GrowSettings::min_weight_fraction_leaf)
        .def_rw("min_impurity_decrease", &GrowSettings::min_impurity_decrease)
        .def_rw("splitter", &GrowSettings::splitter)
        .def_rw("max_candidates", &GrowSettings::max_candidates)
        .def_rw("renew_thresholds", &GrowSettings::renew_thresholds)
        .def_rw("renew_rows", &GrowSettings::renew_rows)
        .def_rw("keeps_leaf_rows", &GrowSettings::keeps_leaf_rows)
        .def_rw("monotonic", &GrowSettings::monotonic)
        .def_rw("scale", &GrowSettings::scale, nb::arg().none())
        .def_rw("categories", &GrowSettings::categories)
        .def_rw("seed", &GrowSettings::seed);
    nb::class_<ForestSettings>(m, "ForestSettings")
        .def(nb::init<>())
        .def_rw("tree", &ForestSettings::tree)
        .def_rw("first_tree", &ForestSettings::first_tree)
        .def_rw("n_trees", &ForestSettings::n_trees)
        .def_rw("sampling", &ForestSettings::sampling)
        .def_rw("max_features", &ForestSettings::max_features)
        .def_rw("n_draws", &ForestSettings::n_draws)
        .def_rw("balance_each_tree", &ForestSettings::balance_each_tree);
    nb::class_<RowDraw>(m, "RowDraw")
        .def(nb::init<>())
        .def_rw("sampling", &RowDraw::sampling)
        .def_rw("top_rate", &RowDraw::top_rate)
        .def_rw("other_rate", &RowDraw::other_rate);
    nb::class_<BoostSettings>(m, "BoostSettings")
        .def(nb::init<>())
        .def_rw("learning_rate", &BoostSettings::learning_rate)
        .def_rw("limits", &BoostSettings::limits)
        .def_rw("max_features", &BoostSettings::max_features)
        .def_rw("max_candidates", &BoostSettings::max_candidates)
        .def_rw("sketch_outputs", &BoostSettings::sketch_outputs)
        .def_rw("rows", &BoostSettings::rows)
        .def_rw("leaves_of_sample", &BoostSettings::leaves_of_sample)
        .def_rw("l2", &BoostSettings::l2)
        .def_rw("noise_shrinkage", &BoostSettings::noise_shrinkage)
        .def_rw("weight_unit", &BoostSettings::weight_unit)
        .def_rw("min_gain", &BoostSettings::min_gain)
        .def_rw("min_sum_hessian", &BoostSettings::min_sum_hessian)
        .def_rw("monotonic", &BoostSettings::monotonic)
        .def_rw("categorical", &BoostSettings::categorical)
        .def_rw("cat_smooth", &BoostSettings::cat_smooth)
        .def_rw("cat_l2", &BoostSettings::cat_l2)
        .def_rw("set_limits", &BoostSettings::set_limits)
        .def_rw("interactions", &BoostSettings::interactions)
        .def_rw("narrow_rows", &BoostSettings::narrow_rows)
        .def_rw("seed", &BoostSettings::seed)
        .def_rw("first_round", &BoostSettings::first_round)
        .def_rw("n_rounds", &BoostSettings::n_rounds);
    nb::class_<ClusterSettings>(m, "ClusterSettings")
        .def(nb::init<>())
        .def_rw("n_clusters", &ClusterSettings::n_clusters)
        .def_rw("n_classes", &ClusterSettings::n_classes)
        .def_rw("batch_size", &ClusterSettings::batch_size)
        .def_rw("n_steps", &ClusterSettings::n_steps)
        .def_rw("moment_rows", &ClusterSettings::moment_rows)
        .def_rw("measure_rows", &ClusterSettings::measure_rows)
        .def_rw("standardize", &ClusterSettings::standardize)
        .def_rw("seed", &ClusterSettings::seed);
    nb::class_<Objective>(m, "Objective")
        .def_prop_ro("n_outputs", &Objective::n_outputs);
}

}  // namespace dics
