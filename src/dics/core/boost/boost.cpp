#include "boost/boost.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>

#include "grow/flatten.hpp"
#include "grow/grower.hpp"
#include "random.hpp"
#include "search/gradient_histograms.hpp"
#include "search/histogram_search.hpp"

namespace dics {
namespace {

// Rows of one task. Sums over rows are made per task and then added in the order of the
// tasks: the same bits for any number of threads.
constexpr std::int64_t kTaskRows = 1024;
constexpr std::int64_t kMaxLeafSumTasks = 64;
constexpr std::size_t kLeafSumBytes = std::size_t{32} << 20;  // of all tasks
// Numbers (rows times outputs) below which no thread is woken.
constexpr std::int64_t kParallelNumbers = 1 << 14;
constexpr std::int64_t kParallelRows = 1 << 14;
constexpr std::int64_t kGatherRows = 256;
// What a leaf adds to a score is bounded, so that scores stay finite.
constexpr double kMaxStep = 10;
// Sums of this many bits can't overflow a counter.
constexpr double kMaxSum = 2147480000.0;
constexpr double kMaxValue = 32767;
constexpr double kMaxScale = 0x1p100;  // finite in single precision

// A node of the tree as codes see it; a leaf leads to itself.
struct CodedNode {
    const std::uint8_t* column;
    std::int32_t left;  // the right child follows
    CodeTest test;
};

// Chunks of rows: the same for any number of threads.
struct Chunks {
    std::int64_t n_rows, size;
    std::int64_t count() const { return (n_rows + size - 1) / size; }
    std::int64_t begin(std::int64_t i) const { return i * size; }
    std::int64_t length(std::int64_t i) const {
        return std::min(size, n_rows - begin(i));
    }
};

class Booster {
  public:
    Booster(const Dictionary& dictionary, const BoostRows& training,
            const BoostRows& validation, const BoostSettings& settings,
            std::vector<std::int64_t>& used, Team& team)
        : dictionary_(dictionary),
          training_(training),
          validation_(validation),
          settings_(settings),
          used_(used),
          team_(team),
          outputs_(settings.n_classes),
          drawer_(settings.rows, training.codes.n_rows),
          target_(outputs_),
          histograms_(target_, training.codes, dictionary, rows_,
                      settings.limits.min_samples_leaf, team.size()),
          search_(histograms_, team),
          grower_(target_, search_, rows_, dictionary, settings.limits, nullptr, team) {
        const auto n = static_cast<std::size_t>(training.codes.n_rows);
        const auto stride = static_cast<std::size_t>(outputs_.stride);
        gradients_.resize(n * stride);
        norms_.resize(n);
        leaf_.resize(n);
        validation_leaf_.resize(static_cast<std::size_t>(validation.codes.n_rows));
        total_weight_ = weight_of(training);
        validation_weight_ = weight_of(validation);
        for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
            if (dictionary.count(f) > 0)
                useful_.push_back(static_cast<std::int32_t>(f));
        }
        removed_.resize(static_cast<std::size_t>(dictionary.size()));
        for (const std::int64_t id : used)
            removed_[static_cast<std::size_t>(id)] = true;
    }

    BoostedTrees run(const AfterRound& after_round) {
        double loss = update(nullptr) / total_weight_;
        double validation_loss = NAN;
        if (validation_.codes.n_rows > 0) {
            validation_loss = add_steps(validation_, validation_leaf_.data(), nullptr,
                                        nullptr, nullptr) /
                              validation_weight_;
        }
        after_round(loss, validation_loss);
        for (std::int64_t round = 0; round < settings_.n_rounds; ++round) {
            const std::uint64_t key =
                combine(combine(mix(settings_.seed), 0x626F6F7374ull),
                        static_cast<std::uint64_t>(settings_.first_round + round));
            grow_tree(key);
            loss = update(steps_.data()) / total_weight_;
            if (validation_.codes.n_rows > 0)
                validation_loss = validate() / validation_weight_;
            if (after_round(loss, validation_loss))
                break;
        }
        return std::move(result_);
    }

  private:
    static double weight_of(const BoostRows& rows) {
        if (!rows.weights)
            return static_cast<double>(rows.codes.n_rows);
        double total = 0;
        for (std::int64_t i = 0; i < rows.codes.n_rows; ++i)
            total += static_cast<double>(rows.weights[i]);
        return total;
    }

    bool many(std::int64_t n_rows) const {
        return n_rows * outputs_.stride >= kParallelNumbers;
    }

    // Adds steps to the scores of some rows; returns their loss.
    double add_steps(const BoostRows& rows, const std::uint32_t* leaf,
                     const float* steps, float* gradients, float* norms) {
        const Chunks chunks{rows.codes.n_rows, kTaskRows};
        losses_.assign(static_cast<std::size_t>(chunks.count()), 0.0);
        team_.run(chunks.count(), many(rows.codes.n_rows), [&](std::int64_t task, int) {
            const std::int64_t begin = chunks.begin(task);
            GradientArgs args{};
            args.steps = steps;
            args.leaf = leaf + begin;
            args.label = rows.labels + begin;
            args.weight = rows.weights ? rows.weights + begin : nullptr;
            args.n_rows = chunks.length(task);
            args.n_outputs = outputs_.n;
            args.stride = outputs_.stride;
            args.scores = rows.scores + begin * outputs_.stride;
            args.gradients = gradients ? gradients + begin * outputs_.stride : nullptr;
            args.norms = norms ? norms + begin : nullptr;
            losses_[static_cast<std::size_t>(task)] =
                boost_kernels().update_gradients(args);
        });
        double loss = 0;
        for (const double part : losses_)
            loss += part;
        return loss;
    }

    double update(const float* steps) {
        return add_steps(training_, leaf_.data(), steps, gradients_.data(),
                         norms_.data());
    }

    double validate() {
        find_leaves(validation_.codes, validation_leaf_.data());
        return add_steps(validation_, validation_leaf_.data(), steps_.data(), nullptr,
                         nullptr);
    }

    void grow_tree(std::uint64_t key) {
        draw_splits(key);
        drawer_.draw(norms_.data(), combine(key, 1), drawn_);
        const double scale = quantize();
        // A single output stands for two, whose gains are alike.
        const double gain_unit = (outputs_.n == 1 ? 1.0 : 0.5) / scale;
        target_.set_units(static_cast<float>(settings_.l2 * scale),
                          settings_.min_gain / gain_unit);
        const std::vector<GrownNode> nodes = grow_nodes();
        // That NaN alone goes left is no split of the dictionary.
        if (!settings_.limits.reuse_splits && nodes[0].left >= 0 && nodes[0].index >= 0)
            remove(nodes[0]);
        flatten(nodes, gain_unit);
        find_leaves(training_.codes, leaf_.data());
        make_steps();
    }

    std::vector<GrownNode> grow_nodes() {
        const std::int64_t n_drawn = drawn_.size(training_.codes.n_rows);
        rows_.reset(drawn_.list(), values_.data(), n_drawn);
        OpenNode<GradientTotals> root;
        root.end = n_drawn;
        root.totals = total_;
        if (splits_.features.empty())
            return std::vector<GrownNode>(1);
        histograms_.start_round(splits_, round_codes());
        search_.reset(context_, 1);
        return grower_.grow(std::move(root), context_);
    }

    // Where all features are looked at, their codes by rows are made once.
    bool looks_at_all() const {
        return settings_.max_features >= static_cast<std::int64_t>(useful_.size()) &&
               !splits_.drawn;
    }

    RoundCodes round_codes() {
        const auto n_features = static_cast<std::int64_t>(splits_.size());
        if (!looks_at_all() || row_codes_.empty()) {
            if (looks_at_all()) {
                gather_codes(nullptr, training_.codes.n_rows);
            } else {
                gather_codes(drawn_.list(), drawn_.size(training_.codes.n_rows));
            }
        }
        return {row_codes_.data(), n_features, looks_at_all()};
    }

    void gather_codes(const std::uint32_t* rows, std::int64_t n_rows) {
        const std::size_t n_features = splits_.size();
        row_codes_.resize(static_cast<std::size_t>(n_rows) * n_features);
        const Chunks chunks{n_rows, kGatherRows};
        team_.run(chunks.count(), n_rows >= kParallelRows / 4,
                  [&](std::int64_t task, int) {
                      std::size_t feature = 0;
                      for (; feature + 4 <= n_features; feature += 4)
                          gather_columns<4>(rows, chunks.begin(task),
                                            chunks.length(task), feature);
                      for (; feature < n_features; ++feature)
                          gather_columns<1>(rows, chunks.begin(task),
                                            chunks.length(task), feature);
                  });
    }

    template <int F>
    void gather_columns(const std::uint32_t* rows, std::int64_t begin, std::int64_t n,
                        std::size_t feature) {
        const std::uint8_t* column[F];
        for (int j = 0; j < F; ++j)
            column[j] = training_.codes.column(
                splits_.features[feature + static_cast<std::size_t>(j)]);
        const std::size_t stride = splits_.size();
        std::uint8_t* to =
            row_codes_.data() + static_cast<std::size_t>(begin) * stride + feature;
        for (std::int64_t i = begin; i < begin + n; ++i, to += stride) {
            const std::int64_t row = rows ? std::int64_t{rows[i]} : i;
            std::uint8_t codes[F];
            for (int j = 0; j < F; ++j)
                codes[j] = column[j][row];
            std::memcpy(to, codes, F);
        }
    }

    void remove(const GrownNode& root) {
        const std::int64_t id = dictionary_.offsets[root.feature] + root.index;
        removed_[static_cast<std::size_t>(id)] = true;
        used_.push_back(id);
    }

    void draw_splits(std::uint64_t key) {
        const auto n_useful = static_cast<std::int64_t>(useful_.size());
        splits_.features.clear();
        if (settings_.max_features >= n_useful) {
            splits_.features = useful_;
        } else {
            for (const std::int64_t i : sample_without_replacement(
                     combine(key, 2), n_useful, settings_.max_features))
                splits_.features.push_back(useful_[static_cast<std::size_t>(i)]);
        }
        splits_.drawn = settings_.max_candidates > 0 || !settings_.limits.reuse_splits;
        if (splits_.drawn)
            draw_candidates(key);
    }

    // k of the thresholds of the drawn features; features without any drop out.
    void draw_candidates(std::uint64_t key) {
        offered_.clear();
        for (const std::int32_t f : splits_.features) {
            for (std::int64_t id = dictionary_.offsets[f];
                 id < dictionary_.offsets[f + 1]; ++id) {
                if (!removed_[static_cast<std::size_t>(id)])
                    offered_.push_back(id);
            }
        }
        splits_.candidates.draw(dictionary_, &offered_, settings_.max_candidates, key);
        splits_.features = splits_.candidates.features;
        splits_.features.erase(
            std::unique(splits_.features.begin(), splits_.features.end()),
            splits_.features.end());
    }

    // Gradients of the drawn rows as whole numbers, exact to add and subtract. Returns
    // how many of them make one.
    double quantize() {
        const std::int64_t n = drawn_.size(training_.codes.n_rows);
        factors_.resize(static_cast<std::size_t>(n));
        double largest = 0, sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t row =
                drawn_.all ? i : drawn_.rows[static_cast<std::size_t>(i)];
            const float factor =
                drawn_.all ? 1.0f : drawn_.factors[static_cast<std::size_t>(i)];
            const float size = norms_[static_cast<std::size_t>(row)] * factor;
            largest = std::max(largest, static_cast<double>(size));
            sum += static_cast<double>(size);
            factors_[static_cast<std::size_t>(i)] =
                training_.weights ? factor * training_.weights[row] : factor;
        }
        // No number is longer than its row's norm, a hessian never longer than its
        // gradient. Halves are rounded up: one more for each row.
        const double room = kMaxSum - static_cast<double>(n);
        double scale = largest > 0 ? std::min(kMaxValue / largest, room / sum) : 1.0;
        scale = std::min(scale, kMaxScale);
        scale = std::exp2(std::floor(std::log2(scale)));
        const auto unit = static_cast<float>(scale);
        values_.resize(static_cast<std::size_t>(n * outputs_.cells));
        const Chunks chunks{n, kTaskRows};
        std::vector<std::vector<std::int32_t>> totals(
            static_cast<std::size_t>(chunks.count()));
        team_.run(chunks.count(), many(n), [&](std::int64_t task, int) {
            const std::int64_t begin = chunks.begin(task);
            const std::int64_t length = chunks.length(task);
            for (std::int64_t i = begin; i < begin + length; ++i)
                factors_[static_cast<std::size_t>(i)] *= unit;
            QuantizeArgs args{};
            args.gradients = drawn_.all ? gradients_.data() + begin * outputs_.stride
                                        : gradients_.data();
            args.rows = drawn_.all ? nullptr : drawn_.rows.data() + begin;
            args.factors = factors_.data() + begin;
            args.n_rows = length;
            args.n_outputs = outputs_.n;
            args.stride = outputs_.stride;
            args.cells = outputs_.cells;
            args.out = values_.data() + begin * outputs_.cells;
            boost_kernels().quantize(args);
            add_up(args.out, length, totals[static_cast<std::size_t>(task)]);
        });
        target_.clear(total_);
        for (const auto& part : totals)
            target_.add(part.data(), total_);
        sum_.everywhere(total_.cells.data(), outputs_.cells);
        target_.finish(total_);
        return scale;
    }

    void add_up(const std::int16_t* values, std::int64_t n,
                std::vector<std::int32_t>& total) const {
        const auto cells = static_cast<std::size_t>(outputs_.cells);
        total.assign(cells, 0);
        for (std::int64_t i = 0; i < n; ++i, values += cells) {
            for (std::size_t c = 0; c < cells; ++c)
                total[c] += values[c];
        }
    }

    // Numbers the leaves in breadth-first order.
    void flatten(const std::vector<GrownNode>& nodes, double gain_unit) {
        coded_.clear();
        flat_.clear();
        n_leaves_ = 0;
        depth_ = 0;
        flatten_nodes(
            nodes, flat_, result_.trees.missing_left,
            [&](const GrownNode&) { return n_leaves_++; },
            [&](const GrownNode& node) {
                depth_ = std::max(depth_, node.depth);
                coded_.push_back(node.left < 0
                                     ? CodeTest()
                                     : CodeTest(node.index, node.missing_left,
                                                dictionary_.count(node.feature)));
                result_.gains.push_back(static_cast<float>(node.gain * gain_unit));
            });
        tests_.clear();
        leaf_numbers_.clear();
        if (n_leaves_ <= kMaxMaskLeaves)
            list_tests(0);
    }

    // leaf[i] = the number of the leaf of row i.
    void find_leaves(const Codes& codes, std::uint32_t* leaf) {
        const Chunks chunks{codes.n_rows, kTaskRows};
        team_.run(
            chunks.count(), codes.n_rows >= kParallelRows, [&](std::int64_t task, int) {
                const std::int64_t begin = chunks.begin(task);
                if (n_leaves_ <= kMaxMaskLeaves) {
                    find_by_masks(codes, begin, chunks.length(task), leaf + begin);
                } else {
                    walk(codes, begin, chunks.length(task), leaf + begin);
                }
            });
    }

    void find_by_masks(const Codes& codes, std::int64_t begin, std::int64_t n,
                       std::uint32_t* leaf) const {
        std::vector<const std::uint8_t*> columns;
        for (const NodeTest& test : tests_)
            columns.push_back(codes.column(test.feature) + begin);
        FindLeavesArgs args{};
        args.column = columns.data();
        args.tests = tests_.data();
        args.n_tests = static_cast<int>(tests_.size());
        args.n_leaves = n_leaves_;
        args.number = leaf_numbers_.data();
        args.n_rows = n;
        args.leaf = leaf;
        boost_kernels().find_leaves(args);
    }

    // Trees of many leaves: step by step, all rows of a block at once.
    void walk(const Codes& codes, std::int64_t begin, std::int64_t n,
              std::uint32_t* leaf) const {
        std::vector<CodedNode> nodes;
        for (std::size_t i = 0; i < flat_.size(); ++i) {
            const bool inner = flat_[i].feature >= 0;
            nodes.push_back({inner ? codes.column(flat_[i].feature) : codes.data,
                             inner ? flat_[i].left : static_cast<std::int32_t>(i),
                             coded_[i]});
        }
        std::fill(leaf, leaf + n, 0u);
        for (std::int32_t step = 0; step < depth_; ++step) {
            for (std::int64_t i = 0; i < n; ++i) {
                const CodedNode& node = nodes[leaf[i]];
                const bool right = !node.test.goes_left(node.column[begin + i]);
                leaf[i] = static_cast<std::uint32_t>(node.left + right);
            }
        }
        for (std::int64_t i = 0; i < n; ++i)
            leaf[i] = static_cast<std::uint32_t>(flat_[leaf[i]].left);
    }

    // Numbers the leaves from left to right, and says which of them a test takes away.
    std::uint64_t list_tests(std::size_t i) {
        const Node& node = flat_[i];
        if (node.feature < 0) {
            leaf_numbers_.push_back(static_cast<std::uint32_t>(node.left));
            return std::uint64_t{1} << (leaf_numbers_.size() - 1);
        }
        const std::size_t place = tests_.size();
        tests_.push_back({node.feature, coded_[i], 0});
        const std::uint64_t left = list_tests(static_cast<std::size_t>(node.left));
        tests_[place].right = ~left;
        return left | list_tests(static_cast<std::size_t>(node.left) + 1);
    }

    // Leaf values, from all rows or from those drawn.
    void make_steps() {
        const auto n_leaves = static_cast<std::size_t>(n_leaves_);
        const auto stride = static_cast<std::size_t>(outputs_.stride);
        const auto n_classes = static_cast<std::size_t>(settings_.n_classes);
        leaf_sums(n_leaves);
        steps_.assign(n_leaves * stride, 0.0f);
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
            const double* g = sums_.data() + 2 * stride * leaf;
            const double* h = g + stride;
            const double* n = label_sums_.data() + n_classes * leaf;
            if (outputs_.n == 1) {
                steps_[leaf] = static_cast<float>(margin_step(g[0], h[0], n[0], n[1]));
            } else {
                for (std::size_t c = 0; c < n_classes; ++c)
                    steps_[leaf * stride + c] =
                        static_cast<float>(step_of(g[c], h[c], n[c]));
            }
        }
        keep_tree(n_leaves);
    }

    // eta w = -eta G / (H + lambda), but no farther than where the loss is least. With
    // n the rows of the class and p = G + n the sum of its probabilities, the loss of a
    // leaf is at most sum_c p_c (e^{w_c} - 1) - n_c w_c (log x <= x - 1), whose minimum
    // is at w_c = log(n_c / p_c); up to there each step lowers it. Newton's step is
    // farther only where p is small and n isn't.
    double step_of(double g, double h, double n) const {
        const double denominator = h + settings_.l2;
        if (!(denominator > 0) || g == 0)
            return 0;
        double step = -settings_.learning_rate * g / denominator;
        const double p = g + n;
        if (step > 0 && p > 0)
            step = std::min(step, std::log(n / p));
        if (step < 0 && n > 0)
            step = std::max(step, std::log(n / p));
        return std::clamp(step, -kMaxStep, kMaxStep);
    }

    // The step of the margin of two classes. Either of them may be the one that stays:
    // the loss is at most p_1 (e^w - 1) - n_1 w and at most p_0 (e^-w - 1) + n_0 w, so
    // it falls up to the farther of the two minima.
    double margin_step(double g, double h, double n0, double n1) const {
        const double denominator = h + settings_.l2;
        if (!(denominator > 0) || g == 0)
            return 0;
        const double p0 = n0 - g, p1 = n1 + g;
        auto ratio = [](double a, double b) { return b > 0 ? a / b : INFINITY; };
        const double farther = g < 0 ? std::max(ratio(n1, p1), ratio(p0, n0))
                                     : std::max(ratio(n0, p0), ratio(p1, n1));
        const double limit = std::min(std::log(farther), 2 * kMaxStep);
        return std::clamp(-2 * settings_.learning_rate * g / denominator, -limit,
                          limit);
    }

    // Sums over the rows of each leaf, in parts that don't depend on the threads.
    void leaf_sums(std::size_t n_leaves) {
        const bool sampled = settings_.leaves_of_sample && !drawn_.all;
        const std::int64_t n_rows = sampled
                                        ? static_cast<std::int64_t>(drawn_.rows.size())
                                        : training_.codes.n_rows;
        const std::size_t size =
            2 * n_leaves * static_cast<std::size_t>(outputs_.stride);
        const std::size_t n_labels =
            n_leaves * static_cast<std::size_t>(settings_.n_classes);
        const std::size_t task_bytes = (size + n_labels) * sizeof(double);
        const std::int64_t n_tasks = std::clamp<std::int64_t>(
            static_cast<std::int64_t>(kLeafSumBytes / task_bytes), 1, kMaxLeafSumTasks);
        const Chunks chunks{n_rows,
                            std::max(kTaskRows, (n_rows + n_tasks - 1) / n_tasks)};
        const auto n_chunks = static_cast<std::size_t>(chunks.count());
        sums_.assign(size * n_chunks, 0.0);
        label_sums_.assign(n_labels * n_chunks, 0.0);
        team_.run(chunks.count(), many(n_rows), [&](std::int64_t task, int) {
            double* sums = sums_.data() + size * static_cast<std::size_t>(task);
            double* labels =
                label_sums_.data() + n_labels * static_cast<std::size_t>(task);
            add_rows(sampled, chunks.begin(task), chunks.length(task), sums, labels);
        });
        for (std::size_t chunk = 1; chunk < n_chunks; ++chunk) {
            for (std::size_t i = 0; i < size; ++i)
                sums_[i] += sums_[chunk * size + i];
            for (std::size_t i = 0; i < n_labels; ++i)
                label_sums_[i] += label_sums_[chunk * n_labels + i];
        }
    }

    // A few of all rows, or of those drawn.
    void add_rows(bool sampled, std::int64_t begin, std::int64_t n, double* sums,
                  double* labels) const {
        std::vector<float> weights;
        LeafSumArgs args{};
        args.n_rows = n;
        args.n_outputs = outputs_.n;
        args.stride = outputs_.stride;
        args.sums = sums;
        if (sampled) {
            args.gradients = gradients_.data();
            args.leaf = leaf_.data();
            args.rows = drawn_.rows.data() + begin;
            weights.assign(drawn_.factors.begin() + begin,
                           drawn_.factors.begin() + begin + n);
            for (std::int64_t i = 0; training_.weights && i < n; ++i)
                weights[static_cast<std::size_t>(i)] *= training_.weights[args.rows[i]];
            args.weight = weights.data();
        } else {
            args.gradients = gradients_.data() + begin * outputs_.stride;
            args.leaf = leaf_.data() + begin;
            args.weight = training_.weights ? training_.weights + begin : nullptr;
        }
        boost_kernels().add_leaf_sums(args);
        const std::uint32_t* label =
            sampled ? training_.labels : training_.labels + begin;
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t row = args.rows ? std::int64_t{args.rows[i]} : i;
            labels[static_cast<std::int64_t>(args.leaf[row]) * settings_.n_classes +
                   label[row]] +=
                args.weight ? static_cast<double>(args.weight[i]) : 1.0;
        }
    }

    void keep_tree(std::size_t n_leaves) {
        const auto n_classes = static_cast<std::size_t>(settings_.n_classes);
        const double unit = total_weight_ / static_cast<double>(training_.codes.n_rows);
        std::vector<std::int32_t> row_counts(n_leaves);
        for (const std::uint32_t leaf : leaf_)
            ++row_counts[leaf];
        std::vector<double> weights(flat_.size());
        for (std::size_t i = flat_.size(); i-- > 0;) {
            Node& node = flat_[i];
            const auto left = static_cast<std::size_t>(node.left);
            if (node.feature < 0) {
                node.n_samples = row_counts[left];
                for (std::size_t c = 0; c < n_classes; ++c)
                    weights[i] += label_sums_[left * n_classes + c];
            } else {
                node.n_samples = flat_[left].n_samples + flat_[left + 1].n_samples;
                weights[i] = weights[left] + weights[left + 1];
            }
        }
        TreeArrays& trees = result_.trees;
        trees.nodes.insert(trees.nodes.end(), flat_.begin(), flat_.end());
        for (const double weight : weights)
            trees.weight.push_back(static_cast<float>(weight / unit));
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
            const float* step =
                steps_.data() + leaf * static_cast<std::size_t>(outputs_.stride);
            trees.leaf_values.insert(trees.leaf_values.end(), step, step + outputs_.n);
        }
        result_.node_starts.push_back(static_cast<std::int64_t>(trees.nodes.size()));
        result_.leaf_starts.push_back(static_cast<std::int64_t>(
            trees.leaf_values.size() / static_cast<std::size_t>(outputs_.n)));
    }

    Dictionary dictionary_;
    BoostRows training_, validation_;
    BoostSettings settings_;
    std::vector<std::int64_t>& used_;
    Team& team_;
    Outputs outputs_;
    RowDrawer drawer_;
    Sum sum_;
    Gradients target_;
    GradientRows rows_;
    GradientHistograms histograms_;
    HistogramSearch<GradientHistograms> search_;
    HistogramSearch<GradientHistograms>::Context context_;
    Grower<HistogramSearch<GradientHistograms>, BestFirst> grower_;

    std::vector<std::int32_t> useful_;  // features that have thresholds
    std::vector<bool> removed_;         // of the dictionary
    double total_weight_ = 0, validation_weight_ = 0;

    std::vector<float> gradients_, norms_;  // of all rows
    std::vector<std::uint32_t> leaf_, validation_leaf_;
    std::vector<double> losses_;

    // Of one round.
    RoundSplits splits_;
    std::vector<std::uint8_t> row_codes_;
    std::vector<std::int64_t> offered_;
    DrawnRows drawn_;
    std::vector<float> factors_;
    std::vector<std::int16_t> values_;
    GradientTotals total_;         // of the values
    std::vector<CodeTest> coded_;  // of each node
    std::vector<NodeTest> tests_;
    std::vector<std::uint32_t> leaf_numbers_;  // from left to right
    std::vector<Node> flat_;
    std::int32_t n_leaves_ = 0, depth_ = 0;
    std::vector<double> sums_, label_sums_;
    std::vector<float> steps_;  // [leaf][stride]

    BoostedTrees result_;
};

}  // namespace

BoostedTrees boost(const Dictionary& dictionary, const BoostRows& training,
                   const BoostRows& validation, const BoostSettings& settings,
                   std::vector<std::int64_t>& used, const AfterRound& after_round,
                   Team& team) {
    return Booster(dictionary, training, validation, settings, used, team)
        .run(after_round);
}

}  // namespace dics
