// The recursion of Algorithm 2, without recursing: open nodes wait on a stack, and
// subtrees too small for all threads to share are handed out whole.
#pragma once

#include <limits>
#include <vector>

#include "grow/node.hpp"

namespace dics {

// A node of at least this much work (rows times columns looked at) is searched by all
// threads together; below it whole subtrees are handed out, one thread each.
inline constexpr std::int64_t kSharedWork = 1 << 16;
// Fewer than this in all: no thread is started.
inline constexpr std::int64_t kParallelWork = 1 << 18;

struct GrownNode {
    std::int32_t feature = -1;
    float threshold = std::numeric_limits<float>::quiet_NaN();
    bool missing_left = false;
    std::int32_t left = -1, right = -1;
    std::int64_t begin = 0, end = 0;
};

// A subtree that was grown apart; its root takes the place of node root.index.
struct Subtree {
    OpenNode root;
    std::vector<GrownNode> nodes;
};

inline void graft(const Subtree& subtree, std::vector<GrownNode>& nodes) {
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

// Grows the subtree of a node from a dictionary of its own, made from the node's rows.
// The dictionary of all rows is too coarse for a deep node of narrow data (Remark 1 of
// the paper), while 254 even cuts of a sixteenth of the rows are fine enough for it.
template <class Count>
class Renewal {
  public:
    virtual ~Renewal() = default;
    virtual bool due(std::int64_t n_rows) const = 0;
    virtual std::vector<GrownNode> grow(const OpenNode& node, NodeRows<Count>& rows,
                                        Team& team) const = 0;
};

template <class Search>
class Grower {
    using Count = typename Search::Count;
    using Crit = typename Search::Criterion;
    using Context = typename Search::Context;

  public:
    // `total_weight` is that of the whole tree's rows; `renewal` may be null.
    Grower(Search& search, NodeRows<Count>& rows, const Dictionary& dictionary,
           const GrowSettings& settings, double total_weight,
           const Renewal<Count>* renewal, Team& team)
        : search_(search),
          r_(rows),
          dictionary_(dictionary),
          settings_(settings),
          total_weight_(total_weight),
          renewal_(renewal),
          team_(team) {}

    // `root` owns all rows; its depth and key say where it stands in the whole tree.
    std::vector<GrownNode> grow(const OpenNode& root) {
        std::vector<GrownNode> nodes(1);
        nodes[0].end = root.end;
        if (!may_split(root))
            return nodes;
        const bool parallel = settings_.reuse_splits && team_.size() > 1 &&
                              search_.work(root) >= kParallelWork;
        std::vector<Subtree> put_off;
        {
            Context context = search_.make_context(1);
            grow_from(root, nodes, context, 0, parallel ? &put_off : nullptr);
        }
        std::vector<Context> contexts;
        for (int t = 0; t < team_.size(); ++t) {
            contexts.push_back(search_.make_context(team_.size()));
        }
        team_.run(static_cast<std::int64_t>(put_off.size()), true,
                  [&](std::int64_t i, int thread) {
                      grow_apart(put_off[static_cast<std::size_t>(i)],
                                 contexts[static_cast<std::size_t>(thread)], thread);
                  });
        for (const Subtree& subtree : put_off)
            graft(subtree, nodes);
        return nodes;
    }

  private:
    // A team of one for work inside a task of our team; it stops when ours does.
    Team on_thread(int thread) {
        return Team(1, [this, thread] {
            team_.check(thread);
            return false;
        });
    }

    void grow_apart(Subtree& subtree, Context& context, int thread) {
        if (renewal_ && renewal_->due(subtree.root.size())) {
            Team alone = on_thread(thread);
            subtree.nodes = renewal_->grow(subtree.root, r_, alone);
            return;
        }
        OpenNode local = subtree.root;
        local.index = 0;
        subtree.nodes.resize(1);
        subtree.nodes[0].begin = local.begin;
        subtree.nodes[0].end = local.end;
        grow_from(local, subtree.nodes, context, thread, nullptr);
    }

    // Line 2 of Algorithm 2, and the limits users of scikit-learn know.
    bool may_split(const OpenNode& node) const {
        const std::int64_t n = node.size();
        if (node.depth >= settings_.max_depth || n < settings_.min_samples_split ||
            n < 2 * settings_.min_samples_leaf) {
            return false;
        }
        const std::uint32_t* labels = r_.labels.data();
        for (std::int64_t i = node.begin + 1; i < node.end; ++i) {
            if (labels[i] != labels[node.begin])
                return true;
        }
        return false;
    }

    // Grows everything below `first`. With put_off, nodes too small to share are left
    // there instead.
    void grow_from(const OpenNode& first, std::vector<GrownNode>& nodes,
                   Context& context, int thread, std::vector<Subtree>* put_off) {
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
            if constexpr (requires { search_.use(split); })
                search_.use(split);
            const bool left_open =
                may_split(left) && !grown_apart(left, nodes, put_off, thread);
            const bool right_open =
                may_split(right) && !grown_apart(right, nodes, put_off, thread);
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
                if (right_open)
                    open.push_back(right);
                if (left_open)
                    open.push_back(left);
            } else {
                if (left_open)
                    open.push_back(left);
                if (right_open)
                    open.push_back(right);
            }
        }
    }

    // True if the subtree of `node` is put off or done already.
    bool grown_apart(const OpenNode& node, std::vector<GrownNode>& nodes,
                     std::vector<Subtree>* put_off, int thread) {
        if (put_off && search_.work(node) < kSharedWork) {
            put_off->push_back({node, {}});
            return true;
        }
        if (!renewal_ || !renewal_->due(node.size()))
            return false;
        Team alone = on_thread(thread);
        graft({node, renewal_->grow(node, r_, put_off ? team_ : alone)}, nodes);
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
            r_.partition(node.begin, node.end, search_.left_side(split));
        // No NaN seen here: later ones go with the larger child.
        if (!split.saw_missing) {
            split.missing_left =
                weight_of(node.begin, middle) >= weight_of(middle, node.end);
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
        if (!r_.weighted())
            return static_cast<Count>(end - begin);
        Count weight = 0;
        for (std::int64_t i = begin; i < end; ++i)
            weight += r_.counts[i];
        return weight;
    }

    Search& search_;
    NodeRows<Count>& r_;
    Dictionary dictionary_;
    const GrowSettings& settings_;
    double total_weight_;
    const Renewal<Count>* renewal_;
    Team& team_;
};

}  // namespace dics
