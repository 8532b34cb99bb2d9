#include "grow/top_trees.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "grow/class_trees.hpp"
#include "grow/grower.hpp"
#include "grow/moment_trees.hpp"
#include "grow/renewal.hpp"
#include "search/shared_histogram.hpp"

namespace dics {
namespace {

// Trees of a kind: `Histogram` is SharedClassHistogram or SharedMomentHistogram.
template <class Histogram>
class TopGrower {
    using Target = typename Histogram::Target;
    using Rows = typename Histogram::Rows;
    using Open = typename Histogram::Open;
    using Value = typename Histogram::Value;

    // A tree that grows, with the dictionary of the features that it may look at.
    struct Tree {
        Tree(Rows&& own, Target&& of_tree, bool is_weighted,
             std::int64_t min_samples_leaf)
            : rows(std::move(own)),
              target(std::move(of_tree)),
              histogram(target, rows, is_weighted, min_samples_leaf) {}
        Tree(const Tree&) = delete;  // it points into itself

        Rows rows;
        Target target;
        Histogram histogram;
        std::vector<std::int64_t> features;  // empty: all
        std::vector<float> thresholds;
        std::vector<std::int64_t> offsets{0};
        Dictionary dictionary;
        CategorySettings categories;
        std::int64_t n_rows = 0;  // of all processes
        double weight = 0;
        TopTree top;
    };

    // What is known of a feature in a node.
    enum class Known : std::uint8_t { nothing, varies, is_constant };

    // A node that is to be split.
    struct Waiting {
        Tree* tree;
        Open open;
        std::vector<Known> known;  // of each feature
        std::vector<std::int32_t> features;
        std::vector<Value*> histograms;  // of each feature that was looked at
        std::vector<double> variances;   // of outputs, where a set is looked for
    };

  public:
    TopGrower(const OwnCodes& codes, const Dictionary& dictionary,
              const TopSettings& settings, const Sum& sum, Team& team)
        : codes_(codes),
          dictionary_(dictionary),
          settings_(settings),
          limits_(settings.forest.tree.limits),
          sum_(sum),
          team_(team) {}

    // Trees of these rows. `make_target(total weight, settings)`.
    template <class MakeTarget>
    void add_trees(std::vector<Rows>&& every, bool is_weighted,
                   MakeTarget make_target) {
        std::vector<std::int64_t> numbers;
        for (const Rows& rows : every) {
            numbers.push_back(rows.size());
            numbers.push_back(whole_weight(rows));
        }
        sum_.everywhere(numbers.data(), static_cast<std::int64_t>(numbers.size()));
        const std::int64_t* next = numbers.data();
        for (Rows& rows : every) {
            const std::int64_t n_rows = *next++, weight = *next++;
            const std::vector<std::int64_t> features = choose_features();
            const GrowSettings own = restricted(settings_.forest.tree, features);
            trees_.push_back(
                std::make_unique<Tree>(std::move(rows), make_target(weight, own),
                                       is_weighted, limits_.min_samples_leaf));
            Tree& tree = *trees_.back();
            tree.categories = own.categories;
            tree.n_rows = n_rows;
            tree.weight = static_cast<double>(weight);
            restrict(features, tree);
        }
    }

    std::vector<TopTree> grow() {
        std::vector<Waiting> level = roots();
        while (!level.empty()) {
            team_.check(0);
            search(level);
            level = split(level);
        }
        std::vector<TopTree> tops;
        for (auto& tree : trees_) {
            tree->top.rows = std::move(tree->rows.rows);
            tree->top.features = std::move(tree->features);
            tops.push_back(std::move(tree->top));
        }
        return tops;
    }

  private:
    static std::int64_t whole_weight(const Rows& rows) {
        if constexpr (requires { rows.total(); })
            return rows.total();
        else
            return static_cast<std::int64_t>(rows.total_count());
    }

    std::uint64_t key_of(std::size_t tree) const {
        const std::uint64_t seed = settings_.forest.tree.seed;
        return settings_.is_forest ? tree_key(seed, settings_.forest.first_tree +
                                                        static_cast<std::int64_t>(tree))
                                   : mix(seed);
    }

    // Of the next tree, if it draws its features once.
    std::vector<std::int64_t> choose_features() const {
        if (settings_.forest.sampling != FeatureSampling::tree)
            return {};
        return features_of_tree(key_of(trees_.size()), dictionary_.n_features,
                                settings_.forest.max_features);
    }

    // The restricted dictionary.
    void restrict(const std::vector<std::int64_t>& features, Tree& tree) const {
        tree.dictionary = dictionary_;
        tree.features = features;
        if (features.empty())
            return;
        for (const std::int64_t f : tree.features) {
            tree.thresholds.insert(tree.thresholds.end(), dictionary_.thresholds(f),
                                   dictionary_.thresholds(f) + dictionary_.count(f));
            tree.offsets.push_back(static_cast<std::int64_t>(tree.thresholds.size()));
        }
        tree.dictionary = {tree.thresholds.data(), tree.offsets.data(),
                           static_cast<std::int64_t>(tree.features.size())};
    }

    const std::uint8_t* column(const Tree& tree, std::int64_t f) const {
        return codes_.column(
            tree.features.empty() ? f : tree.features[static_cast<std::size_t>(f)]);
    }

    std::vector<Waiting> roots() {
        std::vector<Waiting> level;
        for (std::size_t t = 0; t < trees_.size(); ++t) {
            Waiting root{trees_[t].get(), {}, {}, {}, {}, {}};
            root.open.end = trees_[t]->rows.size();
            root.open.key = key_of(t);
            level.push_back(std::move(root));
        }
        std::vector<Waiting*> all;
        for (Waiting& root : level)
            all.push_back(&root);
        measure(all);
        find_constant(all);
        return opened(std::move(level));
    }

    // --- totals -------------------------------------------------------------

    // What the rows of nodes add up to in all processes.
    void measure(const std::vector<Waiting*>& nodes) {
        std::vector<std::int64_t> numbers;
        for (Waiting* node : nodes) {
            const Target& target = node->tree->target;
            Open& open = node->open;
            target.count(node->tree->rows, open.begin, open.end, open.totals);
            numbers.push_back(open.totals.n_rows);
            for (const auto number : target.counted(open.totals))
                numbers.push_back(static_cast<std::int64_t>(number));
        }
        sum_.everywhere(numbers.data(), static_cast<std::int64_t>(numbers.size()));
        auto next = numbers.begin();
        for (Waiting* node : nodes) {
            const Target& target = node->tree->target;
            node->open.totals.n_rows = *next++;
            for (auto& number : target.counted(node->open.totals))
                number = static_cast<std::decay_t<decltype(number)>>(*next++);
            target.complete(node->open.totals);
        }
    }

    // Finds nodes whose targets are all the same, where totals don't tell.
    void find_constant(const std::vector<Waiting*>& nodes) {
        if constexpr (requires(Open& open) { open.totals.is_constant; }) {
            std::vector<double> ends;  // the highest and the lowest, turned round
            for (const Waiting* node : nodes)
                add_ends(*node, ends);
            sum_.largest(ends.data(), static_cast<std::int64_t>(ends.size()));
            auto next = ends.begin();
            for (Waiting* node : nodes) {
                bool is_constant = true;
                for (int c = 0; c < node->tree->rows.n_outputs; ++c, next += 2)
                    is_constant = is_constant && next[0] == -next[1];
                node->open.totals.is_constant = is_constant;
            }
        }
    }

    static void add_ends(const Waiting& node, std::vector<double>& ends) {
        const Rows& rows = node.tree->rows;
        for (int c = 0; c < rows.n_outputs; ++c) {
            double high = -INFINITY, low = INFINITY;
            for (std::int64_t i = node.open.begin; i < node.open.end; ++i) {
                high = std::max(high, rows.target(i)[c]);
                low = std::min(low, rows.target(i)[c]);
            }
            ends.push_back(high);
            ends.push_back(-low);
        }
    }

    // --- search -------------------------------------------------------------

    // Finds the best splits. Features that turn out to be constant are replaced by
    // others, at the cost of one more sum for all nodes that need some.
    void search(std::vector<Waiting>& level) {
        std::vector<std::vector<Value>> buffers;
        std::vector<Waiting*> active;
        for (Waiting& node : level)
            active.push_back(&node);
        while (!active.empty()) {
            std::vector<Item> items;
            std::vector<Waiting*> looking;
            for (Waiting* node : active) {
                if (choose(*node, items))
                    looking.push_back(node);
            }
            if (!items.empty())
                buffers.push_back(count(items));
            for (const Item& item : items)
                take_note(item);
            active = std::move(looking);
        }
        find_variances(level);
        team_.run(static_cast<std::int64_t>(level.size()), true,
                  [&](std::int64_t i, int) {
                      Waiting& node = level[static_cast<std::size_t>(i)];
                      node.open.split = best_split(node);
                  });
    }

    // Is a set of levels of the feature looked for?
    static bool takes_sets(const Waiting& node, std::int32_t f) {
        return node.tree->categories.covers(f, node.open.totals.n_rows);
    }

    // Of targets that are numbers, in nodes that look for sets.
    void find_variances(std::vector<Waiting>& level) {
        if constexpr (requires(Waiting& node) { node.open.totals.is_constant; }) {
            std::vector<Waiting*> looking;
            for (Waiting& node : level) {
                if (std::any_of(node.features.begin(), node.features.end(),
                                [&](std::int32_t f) { return takes_sets(node, f); }))
                    looking.push_back(&node);
            }
            // Numbers of 128 bits, in two parts that can be added up.
            constexpr int kPart = 48;
            std::vector<std::int64_t> numbers;
            for (const Waiting* node : looking) {
                for (int c = 0; c < node->tree->rows.n_outputs; ++c) {
                    const __int128 squares = node->tree->target.squares(
                        node->tree->rows, node->open.begin, node->open.end,
                        node->open.totals, c);
                    numbers.push_back(static_cast<std::int64_t>(squares >> kPart));
                    numbers.push_back(static_cast<std::int64_t>(
                        squares & ((std::int64_t{1} << kPart) - 1)));
                }
            }
            if (!looking.empty())
                sum_.everywhere(numbers.data(),
                                static_cast<std::int64_t>(numbers.size()));
            auto next = numbers.begin();
            for (Waiting* node : looking) {
                for (int c = 0; c < node->tree->rows.n_outputs; ++c, next += 2)
                    node->variances.push_back(node->tree->target.variance(
                        (__int128{next[0]} << kPart) + next[1], node->open.totals, c));
            }
        }
    }

    // A feature of a node that is looked at.
    struct Item {
        Waiting* node;
        std::int32_t feature;
        std::int64_t start;  // of its histogram
    };

    // Adds the features to be looked at next; false if there are none.
    bool choose(Waiting& node, std::vector<Item>& items) {
        const Dictionary& dictionary = node.tree->dictionary;
        const std::size_t n_before = items.size();
        if (node.histograms.empty())
            node.histograms.resize(static_cast<std::size_t>(dictionary.n_features));
        if (settings_.forest.sampling == FeatureSampling::node) {
            draw_features(node);
        } else if (node.features.empty()) {
            for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
                if (dictionary.count(f) > 0)
                    node.features.push_back(static_cast<std::int32_t>(f));
            }
        }
        for (const std::int32_t f : node.features) {
            if (!node.histograms[static_cast<std::size_t>(f)])
                items.push_back({&node, f, 0});
        }
        return items.size() > n_before;
    }

    // Draws as if features of which nothing is known varied.
    void draw_features(Waiting& node) {
        const std::int64_t max_features = settings_.forest.max_features;
        FeatureDraw draw(dictionary_, max_features, true);
        if (node.known.empty())
            node.known.resize(static_cast<std::size_t>(dictionary_.n_features));
        node.features.clear();
        draw.begin(node.open.key, 0);
        std::int32_t f;
        while (static_cast<std::int64_t>(node.features.size()) < max_features &&
               draw.next(static_cast<std::int64_t>(node.features.size()), f)) {
            if (node.known[static_cast<std::size_t>(f)] != Known::is_constant)
                node.features.push_back(f);
        }
        draw.end();
    }

    // Counts what is looked at, in all processes.
    std::vector<Value> count(std::vector<Item>& items) {
        std::int64_t size = 0;
        for (Item& item : items) {
            const Tree& tree = *item.node->tree;
            item.start = size;
            const int n_thresholds = tree.dictionary.count(item.feature);
            size += tree.histogram.size(n_thresholds);
            if (takes_sets(*item.node, item.feature))
                size += n_thresholds + 2;  // the rows of each bin
        }
        std::vector<Value> values(static_cast<std::size_t>(size));
        team_.run(static_cast<std::int64_t>(items.size()), true,
                  [&](std::int64_t i, int) {
                      const Item& item = items[static_cast<std::size_t>(i)];
                      const Tree& tree = *item.node->tree;
                      const std::uint8_t* codes = column(tree, item.feature);
                      const int n_thresholds = tree.dictionary.count(item.feature);
                      Value* hist = values.data() + item.start;
                      tree.histogram.fill(codes, n_thresholds, tree.rows,
                                          item.node->open, hist);
                      if (!takes_sets(*item.node, item.feature))
                          return;
                      Value* rows = hist + tree.histogram.size(n_thresholds);
                      for (std::int64_t k = item.node->open.begin;
                           k < item.node->open.end; ++k)
                          ++rows[codes[tree.rows.rows[static_cast<std::size_t>(k)]]];
                  });
        sum_.everywhere(values.data(), size);
        for (const Item& item : items)
            item.node->histograms[static_cast<std::size_t>(item.feature)] =
                values.data() + item.start;
        return values;
    }

    void take_note(const Item& item) {
        Waiting& node = *item.node;
        const auto f = static_cast<std::size_t>(item.feature);
        if (node.known.empty())
            return;
        const bool varies = node.tree->histogram.varies(
            node.histograms[f], node.tree->dictionary.count(item.feature));
        node.known[f] = varies ? Known::varies : Known::is_constant;
    }

    Split best_split(Waiting& node) {
        const Tree& tree = *node.tree;
        const Dictionary& dictionary = tree.dictionary;
        const std::uint64_t key = node.open.key;
        const std::int64_t k = settings_.forest.tree.max_candidates;
        const bool is_drawn = settings_.forest.sampling == FeatureSampling::node;
        CandidateList candidates;
        if (k > 0 && is_drawn)
            draw_of_features(dictionary, k, key, node.features, candidates);
        else if (k > 0)
            candidates.draw(dictionary, nullptr, k, key);
        Histogram histogram = tree.histogram;
        histogram.start_node(tree.rows, node.open);
        CandidateCodes candidate_codes;
        Split best;
        for (std::size_t j = 0; j < node.features.size(); ++j) {
            const std::int32_t f = node.features[j];
            const int n_thresholds = dictionary.count(f);
            Value* hist = node.histograms[static_cast<std::size_t>(f)];
            Cut cut;
            if (k == 0) {
                cut = histogram.scan(hist, n_thresholds, {n_thresholds}, f);
            } else {
                const auto own =
                    candidates.of_feature(is_drawn ? static_cast<std::int64_t>(j) : f);
                if (own.empty())
                    continue;
                cut = candidate_codes.in_dictionary(histogram.scan(
                    hist, n_thresholds, candidate_codes.read(own, n_thresholds), f));
            }
            const Split split = split_by_gap(
                cut, f, key, k > 0 ? 0 : gap_between(cut, f, dictionary, nullptr));
            if (split.beats(best))
                best = split;
            if (!takes_sets(node, f))
                continue;
            const Split set = histogram.best_set(
                tree.categories, f, hist, hist + tree.histogram.size(n_thresholds),
                n_thresholds, node.variances);
            if (set.beats(best))
                best = set;
        }
        return best;
    }

    // --- splits -------------------------------------------------------------

    // Divides the nodes that have a good split; returns those of their children that
    // are to be split here.
    std::vector<Waiting> split(std::vector<Waiting>& level) {
        struct Pair {
            Waiting* node;
            std::int32_t left;
        };
        std::vector<Waiting> children;
        children.reserve(2 * level.size());
        std::vector<Pair> pairs;
        for (Waiting& node : level) {
            Open& open = node.open;
            if (!open.split.found() ||
                !node.tree->target.accepts(open.split, open.totals, open.gain)) {
                end(node, false);
                continue;
            }
            pairs.push_back({&node, static_cast<std::int32_t>(children.size())});
            divide(node, children);
        }
        std::vector<Waiting*> lefts, all;
        for (const Pair& pair : pairs)
            lefts.push_back(&children[static_cast<std::size_t>(pair.left)]);
        for (Waiting& child : children)
            all.push_back(&child);
        measure(lefts);
        for (const Pair& pair : pairs)
            finish(*pair.node, children[static_cast<std::size_t>(pair.left)],
                   children[static_cast<std::size_t>(pair.left) + 1]);
        find_constant(all);
        return opened(std::move(children));
    }

    void divide(Waiting& node, std::vector<Waiting>& children) {
        Tree& tree = *node.tree;
        const Split& split = node.open.split;
        const std::uint8_t* codes = column(tree, split.feature);
        const std::int64_t middle =
            split.is_set
                ? tree.rows.partition(node.open.begin, node.open.end,
                                      CodeSetSide(codes, 1, tree.dictionary, split))
                : tree.rows.partition(node.open.begin, node.open.end,
                                      CodeSide(codes, 1, tree.dictionary, split));
        const auto child = static_cast<std::int32_t>(tree.top.nodes.size());
        tree.top.nodes.resize(tree.top.nodes.size() + 2);
        tree.top.n_rows.resize(tree.top.nodes.size());
        Waiting left{&tree, {}, {}, {}, {}, {}}, right{&tree, {}, {}, {}, {}, {}};
        place_children(node.open, middle, child, left.open, right.open);
        // What is constant in a node is so in its children.
        for (Waiting* side : {&left, &right}) {
            side->known = node.known;
            for (Known& known : side->known) {
                if (known == Known::varies)
                    known = Known::nothing;
            }
        }
        children.push_back(std::move(left));
        children.push_back(std::move(right));
    }

    void finish(Waiting& node, Waiting& left, Waiting& right) {
        Tree& tree = *node.tree;
        Split& split = node.open.split;
        tree.target.take_out(left.open.totals, node.open.totals);
        right.open.totals = std::move(node.open.totals);
        finish_split(tree.target, tree.dictionary, split, left.open, right.open,
                     tree.top.nodes[static_cast<std::size_t>(node.open.index)]);
        if (!tree.features.empty()) {
            GrownNode& grown =
                tree.top.nodes[static_cast<std::size_t>(node.open.index)];
            grown.feature = static_cast<std::int32_t>(
                tree.features[static_cast<std::size_t>(split.feature)]);
        }
    }

    // Of nodes whose totals are known: those that are split here. The others are left
    // to be grown apart.
    std::vector<Waiting> opened(std::vector<Waiting>&& nodes) {
        std::vector<Waiting> open;
        for (Waiting& node : nodes) {
            TopTree& top = node.tree->top;
            const auto index = static_cast<std::size_t>(node.open.index);
            if (top.nodes.empty()) {  // the root
                top.nodes.resize(1);
                top.n_rows.resize(1);
            }
            place(node.tree->target, node.open, top.nodes[index]);
            top.n_rows[index] = node.open.totals.n_rows;
            const bool splits = may_split(node.open, limits_, node.tree->target);
            if (splits && !is_apart(node))
                open.push_back(std::move(node));
            else
                end(node, splits);
        }
        return open;
    }

    bool is_apart(const Waiting& node) const {
        const std::int64_t n = node.open.totals.n_rows;
        return n <= settings_.apart_rows || (settings_.forest.tree.renew_thresholds &&
                                             n <= node.tree->n_rows / kRenewShare);
    }

    void end(const Waiting& node, bool splits) {
        const Open& open = node.open;
        ApartNode apart;
        apart.depth = open.depth;
        apart.key = open.key;
        if constexpr (requires { open.totals.lower; }) {
            apart.lower = open.totals.lower;
            apart.upper = open.totals.upper;
        }
        apart.tree_weight = node.tree->weight;
        apart.tree_rows = node.tree->n_rows;
        node.tree->top.lower.push_back(
            {open.index, splits, apart, open.begin, open.end});
    }

    OwnCodes codes_;
    Dictionary dictionary_;
    const TopSettings& settings_;
    NodeLimits limits_;
    Sum sum_;
    Team& team_;
    std::vector<std::unique_ptr<Tree>> trees_;
};

template <class Crit, class Count>
std::vector<TopTree> grow_class_tops(const OwnCodes& codes,
                                     const Dictionary& dictionary,
                                     const std::uint32_t* labels,
                                     const std::vector<const Count*>& counts,
                                     const TopSettings& settings, const Sum& sum,
                                     Team& team) {
    TopGrower<SharedClassHistogram<Crit, Count>> grower(codes, dictionary, settings,
                                                        sum, team);
    std::vector<ClassRows<Count>> every;
    for (const Count* own : counts)
        every.emplace_back(Sample<Count>{labels, own, nullptr, codes.n_rows},
                           RowOrder::by_label);
    grower.add_trees(std::move(every), counts[0] != nullptr,
                     [](std::int64_t total, const GrowSettings& tree) {
                         return ClassCounts<Crit, Count>(
                             tree.n_classes, static_cast<double>(total),
                             tree.min_weight_fraction_leaf, tree.min_impurity_decrease);
                     });
    return grower.grow();
}

}  // namespace

template <class Count>
std::vector<TopTree> grow_tops(const OwnCodes& codes, const Dictionary& dictionary,
                               const std::uint32_t* labels,
                               const std::vector<const Count*>& counts,
                               const TopSettings& settings, const Sum& sum,
                               Team& team) {
    return settings.forest.tree.criterion == Criterion::gini
               ? grow_class_tops<Gini>(codes, dictionary, labels, counts, settings, sum,
                                       team)
               : grow_class_tops<Entropy>(codes, dictionary, labels, counts, settings,
                                          sum, team);
}

template std::vector<TopTree> grow_tops(const OwnCodes&, const Dictionary&,
                                        const std::uint32_t*,
                                        const std::vector<const std::uint32_t*>&,
                                        const TopSettings&, const Sum&, Team&);
template std::vector<TopTree> grow_tops(const OwnCodes&, const Dictionary&,
                                        const std::uint32_t*,
                                        const std::vector<const std::uint64_t*>&,
                                        const TopSettings&, const Sum&, Team&);

std::vector<TopTree> grow_tops(const OwnCodes& codes, const Dictionary& dictionary,
                               const TargetColumns& columns,
                               const std::vector<const std::uint32_t*>& drawn,
                               const TopSettings& settings, const Sum& sum,
                               Team& team) {
    const GrowSettings& tree = settings.forest.tree;
    const std::int64_t n_draws = settings.forest.n_draws;
    const bool is_weighted = n_draws > 0 || columns.weights != nullptr;
    const MomentSample sample(columns, n_draws, counts_rows(tree, is_weighted),
                              is_centred(tree.criterion), tree.scale);
    return choose_moment_trees(tree.criterion, [&]<class Kind>(Kind) {
        using Target = typename Kind::Target;
        TopGrower<SharedMomentHistogram<typename Target::Criterion>> grower(
            codes, dictionary, settings, sum, team);
        std::vector<MomentRows> every;
        for (const std::uint32_t* own : drawn)
            every.emplace_back(sample, own);
        grower.add_trees(std::move(every), is_weighted,
                         [&](std::int64_t total, const GrowSettings& own) {
                             return Target(sample, total, own.min_weight_fraction_leaf,
                                           own.min_impurity_decrease, own.monotonic);
                         });
        return grower.grow();
    });
}

MomentScale scale_of(const TargetColumns& columns, const ForestSettings& settings) {
    return MomentSample(columns, settings.n_draws, false,
                        is_centred(settings.tree.criterion))
        .scale();
}

void join_spreads(Criterion criterion, std::span<const std::int32_t> left,
                  int n_outputs, double* weights, double* sums, double* means) {
    const SpreadRule rule(criterion, static_cast<std::size_t>(n_outputs));
    const std::size_t width = rule.n_outputs();
    for (std::size_t i = left.size(); i-- > 0;) {
        if (left[i] < 0)
            continue;
        const auto a = static_cast<std::size_t>(left[i]);
        const Spread both = rule.join({weights[a], sums[a]}, means + a * width,
                                      {weights[a + 1], sums[a + 1]},
                                      means + (a + 1) * width, means + i * width);
        weights[i] = both.weight;
        sums[i] = both.sum;
    }
}

}  // namespace dics
