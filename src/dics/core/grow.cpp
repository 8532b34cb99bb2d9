#include "grow.hpp"

#include <cmath>
#include <deque>
#include <limits>

#include "candidate_search.hpp"
#include "encode.hpp"
#include "histogram_search.hpp"
#include "thresholds.hpp"

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

// A subtree that was grown apart; its root takes the place of node root.index.
struct Subtree {
    OpenNode root;
    std::vector<GrownNode> nodes;
};

void graft(const Subtree& subtree, std::vector<GrownNode>& nodes) {
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
    void grow_apart(Subtree& subtree, Context& context, int thread) {
        if (renewal_ && renewal_->due(subtree.root.size())) {
            Team alone(1, nullptr);
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
                may_split(left) && !grown_apart(left, nodes, put_off);
            const bool right_open =
                may_split(right) && !grown_apart(right, nodes, put_off);
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
                     std::vector<Subtree>* put_off) {
        if (put_off && search_.work(node) < kSharedWork) {
            put_off->push_back({node, {}});
            return true;
        }
        if (!renewal_ || !renewal_->due(node.size()))
            return false;
        Team alone(1, nullptr);
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
        const std::int64_t middle = r_.partition(
            node.begin, node.end,
            [&](std::uint32_t row) { return search_.goes_left(split, row); });
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
        if (tree.feature[i] < 0)
            continue;
        const auto left = static_cast<std::size_t>(tree.left[i]);
        tree.weight[i] = tree.weight[left] + tree.weight[left + 1];
    }
    return tree;
}

template <class Count>
double total_count(const NodeRows<Count>& r) {
    double total = 0;
    for (std::size_t i = 0; i < r.rows.size(); ++i)
        total += static_cast<double>(r.count(i));
    return total;
}

// What min_weight_fraction_leaf means in whole numbers.
template <class Count>
Count least_weight(double total, const GrowSettings& settings) {
    return static_cast<Count>(std::ceil(total * settings.min_weight_fraction_leaf));
}

template <class Count>
OpenNode root_of(const NodeRows<Count>& r, const GrowSettings& settings) {
    OpenNode root;
    root.end = static_cast<std::int64_t>(r.rows.size());
    root.key = mix(settings.seed);
    return root;
}

// The dictionary in use, and how to make the next one from it.
template <class T, class Crit, class Count>
class RenewalStep : public Renewal<Count> {
  public:
    // `made_from` rows gave the dictionary; 0 if it is exact and need never be renewed.
    RenewalStep(const Matrix<T>& X, const double* weights, std::int64_t made_from,
                const Codes& codes, const Dictionary& dictionary, const Origin* origin,
                const GrowSettings& settings, double total_weight)
        : X_(X),
          weights_(weights),
          made_from_(made_from),
          codes_(codes),
          dictionary_(dictionary),
          origin_(origin),
          settings_(settings),
          total_weight_(total_weight) {}

    bool due(std::int64_t n_rows) const override {
        return n_rows <= made_from_ / kRenewShare;
    }

    std::vector<GrownNode> grow(const OpenNode& node, NodeRows<Count>& r,
                                Team& team) const override {
        const std::int64_t n = node.size();
        std::vector<T> values;
        std::vector<double> weights;
        copy_rows(r, node, values, weights);
        const double* local_weights = weights_ ? weights.data() : nullptr;
        const Matrix<T> local{values.data(), n, X_.n_cols, X_.n_cols, 1};

        const Thresholds made =
            make_thresholds(local, local_weights, nullptr, 0, kMaxThresholds,
                            settings_.renew_rows, node.key, team);
        const Dictionary dictionary{made.values.data(), made.offsets.data(), X_.n_cols};
        std::vector<std::uint8_t> space(
            static_cast<std::size_t>(codes_size(n, X_.n_cols, codes_.width)));
        encode(local, dictionary, codes_.width, team, space.data());
        const Codes codes{space.data(), n, X_.n_cols, codes_.width};
        const Origin origin = trace(codes, dictionary, r, node);

        NodeRows<Count> local_rows(Sample<Count>{
            r.labels.data() + node.begin,
            r.weighted() ? r.counts.data() + node.begin : nullptr, nullptr, n});
        HistogramSearch<Crit, Count> search(
            codes, dictionary, &origin, local_rows, settings_,
            least_weight<Count>(total_weight_, settings_), team);
        const RenewalStep next(local, local_weights, made.exact ? 0 : n, codes,
                               dictionary, &origin, settings_, total_weight_);
        Grower<HistogramSearch<Crit, Count>> grower(
            search, local_rows, dictionary, settings_, total_weight_, &next, team);
        OpenNode root = node;
        root.index = 0;
        root.begin = 0;
        root.end = n;
        std::vector<GrownNode> nodes = grower.grow(root);
        r.reorder(node.begin, local_rows.rows);
        for (GrownNode& grown : nodes) {
            grown.begin += node.begin;
            grown.end += node.begin;
        }
        return nodes;
    }

  private:
    // Mean accuracy at full depth (electricity, adult, magic, helena_part; exhaustive
    // search 0.6776): renewed at a quarter 0.6770, a sixteenth 0.6774, a 64th 0.6766,
    // never 0.6762. CPU time on electricity: 131, 93, 84 and 67 ms (2026-11).
    static constexpr std::int64_t kRenewShare = 16;

    void copy_rows(const NodeRows<Count>& r, const OpenNode& node,
                   std::vector<T>& values, std::vector<double>& weights) const {
        values.reserve(static_cast<std::size_t>(node.size() * X_.n_cols));
        for (std::int64_t i = node.begin; i < node.end; ++i) {
            const std::int64_t row = r.rows[i];
            for (std::int64_t f = 0; f < X_.n_cols; ++f)
                values.push_back(X_(row, f));
            if (weights_)
                weights.push_back(weights_[row]);
        }
    }

    // Which codes of the first dictionary the new codes came from.
    Origin trace(const Codes& codes, const Dictionary& dictionary,
                 const NodeRows<Count>& r, const OpenNode& node) const {
        Origin origin(dictionary, origin_, dictionary_);
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            const std::uint8_t* now = codes.column(f);
            const std::uint8_t* before = codes_.column(f);
            for (std::int64_t i = 0; i < node.size(); ++i) {
                const int code = now[i * codes.width];
                if (code > dictionary.count(f))
                    continue;  // NaN
                const std::uint8_t old =
                    before[std::int64_t{r.rows[node.begin + i]} * codes_.width];
                const std::size_t at = Origin::at(dictionary, f, code);
                if (origin_) {
                    const std::size_t old_at = Origin::at(dictionary_, f, old);
                    origin.add(at, origin_->lowest[old_at], origin_->highest[old_at]);
                } else {
                    origin.add(at, old, old);
                }
            }
        }
        return origin;
    }

    Matrix<T> X_;
    const double* weights_;
    std::int64_t made_from_;
    Codes codes_;
    Dictionary dictionary_;
    const Origin* origin_;
    const GrowSettings& settings_;
    double total_weight_;
};

template <class Crit, class Count>
TreeArrays grow_coded(const AnyMatrix& any, const Codes& codes,
                      const Dictionary& dictionary, const Sample<Count>& sample,
                      const GrowSettings& settings, Team& team) {
    NodeRows<Count> rows(sample);
    const double total = total_count(rows);
    HistogramSearch<Crit, Count> search(codes, dictionary, nullptr, rows, settings,
                                        least_weight<Count>(total, settings), team);
    const OpenNode root = root_of(rows, settings);
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            const RenewalStep<T, Crit, Count> renewal(X, sample.weights, root.size(),
                                                      codes, dictionary, nullptr,
                                                      settings, total);
            Grower<HistogramSearch<Crit, Count>> grower(
                search, rows, dictionary, settings, total,
                settings.renew_thresholds ? &renewal : nullptr, team);
            return flatten(grower.grow(root), rows, sample.weights, settings.n_classes);
        },
        any);
}

template <class T, class Crit, class Count>
TreeArrays grow_sampled(const Matrix<T>& X, const Dictionary& dictionary,
                        const Sample<Count>& sample, const GrowSettings& settings,
                        Team& team) {
    NodeRows<Count> rows(sample);
    const double total = total_count(rows);
    CandidateSearch<T, Crit, Count> search(X, dictionary, rows, settings,
                                           least_weight<Count>(total, settings), team);
    Grower<CandidateSearch<T, Crit, Count>> grower(search, rows, dictionary, settings,
                                                   total, nullptr, team);
    return flatten(grower.grow(root_of(rows, settings)), rows, sample.weights,
                   settings.n_classes);
}

}  // namespace

template <class Count>
TreeArrays grow_from_codes(const AnyMatrix& X, const Codes& codes,
                           const Dictionary& dictionary, const Sample<Count>& sample,
                           const GrowSettings& settings, Team& team) {
    return settings.criterion == Criterion::gini
               ? grow_coded<Gini>(X, codes, dictionary, sample, settings, team)
               : grow_coded<Entropy>(X, codes, dictionary, sample, settings, team);
}

template <class Count>
TreeArrays grow_from_values(const AnyMatrix& any, const Dictionary& dictionary,
                            const Sample<Count>& sample, const GrowSettings& settings,
                            Team& team) {
    return std::visit(
        [&](const auto& X) {
            using T = typename std::decay_t<decltype(X)>::value_type;
            return settings.criterion == Criterion::gini
                       ? grow_sampled<T, Gini>(X, dictionary, sample, settings, team)
                       : grow_sampled<T, Entropy>(X, dictionary, sample, settings,
                                                  team);
        },
        any);
}

template TreeArrays grow_from_codes(const AnyMatrix&, const Codes&, const Dictionary&,
                                    const Sample<std::uint32_t>&, const GrowSettings&,
                                    Team&);
template TreeArrays grow_from_codes(const AnyMatrix&, const Codes&, const Dictionary&,
                                    const Sample<std::uint64_t>&, const GrowSettings&,
                                    Team&);
template TreeArrays grow_from_values(const AnyMatrix&, const Dictionary&,
                                     const Sample<std::uint32_t>&, const GrowSettings&,
                                     Team&);
template TreeArrays grow_from_values(const AnyMatrix&, const Dictionary&,
                                     const Sample<std::uint64_t>&, const GrowSettings&,
                                     Team&);

}  // namespace dics
