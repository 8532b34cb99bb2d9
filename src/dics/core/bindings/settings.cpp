// Settings cross the border as objects with named fields, 0 or off unless they are
// given.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "boost/boost.hpp"
#include "candidates/kmeans.hpp"
#include "grow/grow.hpp"
#include "objective/objective.hpp"

namespace dics {
namespace {

// The conversions of nanobind may not throw. They would end the process if the memory
// of a vector is refused, so vectors are read item by item.
template <class Value>
struct FieldReader {
    static Value read(nb::handle given) { return nb::cast<Value>(given); }
};
template <class Item>
struct FieldReader<std::vector<Item>> {
    static std::vector<Item> read(nb::handle given) {
        std::vector<Item> items;
        for (const nb::handle item : given)
            items.push_back(FieldReader<Item>::read(item));
        return items;
    }
};
template <class Value>
struct FieldReader<std::optional<Value>> {
    static std::optional<Value> read(nb::handle given) {
        if (given.is_none())
            return std::nullopt;
        return FieldReader<Value>::read(given);
    }
};

// A class of settings in Python: a constructor with keywords, fields that can be read,
// `replace` for a copy with other values, and pickling.
template <class Settings>
class SettingsClass {
  public:
    SettingsClass(nb::module_& m, const char* name) : class_(m, name) {
        class_
            .def("__init__",
                 [](Settings* self, const nb::kwargs& fields) {
                     new (self) Settings(with({}, fields));
                 })
            .def("replace", [](const Settings& self,
                               const nb::kwargs& fields) { return with(self, fields); })
            .def("__getstate__",
                 [](nb::handle self) {
                     nb::dict fields;
                     for (const auto& [name, read] : readers())
                         fields[name.c_str()] = self.attr(name.c_str());
                     return fields;
                 })
            .def("__setstate__", [](Settings& self, const nb::dict& fields) {
                new (&self) Settings(with({}, fields));
            });
    }

    template <class Value>
    SettingsClass& field(const char* name, Value Settings::* member) {
        class_.def_ro(name, member);
        readers()[name] = [member](nb::handle given, Settings& settings) {
            settings.*member = FieldReader<Value>::read(given);
        };
        return *this;
    }

  private:
    using Readers = std::map<std::string, std::function<void(nb::handle, Settings&)>>;

    static Readers& readers() {
        static Readers all;
        return all;
    }

    static Settings with(Settings settings, const nb::dict& fields) {
        for (const auto& [key, value] : fields) {
            const nb::str name(key);
            const auto found = readers().find(name.c_str());
            if (found == readers().end())
                throw nb::attribute_error(name.c_str());
            found->second(value, settings);
        }
        return settings;
    }

    nb::class_<Settings> class_;
};

}  // namespace

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
        .value("gamma", RegressionLoss::gamma)
        .value("tweedie", RegressionLoss::tweedie);
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
    SettingsClass<NodeLimits>(m, "NodeLimits")
        .field("max_depth", &NodeLimits::max_depth)
        .field("min_samples_split", &NodeLimits::min_samples_split)
        .field("min_samples_leaf", &NodeLimits::min_samples_leaf)
        .field("max_leaf_nodes", &NodeLimits::max_leaf_nodes)
        .field("reuse_splits", &NodeLimits::reuse_splits);
    SettingsClass<MomentScale>(m, "MomentScale")
        .field("centers", &MomentScale::centers)
        .field("scales", &MomentScale::scales);
    SettingsClass<SetLimits>(m, "SetLimits")
        .field("min_rows", &SetLimits::min_rows)
        .field("max_codes", &SetLimits::max_codes);
    SettingsClass<CategorySettings>(m, "CategorySettings")
        .field("categorical", &CategorySettings::categorical)
        .field("smooth", &CategorySettings::smooth)
        .field("charge", &CategorySettings::charge)
        .field("set_limits", &CategorySettings::set_limits);
    SettingsClass<GrowSettings>(m, "GrowSettings")
        .field("criterion", &GrowSettings::criterion)
        .field("n_classes", &GrowSettings::n_classes)
        .field("limits", &GrowSettings::limits)
        .field("min_weight_fraction_leaf", &GrowSettings::min_weight_fraction_leaf)
        .field("min_impurity_decrease", &GrowSettings::min_impurity_decrease)
        .field("splitter", &GrowSettings::splitter)
        .field("max_candidates", &GrowSettings::max_candidates)
        .field("renew_thresholds", &GrowSettings::renew_thresholds)
        .field("renew_rows", &GrowSettings::renew_rows)
        .field("keeps_leaf_rows", &GrowSettings::keeps_leaf_rows)
        .field("monotonic", &GrowSettings::monotonic)
        .field("scale", &GrowSettings::scale)
        .field("categories", &GrowSettings::categories)
        .field("seed", &GrowSettings::seed);
    SettingsClass<ForestSettings>(m, "ForestSettings")
        .field("tree", &ForestSettings::tree)
        .field("first_tree", &ForestSettings::first_tree)
        .field("n_trees", &ForestSettings::n_trees)
        .field("sampling", &ForestSettings::sampling)
        .field("max_features", &ForestSettings::max_features)
        .field("sample_size", &ForestSettings::sample_size)
        .field("balance_each_tree", &ForestSettings::balance_each_tree);
    SettingsClass<RowDraw>(m, "RowDraw")
        .field("sampling", &RowDraw::sampling)
        .field("top_rate", &RowDraw::top_rate)
        .field("other_rate", &RowDraw::other_rate);
    SettingsClass<BoostSettings>(m, "BoostSettings")
        .field("learning_rate", &BoostSettings::learning_rate)
        .field("limits", &BoostSettings::limits)
        .field("max_features", &BoostSettings::max_features)
        .field("max_candidates", &BoostSettings::max_candidates)
        .field("sketch_outputs", &BoostSettings::sketch_outputs)
        .field("rows", &BoostSettings::rows)
        .field("leaves_of_sample", &BoostSettings::leaves_of_sample)
        .field("l2", &BoostSettings::l2)
        .field("noise_shrinkage", &BoostSettings::noise_shrinkage)
        .field("weight_unit", &BoostSettings::weight_unit)
        .field("min_gain", &BoostSettings::min_gain)
        .field("min_child_weight", &BoostSettings::min_child_weight)
        .field("monotonic", &BoostSettings::monotonic)
        .field("categories", &BoostSettings::categories)
        .field("category_l2", &BoostSettings::category_l2)
        .field("interactions", &BoostSettings::interactions)
        .field("narrow_rows", &BoostSettings::narrow_rows)
        .field("seed", &BoostSettings::seed)
        .field("first_round", &BoostSettings::first_round)
        .field("n_rounds", &BoostSettings::n_rounds);
    SettingsClass<ClusterSettings>(m, "ClusterSettings")
        .field("n_clusters", &ClusterSettings::n_clusters)
        .field("n_classes", &ClusterSettings::n_classes)
        .field("batch_size", &ClusterSettings::batch_size)
        .field("n_steps", &ClusterSettings::n_steps)
        .field("moment_rows", &ClusterSettings::moment_rows)
        .field("measure_rows", &ClusterSettings::measure_rows)
        .field("standardize", &ClusterSettings::standardize)
        .field("seed", &ClusterSettings::seed);
    nb::class_<Objective>(m, "Objective")
        .def_prop_ro("n_outputs", &Objective::n_outputs);
}

}  // namespace dics
