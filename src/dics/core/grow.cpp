#include "grow.hpp"

#include <deque>
#include <limits>

#include "candidate_search.hpp"
#include "histogram_search.hpp"

namespace dics {
namespace {

// A node of at least this much work (rows times columns looked at) is searched by all
// threads together; below it whole subtrees are handed out, one thread each.
constexpr std::int64_t kSharedWork = 1 << 16;
// Fewer than this in all: no thread is started.
constexpr std::int64_t kParallelWork = 1 << 18;

struct GrownNode {
    std::int32_t feature = -1;
    float threshold = std::numeric_limits<float>::quiet_NaN();
    bool missing_left = false;
    std::int32_t left = -1, right = -1;
    std::int64_t begin = 0, end = 0;
};

// A subtree put off for one thread: it replaces node `place` of the tree.
struct Subtree {
    OpenNode root;
    std::vector<GrownNode> nodes;
};

template <class Search>
class Grower {
    using Count = typename Search::Count;
    using Crit = typename Search::Criterion;
    using Context = typename Search::Context;

  public:
    Grower(Search& search, NodeRows<Count>& rows, const Dictionary& dictionary,
           const GrowSettings& settings, Team& team)
        : search_(search), r_(rows), dictionary_(dictionary), settings_(settings),
          team_(team) {
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(r_.rows.size()); ++i) {
            total_weight_ += static_cast<double>(r_.count(i));
        }
    }

    std::vector<GrownNode> grow() {
        OpenNode root;
        root.end = static_cast<std::int64_t>(r_.rows.size());
        root.key = mix(settings_.seed);
        std::vector<GrownNode> nodes(1);
        nodes[0].end = root.end;
        if (!may_split(root)) return nodes;
        const bool parallel = settings_.reuse_splits && team_.size() > 1 &&
                              search_.work(root) >= kParallelWork;
        std::vector<Subtree> put_off;
        {
            Context context = search_.make_context();
            grow_from(root, nodes, context, 0, parallel ? &put_off : nullptr);
        }
        std::vector<Context> contexts;
        for (int t = 0; t < team_.size(); ++t) contexts.push_back(search_.make_context());
        team_.run(static_cast<std::int64_t>(put_off.size()), true,
                  [&](std::int64_t i, int thread) {
                      Subtree& subtree = put_off[static_cast<std::size_t>(i)];
                      OpenNode local = subtree.root;
                      local.index = 0;
                      subtree.nodes.resize(1);
                      subtree.nodes[0].begin = local.begin;
                      subtree.nodes[0].end = local.end;
                      grow_from(local, subtree.nodes,
                                contexts[static_cast<std::size_t>(thread)], thread,
                                nullptr);
                  });
        for (const Subtree& subtree : put_off) graft(subtree, nodes);
        return nodes;
    }

  private:
    // Line 2 of Algorithm 2, and the limits users of scikit-learn know.
    bool may_split(const OpenNode& node) const {
        const std::int64_t n = node.size();
        if (node.depth >= settings_.max_depth || n < settings_.min_samples_split ||
            n < 2 * settings_.min_samples_leaf) {
            return false;
        }
        const std::uint32_t* labels = r_.labels.data();
        for (std::int64_t i = node.begin + 1; i < node.end; ++i) {
            if (labels[i] != labels[node.begin]) return true;
        }
        return false;
    }

    // Grows everything below `first`. With put_off, nodes too small to share are left
    // there instead.
    void grow_from(const OpenNode& first, std::vector<GrownNode>& nodes, Context& context,
                   int thread, std::vector<Subtree>* put_off) {
        std::vector<OpenNode> open{first};
        while (!open.empty()) {
            team_.check(thread);
            OpenNode node = open.back();
            open.pop_back();
            context.totals.template measure<Crit>(r_, node, settings_.n_classes);
            Split split = search_.find(node, context, put_off != nullptr, thread);
            if (!split.found() || !worth_it(split, context)) {
                search_.drop(node, context);
                continue;
            }
            OpenNode left, right;
            divide(node, split, nodes, left, right);
            if constexpr (requires { search_.use(split); }) search_.use(split);
            bool left_open = may_split(left);
            bool right_open = may_split(right);
            if (put_off) {
                left_open = left_open && !postpone(left, *put_off);
                right_open = right_open && !postpone(right, *put_off);
            }
            const bool left_smaller = left.size() <= right.size();
            search_.pass_on(node, left_smaller ? left : right,
                            left_smaller ? left_open : right_open,
                            left_smaller ? right : left,
                            left_smaller ? right_open : left_open, context);
            // The last one pushed is next: the smaller child, so that few histograms
            // wait; or the left one, in the order of the paper's recursion, when a used
            // split is gone for the nodes after it.
            const bool left_next = left_smaller || !settings_.reuse_splits;
            if (left_next) {
                if (right_open) open.push_back(right);
                if (left_open) open.push_back(left);
            } else {
                if (left_open) open.push_back(left);
                if (right_open) open.push_back(right);
            }
        }
    }

    bool postpone(const OpenNode& node, std::vector<Subtree>& put_off) const {
        if (search_.work(node) >= kSharedWork) return false;
        put_off.push_back({node, {}});
        return true;
    }

    bool worth_it(const Split& split, const Context& context) const {
        const double purity =
            Crit::template purity<Count>(context.totals.sum, context.totals.weight);
        const double decrease =
            (split.score - purity) / Crit::template kUnit<Count> / total_weight_;
        return settings_.min_impurity_decrease <= 0 ||
               decrease + std::numeric_limits<double>::epsilon() >=
                   settings_.min_impurity_decrease;
    }

    // Lines 10 and 11: the rows go to the two sides.
    void divide(const OpenNode& node, Split& split, std::vector<GrownNode>& nodes,
                OpenNode& left, OpenNode& right) {
        const std::int64_t middle =
            r_.partition(node.begin, node.end, [&](std::uint32_t row) {
                return search_.goes_left(split, row);
            });
        // No NaN seen here: later ones go with the larger child.
        if (!split.saw_missing) {
            split.missing_left = weight_of(node.begin, middle) >= weight_of(middle, node.end);
        }
        const auto child = static_cast<std::int32_t>(nodes.size());
        nodes.resize(nodes.size() + 2);
        GrownNode& grown = nodes[static_cast<std::size_t>(node.index)];
        grown.feature = split.feature;
        grown.threshold = split.index < 0
                              ? -std::numeric_limits<float>::infinity()
                              : dictionary_.thresholds(split.feature)[split.index];
        grown.missing_left = split.missing_left;
        grown.left = child;
        grown.right = child + 1;
        for (OpenNode* side : {&left, &right}) {
            const bool is_right = side == &right;
            side->index = child + (is_right ? 1 : 0);
            side->begin = is_right ? middle : node.begin;
            side->end = is_right ? node.end : middle;
            side->depth = node.depth + 1;
            side->key = child_key(node.key, is_right);
            nodes[static_cast<std::size_t>(side->index)].begin = side->begin;
            nodes[static_cast<std::size_t>(side->index)].end = side->end;
        }
    }

    Count weight_of(std::int64_t begin, std::int64_t end) const {
        if (!r_.weighted()) return static_cast<Count>(end - begin);
        Count weight = 0;
        for (std::int64_t i = begin; i < end; ++i) weight += r_.counts[i];
        return weight;
    }

    static void graft(const Subtree& subtree, std::vector<GrownNode>& nodes) {
        const auto offset = static_cast<std::int32_t>(nodes.size()) - 1;
        auto moved = [offset](GrownNode node) {
            if (node.left >= 0) {
                node.left += offset;
                node.right += offset;
            }
            return node;
        };
        nodes[static_cast<std::size_t>(subtree.root.index)] = moved(subtree.nodes[0]);
        for (std::size_t i = 1; i < subtree.nodes.size(); ++i) {
            nodes.push_back(moved(subtree.nodes[i]));
        }
    }

    Search& search_;
    NodeRows<Count>& r_;
    Dictionary dictionary_;
    const GrowSettings& settings_;
    Team& team_;
    double total_weight_ = 0;
};

template <class Count>
void add_leaf_values(const GrownNode& node, const NodeRows<Count>& r,
                     const double* weights, int n_classes, TreeArrays& tree) {
    const std::size_t first = tree.leaf_values.size();
    tree.leaf_values.resize(first + static_cast<std::size_t>(n_classes));
    double total = 0;
    for (std::int64_t i = node.begin; i < node.end; ++i) {
        const double weight = weights ? weights[r.rows[i]] : 1.0;
        tree.leaf_values[first + r.labels[i]] += weight;
        total += weight;
    }
    for (std::size_t c = first; c < tree.leaf_values.size(); ++c) {
        tree.leaf_values[c] /= total;
    }
    tree.weight.back() = total;
}

// Breadth-first order, whatever the order of growth was.
template <class Count>
TreeArrays flatten(const std::vector<GrownNode>& nodes, const NodeRows<Count>& r,
                   const double* weights, int n_classes) {
    TreeArrays tree;
    std::int32_t next = 1;
    std::int32_t n_leaves = 0;
    std::deque<std::int32_t> queue{0};
    while (!queue.empty()) {
        const GrownNode& node = nodes[static_cast<std::size_t>(queue.front())];
        queue.pop_front();
        const bool leaf = node.feature < 0;
        tree.feature.push_back(node.feature);
        tree.threshold.push_back(node.threshold);
        tree.missing_left.push_back(node.missing_left ? 1 : 0);
        tree.n_samples.push_back(static_cast<std::int32_t>(node.end - node.begin));
        tree.left.push_back(leaf ? n_leaves++ : next);
        tree.weight.push_back(0);
        if (leaf) {
            add_leaf_values(node, r, weights, n_classes, tree);
        } else {
            queue.push_back(node.left);
            queue.push_back(node.right);
            next += 2;
        }
    }
    for (std::size_t i = tree.feature.size(); i-- > 0;) {
        if (tree.feature[i] < 0) continue;
        const auto left = static_cast<std::size_t>(tree.left[i]);
        tree.weight[i] = tree.weight[left] + tree.weight[left + 1];
    }
    return tree;
}

template <class Search, class Count>
TreeArrays grow_with(Search& search, NodeRows<Count>& rows, const Dictionary& dictionary,
                     const Sample<Count>& sample, const GrowSettings& settings,
                     Team& team) {
    Grower<Search> grower(search, rows, dictionary, settings, team);
    return flatten(grower.grow(), rows, sample.weights, settings.n_classes);
}

}  // namespace

template <class Count>
TreeArrays grow_from_codes(const Codes& codes, const Dictionary& dictionary,
                           const Sample<Count>& sample, const GrowSettings& settings,
                           Team& team) {
    NodeRows<Count> rows(sample);
    if (settings.criterion == Criterion::gini) {
        HistogramSearch<Gini, Count> search(codes, dictionary, rows, settings, team);
        return grow_with(search, rows, dictionary, sample, settings, team);
    }
    HistogramSearch<Entropy, Count> search(codes, dictionary, rows, settings, team);
    return grow_with(search, rows, dictionary, sample, settings, team);
}

template <class Count>
TreeArrays grow_from_values(const AnyMatrix& any, const Dictionary& dictionary,
                            const Sample<Count>& sample, const GrowSettings& settings,
                            Team& team) {
    NodeRows<Count> rows(sample);
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            if (settings.criterion == Criterion::gini) {
                CandidateSearch<T, Gini, Count> search(X, dictionary, rows, settings, team);
                return grow_with(search, rows, dictionary, sample, settings, team);
            }
            CandidateSearch<T, Entropy, Count> search(X, dictionary, rows, settings, team);
            return grow_with(search, rows, dictionary, sample, settings, team);
        },
        any);
}

template TreeArrays grow_from_codes(const Codes&, const Dictionary&,
                                    const Sample<std::uint32_t>&, const GrowSettings&,
                                    Team&);
template TreeArrays grow_from_codes(const Codes&, const Dictionary&,
                                    const Sample<std::uint64_t>&, const GrowSettings&,
                                    Team&);
template TreeArrays grow_from_values(const AnyMatrix&, const Dictionary&,
                                     const Sample<std::uint32_t>&, const GrowSettings&,
                                     Team&);
template TreeArrays grow_from_values(const AnyMatrix&, const Dictionary&,
                                     const Sample<std::uint64_t>&, const GrowSettings&,
                                     Team&);

}  // namespace dics
