// The parts of classification trees.
#pragma once

#include "grow/flatten.hpp"
#include "grow/grow.hpp"
#include "search/classes/entries.hpp"
#include "search/classes/histograms.hpp"
#include "search/draw_search.hpp"
#include "search/listed_search.hpp"

namespace dics {

template <class Crit, class Count>
struct ClassTrees {
    using Target = ClassCounts<Crit, Count>;
    using Sample = dics::Sample<Count>;
    using Rows = ClassRows<Count>;
    using Histograms = ClassHistograms<Crit, Count>;
    using DrawSearch = dics::DrawSearch<ClassRowScan<Crit, Count>>;
    using Listed = ListedSearch<ClassEntryScan<Crit, Count>, Rows>;

    static Rows make_rows(const Sample& sample) { return {sample, RowOrder::by_label}; }
    static Target make_target(const Sample&, const Rows& rows,
                              const GrowSettings& settings) {
        return {settings.n_classes, rows.total_count(),
                settings.min_weight_fraction_leaf, settings.min_impurity_decrease};
    }

    // The rows of a node as those of a tree of their own.
    static Rows rows_of(const Rows& rows, const NodePlace& node) {
        // They are in the order of their labels already.
        return {{rows.labels.data() + node.begin,
                 rows.weighted() ? rows.counts.data() + node.begin : nullptr, nullptr,
                 node.size()},
                RowOrder::by_row};
    }
    // Numbers the rows from 0; returns their former numbers. The caller's weights of
    // the rows are copied to `weights`.
    static std::vector<std::uint32_t> renumber(Rows& rows, Sample& sample,
                                               std::vector<double>& weights) {
        std::vector<std::uint32_t> before = rows.rows;
        if (sample.weights) {
            for (const std::uint32_t row : before)
                weights.push_back(sample.weights[row]);
            sample.weights = weights.data();
        }
        for (std::size_t i = 0; i < before.size(); ++i)
            rows.rows[i] = static_cast<std::uint32_t>(i);
        return before;
    }

    // Node weights in units of the mean weight of `n_rows` rows.
    static TreeArrays flatten(const std::vector<GrownNode>& nodes, const Rows& rows,
                              const Sample& sample, const GrowSettings& settings,
                              std::int64_t n_rows) {
        return ClassFlattener<Count>(rows, sample.weights, settings)
            .flatten(nodes, static_cast<double>(n_rows));
    }
};

}  // namespace dics
