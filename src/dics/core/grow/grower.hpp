// Grows a tree, whatever its target adds up, its search looks at and its frontier
// takes next: the recursion of Algorithm 2 without recursing. Subtrees too small for
// all threads to share are handed out whole.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "data/matrix.hpp"
#include "grow/frontier.hpp"
#include "grow/node.hpp"
#include "sum.hpp"
#include "team.hpp"

namespace dics {

// A node of at least this much work (rows times columns looked at) is searched by all
// threads together; below it whole subtrees are handed out, one thread each.
inline constexpr std::int64_t kSharedWork = 1 << 16;
// Fewer than this in all: no thread is started.
inline constexpr std::int64_t kParallelWork = 1 << 18;

// Grows the subtree of a node from a dictionary of its own, made from the node's rows.
// The dictionary of all rows is too coarse for a deep node of narrow data (Remark 1 of
// the paper), while 254 even cuts of a sixteenth of the rows are fine enough for it.
template <class Target>
class Renewal {
  public:
    virtual ~Renewal() = default;
    virtual bool is_due(std::int64_t n_rows) const = 0;
    virtual std::vector<GrownNode> grow(const OpenNode<typename Target::Totals>& node,
                                        typename Target::Rows& rows,
                                        Team& team) const = 0;
};

template <class Search, template <class> class FrontierOf = DepthFirst>
class Grower {
    using Target = typename Search::Target;
    using Rows = typename Target::Rows;
    using Totals = typename Target::Totals;
    using Open = OpenNode<Totals>;
    using Frontier = FrontierOf<Open>;
    using Context = typename Search::Context;
    struct Subtree {
        Open root;
        std::vector<GrownNode> nodes;
    };

  public:
    // `renewal` may be null.
    Grower(const Target& target, Search& search, Rows& rows,
           const Dictionary& dictionary, const NodeLimits& limits,
           const Renewal<Target>* renewal, Team& team)
        : target_(target),
          search_(search),
          r_(rows),
          dictionary_(dictionary),
          limits_(limits),
          renewal_(renewal),
          team_(team) {}

    // A tree of all rows.
    std::vector<GrownNode> grow(std::uint64_t key) {
        Open root;
        root.end = r_.size();
        root.key = key;
        target_.measure(r_, 0, root.end, sum_, root.totals);
        return grow(std::move(root));
    }

    // `root` owns all rows; its depth and key say where it stands in the whole tree.
    std::vector<GrownNode> grow(Open root) {
        Context context = search_.make_context(1);
        return grow(std::move(root), context);
    }

    std::vector<GrownNode> grow(Open root, Context& context) {
        std::vector<GrownNode> nodes(1);
        place(root, nodes[0]);
        if (!may_split(root))
            return nodes;
        const bool hands_out = !Frontier::kSearchesFirst && limits_.reuse_splits &&
                               team_.size() > 1 && search_.work(root) >= kParallelWork;
        std::vector<Subtree> put_off;
        grow_from(std::move(root), nodes, context, 0, hands_out ? &put_off : nullptr);
        if (!put_off.empty())
            grow_apart(put_off, nodes);
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

    void grow_apart(std::vector<Subtree>& put_off, std::vector<GrownNode>& nodes) {
        std::vector<Context> contexts;
        for (int t = 0; t < team_.size(); ++t)
            contexts.push_back(search_.make_context(team_.size()));
        team_.run(static_cast<std::int64_t>(put_off.size()), true,
                  [&](std::int64_t i, int thread) {
                      grow_subtree(put_off[static_cast<std::size_t>(i)],
                                   contexts[static_cast<std::size_t>(thread)], thread);
                  });
        for (const Subtree& subtree : put_off)
            graft(subtree.nodes, subtree.root.index, nodes);
    }

    void grow_subtree(Subtree& subtree, Context& context, int thread) {
        if (is_renewed(subtree.root)) {
            Team alone = on_thread(thread);
            subtree.nodes = renewal_->grow(subtree.root, r_, alone);
            return;
        }
        Open local = subtree.root;
        local.index = 0;
        subtree.nodes.resize(1);
        place(local, subtree.nodes[0]);
        grow_from(std::move(local), subtree.nodes, context, thread, nullptr);
    }

    // Line 2 of Algorithm 2, and the limits users of scikit-learn know.
    bool may_split(const Open& node) const {
        const std::int64_t n = node.totals.n_rows;
        return node.depth < limits_.max_depth && n >= limits_.min_samples_split &&
               n / 2 >= limits_.min_samples_leaf && !target_.is_done(node.totals);
    }

    bool is_renewed(const Open& node) const {
        return renewal_ && renewal_->is_due(node.totals.n_rows);
    }

    // Grows everything below `first`. With put_off, nodes too small to share are left
    // there instead.
    void grow_from(Open first, std::vector<GrownNode>& nodes, Context& context,
                   int thread, std::vector<Subtree>* put_off) {
        Frontier frontier(limits_);
        // Searches may use all threads unless this one is theirs alone.
        const bool shared = put_off != nullptr || Frontier::kSearchesFirst;
        std::vector<Totals> spare;
        auto search = [&](Open* one, Open* other) {
            Open* both[] = {one, other};
            search_.find(both, other ? 2 : 1, context, shared, thread);
        };
        auto finish = [&](Open& node) {
            search_.drop(node, context);
            spare.push_back(std::move(node.totals));
        };
        auto push = [&](Open& node, bool is_open) {
            if (is_open && (!Frontier::kSearchesFirst || is_accepted(node)))
                frontier.push(std::move(node));
            else
                finish(node);
        };
        if (Frontier::kSearchesFirst)
            search(&first, nullptr);
        push(first, true);
        while (!frontier.empty()) {
            team_.check(thread);
            Open node = frontier.pop();
            if (!Frontier::kSearchesFirst) {
                search(&node, nullptr);
                if (!is_accepted(node)) {
                    finish(node);
                    continue;
                }
            }
            Open left, right;
            divide(node, nodes, left, right, spare, context);
            if constexpr (requires { search_.use(node.split); })
                search_.use(node.split);
            const bool full = frontier.is_full();
            const bool left_open = !full && may_split(left) &&
                                   !is_grown_apart(left, nodes, put_off, thread);
            const bool right_open = !full && may_split(right) &&
                                    !is_grown_apart(right, nodes, put_off, thread);
            const bool left_smaller = left.totals.n_rows <= right.totals.n_rows;
            Open& smaller = left_smaller ? left : right;
            Open& larger = left_smaller ? right : left;
            const bool smaller_open = left_smaller ? left_open : right_open;
            const bool larger_open = left_smaller ? right_open : left_open;
            search_.pass_on(node, smaller, smaller_open, larger, larger_open, context);
            if (Frontier::kSearchesFirst && (smaller_open || larger_open))
                search(smaller_open ? &smaller : &larger,
                       smaller_open && larger_open ? &larger : nullptr);
            if (frontier.left_is_next(left_smaller)) {
                push(right, right_open);
                push(left, left_open);
            } else {
                push(left, left_open);
                push(right, right_open);
            }
            if (full)
                break;
        }
        while (!frontier.empty()) {
            Open node = frontier.pop();
            finish(node);
        }
    }

    // True if the subtree of `node` is put off or done already.
    bool is_grown_apart(const Open& node, std::vector<GrownNode>& nodes,
                        std::vector<Subtree>* put_off, int thread) {
        if (put_off && search_.work(node) < kSharedWork) {
            put_off->push_back({node, {}});
            return true;
        }
        if (!is_renewed(node))
            return false;
        Team alone = on_thread(thread);
        graft(renewal_->grow(node, r_, put_off ? team_ : alone), node.index, nodes);
        return true;
    }

    bool is_accepted(Open& node) const {
        return node.split.found() &&
               target_.accepts(node.split, node.totals, node.gain);
    }

    // Lines 10 and 11: the rows go to the two sides.
    void divide(Open& node, std::vector<GrownNode>& nodes, Open& left, Open& right,
                std::vector<Totals>& spare, Context& context) {
        Split& split = node.split;
        const std::int64_t middle =
            r_.partition(node.begin, node.end, search_.side(split));
        const auto child = static_cast<std::int32_t>(nodes.size());
        nodes.resize(nodes.size() + 2);
        for (Open* side : {&left, &right}) {
            const bool is_right = side == &right;
            side->index = child + (is_right ? 1 : 0);
            side->begin = is_right ? middle : node.begin;
            side->end = is_right ? node.end : middle;
            side->depth = node.depth + 1;
            side->key = child_key(node.key, is_right);
        }
        if (!spare.empty()) {
            (left.size() <= right.size() ? left : right).totals =
                std::move(spare.back());
            spare.pop_back();
        }
        add_up(node, left, right, context);
        // No NaN seen here: later ones go with the larger child.
        if (!split.saw_missing)
            split.missing_left = target_.left_is_larger(left.totals, right.totals);
        GrownNode& grown = nodes[static_cast<std::size_t>(node.index)];
        grown.feature = split.feature;
        grown.index = split.index;
        grown.threshold = split.index < 0
                              ? -std::numeric_limits<float>::infinity()
                              : dictionary_.thresholds(split.feature)[split.index];
        grown.missing_left = split.missing_left;
        grown.gain = node.gain;
        grown.left = child;
        place(left, nodes[static_cast<std::size_t>(child)]);
        place(right, nodes[static_cast<std::size_t>(child) + 1]);
    }

    // Totals of the two sides: read off the node's histograms, or counted for the side
    // that has fewer rows here; the other side is what is left of the node's.
    void add_up(Open& node, Open& left, Open& right, Context& context) {
        Open& counted = left.size() <= right.size() ? left : right;
        if (search_.read_left_totals(node, context, left.totals)) {
            target_.take_out(left.totals, node.totals);
            right.totals = std::move(node.totals);
            return;
        }
        target_.measure(r_, counted.begin, counted.end, sum_, counted.totals);
        target_.take_out(counted.totals, node.totals);
        (&counted == &left ? right : left).totals = std::move(node.totals);
    }

    // Where a node stands, and how pure it is.
    void place(const Open& open, GrownNode& grown) const {
        grown.begin = open.begin;
        grown.end = open.end;
        grown.depth = static_cast<std::int32_t>(open.depth);
        if (!target_.is_done(open.totals))
            grown.impurity = target_.impurity(open.totals);
    }

    const Target& target_;
    Search& search_;
    Rows& r_;
    Dictionary dictionary_;
    NodeLimits limits_;
    const Renewal<Target>* renewal_;
    Sum sum_;
    Team& team_;
};

}  // namespace dics
