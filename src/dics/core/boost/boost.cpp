#include "boost/boost.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <type_traits>

#include "boost/chunks.hpp"
#include "boost/leaf_finder.hpp"
#include "boost/leaf_residuals.hpp"
#include "boost/leaf_values.hpp"
#include "boost/monotonic_steps.hpp"
#include "boost/output_sketch.hpp"
#include "boost/quantizer.hpp"
#include "boost/round_splits.hpp"
#include "fixed_point.hpp"
#include "grow/flatten.hpp"
#include "grow/grower.hpp"
#include "random.hpp"
#include "search/gradients/histograms.hpp"
#include "search/histogram_search.hpp"

namespace dics {
namespace {

// Returns the nodes of tree `t` as the grower left them. The dictionary is the one that
// the tree was grown with.
std::vector<GrownNode> repeat_nodes(const ForestView& forest, std::int64_t t,
                                    const Dictionary& dictionary) {
    const TreeView tree = forest.tree(t);
    std::vector<GrownNode> grown(forest.node_starts[t + 1] - forest.node_starts[t]);
    for (std::size_t i = 0; i < grown.size(); ++i) {
        const Node& node = tree.nodes[i];
        if (node.feature < 0)
            continue;
        GrownNode& copy = grown[i];
        copy.feature = node.feature;
        copy.threshold = node.threshold;
        copy.missing_left = tree.missing_left[i];
        copy.left = node.left;
        for (const int side : {0, 1})
            grown[node.left + side].depth = copy.depth + 1;
        if (const CodeSet* set = tree.set_of(i)) {
            copy.is_set = true;
            copy.left_codes = *set;
        } else if (std::isfinite(node.threshold)) {  // otherwise only NaN goes left
            const double* first = dictionary.thresholds(node.feature);
            const double* last = first + dictionary.count(node.feature);
            copy.index = std::lower_bound(first, last, node.threshold) - first;
        }
    }
    return grown;
}

// Number, total weight and largest weight of the rows of all processes.
struct RowWeights {
    std::int64_t n_rows;
    double total, largest = 1;

    RowWeights(const BoostRows& rows, const Sum& sum)
        : n_rows(sum.n_rows(rows.codes.n_rows)), total(n_rows) {
        if (!rows.weights || n_rows == 0)
            return;
        const float* end = rows.weights + rows.codes.n_rows;
        const float* heaviest = std::max_element(rows.weights, end);
        largest = sum.allreduce_max(heaviest == end ? 0 : *heaviest);
        const FixedPoint fixed(largest, n_rows);
        std::int64_t added = 0;
        for (const float* weight = rows.weights; weight < end; ++weight)
            added += fixed.of(*weight);
        sum.allreduce(&added, 1);
        total = fixed.value(added);
    }

    double mean() const { return total / n_rows; }
};

// `Histograms` is GradientHistograms or WideGradientHistograms.
template <class Histograms>
class Booster {
    using Search = HistogramSearch<Histograms>;
    // Squares of sums are at most 2^62, and float holds up to 2^127.
    static constexpr double kLeastL2 = 0x1p-60;

  public:
    Booster(const Dictionary& dictionary, const BoostRows& training,
            const std::vector<BoostRows>& validation, const Objective& objective,
            const BoostSettings& settings, const std::optional<ForestView>& repeated,
            std::vector<std::int64_t>& used, const Sum& sum, Team& team)
        : dictionary_(dictionary),
          training_(training),
          validation_(validation),
          objective_(objective),
          settings_(settings),
          repeated_(repeated),
          sum_(sum),
          team_(team),
          outputs_(objective.n_outputs(), objective.hessians() == Hessians::ones),
          weights_(training, sum),
          row_sampler_(settings.rows, training.codes.n_rows, sum, team),
          sparse_(training.codes, dictionary,
                  settings.max_candidates > 0 ? 0 : settings.max_features, sum, team),
          split_sampler_(dictionary, training.codes, sparse_, settings, used, team),
          sketch_(outputs_, settings.sketch_outputs, training.weights,
                  training.codes.n_rows, team),
          target_(sketch_.outputs(), settings.monotonic),
          quantizer_(sketch_.objective(objective), target_, training.weights,
                     std::is_same_v<Histograms, WideGradientHistograms>, sum, team),
          rows_(team),
          histograms_(target_, training.codes, dictionary, rows_, sparse_,
                      settings.limits.min_samples_leaf,
                      Interactions(settings.interactions, dictionary.n_features),
                      settings.categories, team.size(), sum.n_ranks()),
          search_(histograms_, team, sum),
          grower_(target_, search_, rows_, dictionary, settings.limits, nullptr, team,
                  sum),
          leaf_finder_(team),
          leaf_values_(objective, training, sum, team),
          residuals_(objective, training, weights_.largest, sum, team),
          step_order_(settings.monotonic),
          parameters_(objective.parameters()) {
        const std::size_t n = training.codes.n_rows;
        gradients_.resize(n * outputs_.stride);
        if (objective.hessians() == Hessians::stored)
            hessians_.resize(gradients_.size());
        norms_.resize(n);
        leaf_.resize(n);
        for (const BoostRows& rows : validation) {
            validation_weights_.emplace_back(rows, sum);
            validation_leaf_.resize(
                std::max<std::size_t>(validation_leaf_.size(), rows.codes.n_rows));
        }
    }

    Boosted run(const AfterRound& after_round) {
        Boosted boosted;
        try {
            run_rounds(after_round);
        } catch (const PeersLost&) {
            boosted.is_lost = true;
            drop_unfinished();
        }
        boosted.trees = std::move(result_);
        return boosted;
    }

  private:
    void run_rounds(const AfterRound& after_round) {
        const double first_loss = update(nullptr);
        after_round(first_loss, validate(nullptr));
        for (std::int64_t round = 0; round < settings_.n_rounds; ++round) {
            const std::uint64_t key =
                combine(combine(mix(settings_.seed), 0x626F6F7374ull),
                        settings_.first_round + round);
            if (repeated_)
                repeat_tree(round);
            else
                grow_tree(key);
            find_steps();
            keep_tree();
            const double loss = update(steps_.data());
            settings_.learning_rate = after_round(loss, validate(steps_.data()));
            if (settings_.learning_rate == 0)
                break;
        }
    }

    // Removes the entries of an incomplete tree.
    void drop_unfinished() {
        TreeArrays& trees = result_.trees;
        trees.gain.resize(trees.nodes.size());
        trees.missing_left.resize(trees.nodes.size());
    }

    // Adds steps to the scores of the training rows (part 0) or of a validation set.
    // Returns the sum of their losses.
    double add_steps(const BoostRows& rows, const std::uint32_t* leaf,
                     const float* steps, int part) {
        const Chunks chunks{rows.codes.n_rows};
        const std::size_t n_tasks = chunks.count();
        losses_.assign(kLossSize * n_tasks, 0);
        const bool parallel = rows.codes.n_rows * outputs_.stride >= kParallelNumbers;
        team_.run(chunks.count(), parallel, [&](std::int64_t task, int) {
            const std::int64_t begin = chunks.begin(task);
            const LossSum loss = objective_.kernels().update_gradients(
                gradient_args(rows, begin, chunks.length(task), leaf, steps, part));
            std::int64_t* own = losses_.data() + kLossSize * task;
            own[0] = loss.whole;
            own[1] = loss.parts >> 32;
            own[2] = loss.parts & 0xFFFFFFFF;
        });
        if (objective_.is_custom())
            return objective_.fill_gradients(
                gradient_args(rows, 0, rows.codes.n_rows, leaf, steps, part));
        sum_.allreduce_parts(losses_, n_tasks, kLossSize);
        const __int128 parts = (__int128{losses_[1]} << 32) + losses_[2];
        return static_cast<double>(losses_[0]) +
               static_cast<double>(parts) / LossSum::kParts;
    }

    // For rows begin..begin+n-1. Validation rows need no gradients.
    GradientArgs gradient_args(const BoostRows& rows, std::int64_t begin,
                               std::int64_t n, const std::uint32_t* leaf,
                               const float* steps, int part) {
        const bool gradients = part == 0;
        const std::int64_t at = begin * outputs_.stride;
        GradientArgs args{};
        args.part = part;
        args.steps = steps;
        args.leaf = leaf + begin;
        args.label = rows.labels ? rows.labels + begin : nullptr;
        args.target = rows.targets ? rows.targets + begin * rows.n_targets : nullptr;
        args.parameters = parameters_.data();
        args.weight = rows.weights ? rows.weights + begin : nullptr;
        args.n_rows = n;
        args.n_outputs = outputs_.n;
        args.stride = outputs_.stride;
        args.n_targets = rows.n_targets;
        args.scores = rows.scores + at;
        args.gradients = gradients ? gradients_.data() + at : nullptr;
        args.hessians =
            gradients && !hessians_.empty() ? hessians_.data() + at : nullptr;
        args.norms = gradients ? norms_.data() + begin : nullptr;
        return args;
    }

    // Returns the mean loss of the training rows.
    double update(const float* steps) {
        double loss = add_steps(training_, leaf_.data(), steps, 0);
        if (objective_.distance_level() > 0) {
            // The parameters of the loss change, and with them its gradients.
            residuals_.find_distances(objective_.distance_level(), parameters_);
            loss = add_steps(training_, leaf_.data(), nullptr, 0);
        }
        return loss / weights_.total;
    }

    // Returns the mean loss of each validation set.
    std::vector<double> validate(const float* steps) {
        std::vector<double> losses;
        for (std::size_t i = 0; i < validation_.size(); ++i) {
            const BoostRows& rows = validation_[i];
            if (steps)
                leaf_finder_.find(rows.codes, validation_leaf_.data());
            const int part = i + 1;
            losses.push_back(add_steps(rows, validation_leaf_.data(), steps, part) /
                             validation_weights_[i].total);
        }
        return losses;
    }

    void grow_tree(std::uint64_t key) {
        const RoundSplits& splits = split_sampler_.sample(key);
        row_sampler_.sample(norms_.data(), combine(key, 1), sampled_);
        const Quantizer::Units units = quantize(key);
        target_.set_shift(quantizer_.shift());
        const double gain_unit = objective_.gain_factor() *
                                 (units.hessian / units.gradient) / units.gradient;
        // The hessians of a sketch are 1.
        const double of_one =
            units.hessian / (sketch_.is_used() ? objective_.mean_hessian() : 1);
        // An l2 far below one unit has no effect, except that scores become infinite if
        // tiny weights leave a gradient but no hessian.
        const double l2 = settings_.l2 * of_one;
        target_.set_units(l2 < kLeastL2 ? 0.0 : l2, settings_.min_child_weight * of_one,
                          settings_.min_gain / gain_unit,
                          settings_.categories.smooth * of_one,
                          settings_.category_l2 * of_one);
        const std::vector<GrownNode> nodes = grow_nodes(splits);
        split_sampler_.use(nodes[0]);
        flatten(nodes, gain_unit);
    }

    void repeat_tree(std::int64_t round) {
        sampled_.clear(true, 0);
        flatten(repeat_nodes(*repeated_, round, dictionary_), 0);
    }

    Quantizer::Units quantize(std::uint64_t key) {
        const std::int64_t n = training_.codes.n_rows;
        if (!sketch_.is_used())
            return quantizer_.quantize(gradients_.data(), hessians(), norms_.data(),
                                       sampled_, n);
        sketch_.make(gradients_.data(), sampled_, combine(key, 5));
        return quantizer_.quantize(sketch_.values(), nullptr, sketch_.norms(), sampled_,
                                   n);
    }

    std::vector<GrownNode> grow_nodes(const RoundSplits& splits) {
        const std::int64_t n_sampled = sampled_.size(training_.codes.n_rows);
        rows_.reset(sampled_.list(), quantizer_.values(), n_sampled);
        if (splits.features.empty()) {
            std::vector<GrownNode> root(1);
            root[0].end = n_sampled;
            return root;
        }
        histograms_.start_round(splits, split_sampler_.codes(sampled_));
        search_.reset(context_, 1);
        OpenNode<GradientTotals> root;
        root.end = n_sampled;
        root.totals = quantizer_.totals();
        return grower_.grow(std::move(root), context_);
    }

    // The leaves get their indices in breadth-first order.
    void flatten(const std::vector<GrownNode>& nodes, double gain_unit) {
        tests_.clear();
        tables_.clear();
        flat_.clear();
        n_leaves_ = 0;
        std::int32_t depth = 0;
        flatten_nodes(
            nodes, flat_, result_.trees.missing_left,
            [&](const GrownNode& leaf) {
                if (has_sorted_rows())
                    mark_leaf(leaf);
                return n_leaves_++;
            },
            [&](const GrownNode& node) {
                depth = std::max(depth, node.depth);
                tests_.push_back(test_of(node));
                if (!settings_.categories.categorical.empty())
                    result_.trees.add_set(node.is_set ? &node.left_codes : nullptr);
                result_.trees.gain.push_back(node.gain * gain_unit);
            });
        leaf_finder_.set_tree(flat_, tests_, n_leaves_, depth);
        if (!has_sorted_rows())
            leaf_finder_.find(training_.codes, leaf_.data());
    }

    CodeTest test_of(const GrownNode& node) {
        if (node.left < 0)
            return CodeTest();
        const int n_thresholds = dictionary_.count(node.feature);
        if (!node.is_set)
            return CodeTest(node.index, node.missing_left, n_thresholds);
        std::array<std::uint8_t, 256>& table = tables_.emplace_back();
        for (int code = 0; code <= n_thresholds; ++code)
            table[code] = node.left_codes.has(code) ? 255 : 0;
        table[n_thresholds + 1] = node.missing_left ? 255 : 0;
        return CodeTest(table.data());
    }

    // If all rows are sampled, the grower has already sorted them by leaf.
    bool has_sorted_rows() const { return sampled_.all && !repeated_; }

    void mark_leaf(const GrownNode& leaf) {
        const std::uint32_t* rows = rows_.places.data();
        for (std::int64_t i = leaf.begin; i < leaf.end; ++i)
            leaf_[rows[i]] = n_leaves_;
    }

    // Computes the leaf values from all rows or from the sampled rows.
    void find_steps() {
        const std::size_t n_leaves = n_leaves_;
        if (settings_.leaves_of_sample && !sampled_.all) {
            leaf_values_.add_sampled(gradients_.data(), hessians(), leaf_.data(),
                                     n_leaves, sampled_, quantizer_.largest_weight(),
                                     largest_sampled());
        } else {
            leaf_values_.add_all(gradients_.data(), hessians(), leaf_.data(), n_leaves,
                                 weights_.largest, largest_gradient());
        }
        if (objective_.uses_residuals()) {
            residuals_.find_steps(leaf_.data(), n_leaves, settings_.learning_rate,
                                  parameters_, steps_);
        } else {
            // Weights count rows, unless their mean is less than one.
            leaf_values_.find_steps(
                settings_, std::min(settings_.weight_unit, weights_.mean()), steps_);
        }
        step_order_.keep(flat_, leaf_values_, steps_);
    }

    const float* hessians() const {
        return hessians_.empty() ? nullptr : hessians_.data();
    }

    // The largest gradient of all rows, times the weight.
    double largest_gradient() const {
        if (objective_.largest_gradient() > 0)
            return weights_.largest * objective_.largest_gradient();
        float largest = 0;
        for (const float norm : norms_)
            largest = std::max(largest, norm);
        return sum_.allreduce_max(largest);
    }

    // The largest gradient of the sampled rows, times factor and weight.
    double largest_sampled() const {
        if (!sketch_.is_used())
            return quantizer_.largest();
        float largest = 0;
        for (std::size_t i = 0; i < sampled_.rows.size(); ++i)
            largest = std::max(largest, norms_[sampled_.rows[i]] * sampled_.factors[i]);
        return sum_.allreduce_max(largest);
    }

    void keep_tree() {
        std::vector<double> weights(flat_.size());
        std::vector<std::int32_t> n_samples(flat_.size());
        for (std::size_t i = flat_.size(); i-- > 0;) {
            const Node& node = flat_[i];
            const std::size_t left = node.left;
            if (node.feature < 0) {
                n_samples[i] = leaf_values_.n_rows(left);
                weights[i] = leaf_values_.weight(left);
            } else {
                n_samples[i] = n_samples[left] + n_samples[left + 1];
            }
        }
        add_up_weights(flat_.data(), weights);
        TreeArrays& trees = result_.trees;
        trees.nodes.insert(trees.nodes.end(), flat_.begin(), flat_.end());
        trees.n_samples.insert(trees.n_samples.end(), n_samples.begin(),
                               n_samples.end());
        const double unit = weights_.mean();
        for (const double weight : weights)
            trees.weight.push_back(weight / unit);
        for (std::int64_t leaf = 0; leaf < n_leaves_; ++leaf) {
            const float* step = steps_.data() + leaf * outputs_.stride;
            trees.leaf_values.insert(trees.leaf_values.end(), step, step + outputs_.n);
        }
        result_.end_tree(outputs_.n);
    }

    Dictionary dictionary_;
    BoostRows training_;
    std::vector<BoostRows> validation_;
    const Objective& objective_;
    BoostSettings settings_;
    std::optional<ForestView> repeated_;
    Sum sum_;
    Team& team_;
    Outputs outputs_;
    RowWeights weights_;
    std::vector<RowWeights> validation_weights_;

    std::vector<float> gradients_, hessians_, norms_;  // of all rows
    std::vector<std::uint32_t> leaf_, validation_leaf_;
    // For each task, see LossSum: the integer, and the fraction in two halves, because
    // the fractions of more than 2^24 rows do not fit into 63 bits.
    static constexpr std::size_t kLossSize = 3;
    std::vector<std::int64_t> losses_;

    // The stages of a round, in their order.
    RowSampler row_sampler_;
    SparseCodes sparse_;
    SplitSampler split_sampler_;
    OutputSketch sketch_;
    Gradients target_;
    Quantizer quantizer_;
    GradientRows rows_;
    Histograms histograms_;
    Search search_;
    typename Search::Context context_;
    Grower<Search, BestFirst> grower_;
    LeafFinder leaf_finder_;
    LeafValues leaf_values_;
    LeafResiduals residuals_;
    StepOrder step_order_;
    std::vector<float> parameters_;  // of the loss

    // State of one round.
    SampledRows sampled_;
    std::vector<Node> flat_;
    std::vector<CodeTest> tests_;                       // of each node
    std::deque<std::array<std::uint8_t, 256>> tables_;  // of nodes with a set of codes
    std::int32_t n_leaves_ = 0;
    std::vector<float> steps_;  // [leaf][stride]

    ForestArrays result_;
};

// Returns true if sums need 64 bits.
bool is_wide(const BoostRows& rows, const BoostSettings& settings, const Sum& sum) {
    const std::int64_t n = sum.n_rows(rows.codes.n_rows);
    const RowDraw& draw = settings.rows;
    const bool all = draw.sampling == RowSampling::none;
    const double rate = all ? 1 : std::min(1.0, draw.top_rate + draw.other_rate);
    return static_cast<std::int64_t>(n * rate) > settings.narrow_rows;
}

}  // namespace

Boosted boost(const Dictionary& dictionary, const BoostRows& training,
              const std::vector<BoostRows>& validation, const Objective& objective,
              const BoostSettings& settings, const std::optional<ForestView>& repeated,
              std::vector<std::int64_t>& used, const AfterRound& after_round,
              const Sum& sum, Team& team) {
    auto run = [&]<class Histograms>() {
        return Booster<Histograms>(dictionary, training, validation, objective,
                                   settings, repeated, used, sum, team)
            .run(after_round);
    };
    try {
        return is_wide(training, settings, sum)
                   ? run.template operator()<WideGradientHistograms>()
                   : run.template operator()<GradientHistograms>();
    } catch (const PeersLost&) {  // before the first round
        Boosted nothing;
        nothing.is_lost = true;
        return nothing;
    }
}

}  // namespace dics
