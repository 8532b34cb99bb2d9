// New thresholds for the subtrees of a dictionary that is too coarse for them.
#pragma once

#include "candidates/thresholds.hpp"
#include "data/encode.hpp"
#include "grow/grow.hpp"
#include "grow/grower.hpp"
#include "search/histogram_search.hpp"

namespace dics {

// Nodes with this fraction of the rows that gave the dictionary get a new one. Mean
// accuracy at full depth (electricity, adult, magic, helena_part; exhaustive search
// 0.6776): renewed at a quarter 0.6770, a sixteenth 0.6774, a 64th 0.6766, never
// 0.6762. CPU time on electricity: 131, 93, 84 and 67 ms (2026-11).
inline constexpr std::int64_t kRenewShare = 16;

// The dictionary in use, and how to make the next one from it. `Kind` is ClassTrees or
// MomentTrees.
template <class T, class Kind>
class RenewalStep : public Renewal<typename Kind::Target> {
  public:
    using Target = typename Kind::Target;
    using Rows = typename Kind::Rows;
    using Open = OpenNode<typename Target::Totals>;
    using Search = HistogramSearch<typename Kind::Histograms>;

    // `made_from` rows gave the dictionary; 0 if it is exact and need never be renewed.
    RenewalStep(const Target& target, const RowSource<T>& X, const double* weights,
                std::int64_t made_from, int code_width, const Dictionary& dictionary,
                const GrowSettings& settings)
        : target_(target),
          X_(X),
          weights_(weights),
          made_from_(made_from),
          code_width_(code_width),
          dictionary_(dictionary),
          settings_(settings) {}

    bool is_due(std::int64_t n_rows) const override {
        return n_rows <= made_from_ / kRenewShare;
    }

    std::vector<GrownNode> grow(const Open& node, Rows& r, std::int64_t max_leaf_nodes,
                                Team& team) const override {
        const std::int64_t n = node.size();
        std::vector<T> values;
        std::vector<double> weights;
        copy_rows(r, node, values, weights);
        const double* local_weights = weights_ ? weights.data() : nullptr;
        const std::int64_t n_cols = X_.n_cols();
        const RowSource<T> local(Matrix<T>{values.data(), n, n_cols, n_cols, 1});

        const Thresholds made = with_categories(
            make_thresholds(local, {}, local_weights, nullptr, 0, kMaxThresholds, 0,
                            settings_.renew_rows, node.key, team));
        const Dictionary dictionary{made.values.data(), made.offsets.data(), n_cols};
        std::vector<std::uint8_t> space(codes_size(n, n_cols, code_width_));
        encode(local, dictionary, code_width_, team, space.data());
        const Codes codes{space.data(), n, n_cols, code_width_};

        Rows local_rows = Kind::rows_of(r, node);
        typename Kind::Histograms histograms(
            target_, codes, split_rules(dictionary, settings_), local_rows);
        Search search(histograms, team);
        const RenewalStep next(target_, local, local_weights, made.exact ? 0 : n,
                               code_width_, dictionary, settings_);
        NodeLimits limits = settings_.limits;
        limits.max_leaf_nodes = max_leaf_nodes;
        Open root = node;
        root.index = 0;
        root.begin = 0;
        root.end = n;
        std::vector<GrownNode> nodes =
            grow_nodes(target_, search, local_rows, dictionary, limits, &next, team,
                       std::move(root));
        r.reorder(node.begin, local_rows.rows);
        for (GrownNode& grown : nodes) {
            grown.begin += node.begin;
            grown.end += node.begin;
        }
        return nodes;
    }

  private:
    // Codes of categorical features stay the numbers of their categories.
    Thresholds with_categories(Thresholds made) const {
        if (settings_.categories.categorical.empty())
            return made;
        Thresholds kept = made;
        kept.values.clear();
        kept.offsets.assign(1, 0);
        const Dictionary renewed{made.values.data(), made.offsets.data(), X_.n_cols()};
        for (std::int64_t f = 0; f < X_.n_cols(); ++f) {
            const bool is_categorical = settings_.categories.is_categorical(f);
            const Dictionary& from = is_categorical ? dictionary_ : renewed;
            kept.values.insert(kept.values.end(), from.thresholds(f),
                               from.thresholds(f) + from.count(f));
            kept.offsets.push_back(kept.values.size());
        }
        return kept;
    }

    void copy_rows(const Rows& r, const Open& node, std::vector<T>& values,
                   std::vector<double>& weights) const {
        values.reserve(node.size() * X_.n_cols());
        std::vector<T> space;
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            const std::int64_t row = r.rows[i];
            const T* from = X_.row(row, space);
            for (std::int64_t f = 0; f < X_.n_cols(); ++f)
                values.push_back(from[f * X_.stride()]);
            if (weights_)
                weights.push_back(weights_[row]);
        }
    }

    const Target& target_;
    RowSource<T> X_;
    const double* weights_;
    std::int64_t made_from_;
    int code_width_;  // columns of codes side by side
    Dictionary dictionary_;
    const GrowSettings& settings_;
};

}  // namespace dics
