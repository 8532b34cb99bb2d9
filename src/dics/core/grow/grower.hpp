// Grows a tree for every target, search and frontier: the recursion of Algorithm 2
// without recursing. Subtrees too small for all threads to share are handed out whole.
#pragma once

#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collective/sum.hpp"
#include "data/matrix.hpp"
#include "grow/frontier.hpp"
#include "grow/grow.hpp"
#include "grow/node.hpp"
#include "team.hpp"

namespace dics {

// Fewer than this in all: no thread is started.
inline constexpr std::int64_t kParallelWork = 1 << 18;

// Grows the subtree of a node from a dictionary of its own, made from the node's rows.
// The dictionary of all rows is too coarse for a deep node of narrow data (Remark 1 of
// the paper), while 254 quantiles of a sixteenth of the rows are fine enough for it.
template <class Target>
class Renewal {
  public:
    virtual ~Renewal() = default;
    virtual bool is_due(std::int64_t n_rows) const = 0;
    // With at most `max_leaf_nodes` leaves, by the splits that gain most.
    virtual std::vector<GrownNode> grow(const OpenNode<typename Target::Totals>& node,
                                        typename Target::Rows& rows,
                                        std::int64_t max_leaf_nodes,
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
    // A child of a node that was split ahead of its turn.
    struct Ahead {
        Open open;
        bool is_open;
    };
    // State that the nodes of one thread share.
    struct Growth {
        std::vector<GrownNode>& nodes;
        Context& context;
        int thread;
        std::vector<Subtree>* put_off;  // where nodes too small to share go, or null
        Frontier frontier;
        std::vector<Totals> spare{};  // memory of nodes that are finished
        std::unordered_map<std::int32_t, Ahead> ahead{};  // by the number of the node
    };

  public:
    // `renewal` may be null.
    Grower(const Target& target, Search& search, Rows& rows,
           const Dictionary& dictionary, const NodeLimits& limits,
           const Renewal<Target>* renewal, Team& team, const Sum& sum = {})
        : target_(target),
          search_(search),
          r_(rows),
          dictionary_(dictionary),
          limits_(limits),
          renewal_(renewal),
          sum_(sum),
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
        Growth growth{nodes, context, 0, hands_out ? &put_off : nullptr,
                      Frontier(limits_)};
        grow_from(std::move(root), growth);
        if (!put_off.empty())
            grow_subtrees(put_off, nodes);
        return nodes;
    }

  private:
    static constexpr std::int64_t kAhead = 4;

    void grow_subtrees(std::vector<Subtree>& put_off, std::vector<GrownNode>& nodes) {
        std::vector<Context> contexts;
        for (int t = 0; t < team_.size(); ++t)
            contexts.push_back(search_.make_context(team_.size()));
        team_.run(static_cast<std::int64_t>(put_off.size()), true,
                  [&](std::int64_t i, int thread) {
                      grow_subtree(put_off[i], contexts[thread], thread);
                  });
        for (const Subtree& subtree : put_off)
            graft(subtree.nodes, subtree.root.index, nodes);
    }

    void grow_subtree(Subtree& subtree, Context& context, int thread) {
        if (is_renewed(subtree.root)) {
            Team alone(1);
            subtree.nodes =
                renewal_->grow(subtree.root, r_, limits_.max_leaf_nodes, alone);
            return;
        }
        Open local = subtree.root;
        local.index = 0;
        subtree.nodes.resize(1);
        place(local, subtree.nodes[0]);
        Growth growth{subtree.nodes, context, thread, nullptr, Frontier(limits_)};
        grow_from(std::move(local), growth);
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

    // Grows everything below `first`.
    void grow_from(Open first, Growth& growth) {
        Frontier& frontier = growth.frontier;
        if (Frontier::kSearchesFirst)
            search(&first, nullptr, growth);
        push(first, true, growth);
        while (!frontier.empty() && !frontier.is_full()) {
            Team::check();
            if constexpr (Frontier::kSearchesFirst) {
                if (!sum_.is_alone())
                    split_ahead(growth);
            }
            Open node = frontier.pop();
            if (node.is_grown) {
                open_grown(node, growth);
                continue;
            }
            if (!Frontier::kSearchesFirst) {
                search(&node, nullptr, growth);
                if (!is_accepted(node)) {
                    finish(node, growth);
                    continue;
                }
            }
            split(node, growth);
        }
        while (!frontier.empty()) {
            Open node = frontier.pop();
            if (node.is_grown)
                make_leaf(growth.nodes[node.index]);
            finish(node, growth);
        }
        for (auto& [index, child] : growth.ahead)
            finish(child.open, growth);
    }

    // With peers, to search nodes costs a sum, however many they are: those that are
    // likely to be next are split together, and their children wait for their turn.
    // Trees of 31 leaves take 11 sums instead of 30, for a tenth more children.
    void split_ahead(Growth& growth) {
        if constexpr (requires(std::vector<Open*> nodes) {
                          search_.find_together(nodes, growth.context);
                      }) {
            const std::vector<Open*> next = growth.frontier.next(kAhead);
            if (next.empty() || next[0]->is_grown)
                return;
            std::vector<Open*> searched;
            for (Open* node : next) {
                if (!node->is_grown)
                    split_early(*node, growth, searched);
            }
            if (!searched.empty())
                search_.find_together(searched, growth.context);
        }
    }

    // Adds those of its children that have to be searched, the smaller first.
    void split_early(Open& node, Growth& growth, std::vector<Open*>& searched) {
        Open left, right;
        divide(node, left, right, growth);
        const bool left_open = may_split(left), right_open = may_split(right);
        const bool left_smaller = left.totals.n_rows <= right.totals.n_rows;
        const std::int32_t first = left.index, second = right.index;
        Ahead& a = growth.ahead.emplace(first, Ahead{std::move(left), left_open})
                       .first->second;
        Ahead& b = growth.ahead.emplace(second, Ahead{std::move(right), right_open})
                       .first->second;
        Ahead& smaller = left_smaller ? a : b;
        Ahead& larger = left_smaller ? b : a;
        search_.hand_over(node, smaller.open, smaller.is_open, larger.open,
                          larger.is_open, growth.context);
        node.hist = -1;  // it is a child's now, or free
        for (Ahead* child : {&smaller, &larger}) {
            if (child->is_open)
                searched.push_back(&child->open);
        }
        node.is_grown = true;
    }

    // Lets the children of a node that is grown already compete with the others.
    void open_grown(const Open& node, Growth& growth) {
        const std::int32_t left = growth.nodes[node.index].left;
        for (const std::int32_t child : {left, left + 1}) {
            if (auto ready = growth.ahead.extract(child)) {
                push(ready.mapped().open, ready.mapped().is_open, growth);
                continue;
            }
            Open open;
            open.index = child;
            open.is_grown = true;
            push(open, false, growth);
        }
    }

    // Splits a node and opens its children.
    void split(Open& node, Growth& growth) {
        Open left, right;
        divide(node, left, right, growth);
        if constexpr (requires { search_.use(node.split); })
            search_.use(node.split);
        const bool left_open = is_opened(left, growth);
        const bool right_open = is_opened(right, growth);
        const bool left_smaller = left.totals.n_rows <= right.totals.n_rows;
        Open& smaller = left_smaller ? left : right;
        Open& larger = left_smaller ? right : left;
        const bool smaller_open = left_smaller ? left_open : right_open;
        const bool larger_open = left_smaller ? right_open : left_open;
        search_.hand_over(node, smaller, smaller_open, larger, larger_open,
                          growth.context);
        if (Frontier::kSearchesFirst && (smaller_open || larger_open))
            search(smaller_open ? &smaller : &larger,
                   smaller_open && larger_open ? &larger : nullptr, growth);
        const bool left_next = growth.frontier.left_is_next(left_smaller);
        push(left_next ? right : left, left_next ? right_open : left_open, growth);
        push(left_next ? left : right, left_next ? left_open : right_open, growth);
    }

    // Finds the best split of a node, or of two siblings, the smaller first. Searches
    // may use all threads unless this one is theirs alone.
    void search(Open* one, Open* other, Growth& growth) {
        Open* both[] = {one, other};
        const bool shared = growth.put_off != nullptr || Frontier::kSearchesFirst;
        search_.find(both, other ? 2 : 1, growth.context, shared, growth.thread);
    }

    void push(Open& node, bool is_open, Growth& growth) {
        if (node.is_grown) {
            const GrownNode& grown = growth.nodes[node.index];
            node.gain = grown.gain;
            is_open = grown.left >= 0;
        } else if (is_open && Frontier::kSearchesFirst) {
            is_open = is_accepted(node);
        }
        if (is_open)
            growth.frontier.push(std::move(node));
        else
            finish(node, growth);
    }

    // The node is a leaf, or grown by another thread.
    void finish(Open& node, Growth& growth) {
        search_.release(node, growth.context);
        growth.spare.push_back(std::move(node.totals));
    }

    // Is the node to be split here? If not, it is a leaf, put off or grown already.
    bool is_opened(Open& node, Growth& growth) {
        if (growth.frontier.is_full() || !may_split(node))
            return false;
        if (growth.put_off && search_.work(node) < kSharedWork) {
            growth.put_off->push_back({node, {}});
            return false;
        }
        if (!is_renewed(node))
            return true;
        renew(node, growth);
        return false;
    }

    void renew(Open& node, Growth& growth) {
        std::int64_t max_leaf_nodes = limits_.max_leaf_nodes;
        if constexpr (Frontier::kSearchesFirst)
            max_leaf_nodes = growth.frontier.n_leaves_left();
        Team alone(1);
        const bool shared = growth.put_off || Frontier::kSearchesFirst;
        Team& team = shared && search_.work(node) >= kSharedWork ? team_ : alone;
        graft(renewal_->grow(node, r_, max_leaf_nodes, team), node.index, growth.nodes);
        node.is_grown = Frontier::kSearchesFirst;
    }

    bool is_accepted(Open& node) const {
        return node.split.found() &&
               target_.accepts(node.split, node.totals, node.gain);
    }

    // Lines 10 and 11: the rows go to the two sides.
    void divide(Open& node, Open& left, Open& right, Growth& growth) {
        std::vector<GrownNode>& nodes = growth.nodes;
        Split& split = node.split;
        const std::int64_t middle = partition(node, split);
        const auto child = static_cast<std::int32_t>(nodes.size());
        nodes.resize(nodes.size() + 2);
        place_children(node, middle, child, left, right);
        if (!growth.spare.empty()) {
            left.totals = std::move(growth.spare.back());
            growth.spare.pop_back();
        }
        // All contributors count the same side; the other is the rest of the node.
        if (search_.read_left_totals(node, growth.context, left.totals))
            target_.subtract(left.totals, node.totals);
        else
            target_.split_totals(r_, left.begin, left.end, right.end, sum_, node.totals,
                                 left.totals);
        right.totals = std::move(node.totals);
        if constexpr (requires { search_.interactions_below(node); })
            left.interactions = right.interactions = search_.interactions_below(node);
        GrownNode& grown = nodes[node.index];
        finish_split(split, left, right, grown);
        grown.gain = node.gain;
        place(left, nodes[child]);
        place(right, nodes[child + 1]);
    }

    // The children of a node, number `child` and the one after it, whose rows were
    // divided in the middle.
    static void place_children(const Open& node, std::int64_t middle,
                               std::int32_t child, Open& left, Open& right) {
        for (Open* side : {&left, &right}) {
            const bool is_right = side == &right;
            side->index = child + (is_right ? 1 : 0);
            side->begin = is_right ? middle : node.begin;
            side->end = is_right ? node.end : middle;
            side->depth = node.depth + 1;
            side->key = child_key(node.key, is_right);
        }
    }

    // Once the totals of both children are known.
    void finish_split(Split& split, Open& left, Open& right, GrownNode& grown) const {
        if constexpr (requires {
                          target_.set_bounds(split, left.totals, right.totals);
                      })
            target_.set_bounds(split, left.totals, right.totals);
        // No NaN seen here: later ones go with the larger child.
        if (!split.saw_missing)
            split.missing_left = target_.left_is_larger(left.totals, right.totals);
        grown.feature = split.feature;
        grown.index = split.index;
        grown.threshold = split.index < 0
                              ? -std::numeric_limits<double>::infinity()
                              : dictionary_.thresholds(split.feature)[split.index];
        if (split.is_set) {
            grown.is_set = true;
            grown.left_codes = split.left;
            grown.threshold = 0;
        }
        grown.missing_left = split.missing_left;
        grown.left = left.index;
    }

    std::int64_t partition(const Open& node, const Split& split) {
        if constexpr (requires { search_.set_side(split); }) {
            if (split.is_set)
                return r_.partition(node.begin, node.end, search_.set_side(split));
        }
        return r_.partition(node.begin, node.end, search_.side(split));
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

// The root of a tree.
template <class Target>
OpenNode<typename Target::Totals> root_node(const Target& target,
                                            const typename Target::Rows& rows,
                                            std::uint64_t key) {
    OpenNode<typename Target::Totals> root;
    root.end = rows.size();
    root.key = key;
    target.measure(rows, 0, root.end, {}, root.totals);
    return root;
}

// Grows a tree: with a limit of leaves, the best gain first; otherwise depth first,
// where subtrees can be handed out to threads.
template <class Search>
std::vector<GrownNode> grow_nodes(const typename Search::Target& target, Search& search,
                                  typename Search::Target::Rows& rows,
                                  const Dictionary& dictionary,
                                  const NodeLimits& limits,
                                  const Renewal<typename Search::Target>* renewal,
                                  Team& team,
                                  OpenNode<typename Search::Target::Totals> root) {
    if (renewal && renewal->is_due(root.totals.n_rows))
        return renewal->grow(root, rows, limits.max_leaf_nodes, team);
    if (limits.limits_leaves())
        return Grower<Search, BestFirst>(target, search, rows, dictionary, limits,
                                         renewal, team)
            .grow(std::move(root));
    return Grower<Search>(target, search, rows, dictionary, limits, renewal, team)
        .grow(std::move(root));
}

}  // namespace dics
