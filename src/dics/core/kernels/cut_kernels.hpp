// The best cut of a feature from its histogram. Included by boost_kernels.cpp, once per
// instruction set.
#pragma once

#include <cstring>

#include "kernels/boost_kernels.hpp"
#include "kernels/vectors.hpp"

namespace dics::DICS_ISA {
namespace {

inline Floats as_floats(Ints v) { return __builtin_convertvector(v, Floats); }

// G^2 / (H + l2), 0 where nothing is.
inline Floats score_of(Floats g, Floats h, float l2) {
    const Floats denominator = h + l2;
    const Floats value = g * g / denominator;
    return denominator > Floats{} ? value : Floats{};
}

// Within bounds a score may be negative; no score is below this.
constexpr float kNoScore = -3.4e38f;

// Keeps the best cut; thresholds that part the rows in the same place widen it.
class Best {
  public:
    Best(const GainArgs& a)
        : min_rows_(a.min_rows), best_(a.is_bounded ? kNoScore : -1) {}

    bool allowed(std::int32_t n_left, std::int32_t n_rows) const {
        return n_left >= min_rows_ && n_rows - n_left >= min_rows_;
    }
    void offer(float score, int t, bool missing_left) {
        if (score > best_) {
            best_ = score;
            cut_.lo = cut_.hi = t;
            cut_.missing_left = missing_left;
        }
    }
    float score() const { return best_; }
    Cut cut(bool saw_missing) const {
        Cut found = cut_;
        found.score = static_cast<double>(best_);
        found.saw_missing = saw_missing;
        return found;
    }

  private:
    std::int32_t min_rows_;
    float best_;
    Cut cut_;
};

// Where the rows of a threshold's own bin and those up to the next are none, the cut is
// the same. `counts(t)` is the number of rows in bin t.
template <class Counts>
void widen(Cut& cut, int n_thresholds, Counts counts) {
    if (cut.lo < 0)
        return;
    while (cut.hi + 1 < n_thresholds && counts(cut.hi + 1) == 0)
        ++cut.hi;
}

// Sums of the left side of a cut of several outputs, and what both sides are worth.
// These stay in registers, R for the gradients and R for the hessians, or one if all
// outputs share it. Stored sums would have to be read at other places than they were
// written, hessians begin anywhere, and each such read waits for the write: a round of
// ten classes (5,000 x 50) takes 6.8 ms that way, 4.1 ms this way (2026-11).
template <int R, bool kShared>
class RegisterSums {
  public:
    explicit RegisterSums(const GainArgs& a) : a_(a) {
        const Ints iota = {0, 1, 2, 3, 4, 5, 6, 7};
        for (int r = 0; r < R; ++r)
            inside_[r] = iota + r * kLanes < a.n_outputs ? Ints{} - 1 : Ints{};
        read(a.total, all_);
    }

    void add(const std::int32_t* bin) { add_to(left_, bin); }

    // With the missing rows on the left too, or (null) without.
    float score(const std::int32_t* missing) const {
        Sums left = left_;
        if (missing)
            add_to(left, missing);
        return kShared ? shared_score(left) : own_score(left);
    }

  private:
    static constexpr int kHessians = kShared ? 1 : R;
    struct Sums {
        Ints g[R] = {}, h[kHessians] = {};
    };

    void read(const std::int32_t* cells, Sums& sums) const {
        for (int r = 0; r < R; ++r)
            sums.g[r] = load(cells + r * kLanes) & inside_[r];
        for (int r = 0; r < kHessians; ++r)
            sums.h[r] = kShared ? Ints{} + cells[a_.n_outputs]
                                : load(cells + a_.n_outputs + r * kLanes) & inside_[r];
    }

    void add_to(Sums& sums, const std::int32_t* cells) const {
        Sums added;
        read(cells, added);
        for (int r = 0; r < R; ++r)
            sums.g[r] += added.g[r];
        for (int r = 0; r < kHessians; ++r)
            sums.h[r] += added.h[r];
    }

    float own_score(const Sums& left) const {
        Floats sums = {};
        for (int r = 0; r < R; ++r) {
            const int h = kShared ? 0 : r;
            sums += score_of(as_floats(left.g[r]), as_floats(left.h[h]), a_.l2) +
                    score_of(as_floats(all_.g[r] - left.g[r]),
                             as_floats(all_.h[h] - left.h[h]), a_.l2);
        }
        return lane_sum(sums);
    }

    float shared_score(const Sums& left) const {
        Floats left_squares = {}, right_squares = {};
        for (int r = 0; r < R; ++r) {
            const Floats own = as_floats(left.g[r]);
            const Floats other = as_floats(all_.g[r] - left.g[r]);
            left_squares += own * own;
            right_squares += other * other;
        }
        const float l = static_cast<float>(left.h[0][0]) + a_.l2;
        const float r = static_cast<float>(all_.h[0][0] - left.h[0][0]) + a_.l2;
        return (l > 0 ? lane_sum(left_squares) / l : 0) +
               (r > 0 ? lane_sum(right_squares) / r : 0);
    }

    const GainArgs& a_;
    Ints inside_[R];
    Sums all_, left_;
};

// Score of a split of one output a class: `left` are the sums of the left side.
float split_score(const GainArgs& a, const std::int32_t* left) {
    const Ints iota = {0, 1, 2, 3, 4, 5, 6, 7};
    Floats sums = {};
    for (int c = 0; c < a.n_outputs; c += kLanes) {
        const Ints inside = iota + c < a.n_outputs ? Ints{} - 1 : Ints{};
        const Ints g = load(left + c) & inside;
        const Ints h = load(left + a.n_outputs + c) & inside;
        const Ints all_g = load(a.total + c) & inside;
        const Ints all_h = load(a.total + a.n_outputs + c) & inside;
        sums += score_of(as_floats(g), as_floats(h), a.l2) +
                score_of(as_floats(all_g - g), as_floats(all_h - h), a.l2);
    }
    return lane_sum(sums);
}

// The same where all outputs have one hessian.
float shared_score(const GainArgs& a, const std::int32_t* left) {
    const Ints iota = {0, 1, 2, 3, 4, 5, 6, 7};
    Floats left_squares = {}, right_squares = {};
    for (int c = 0; c < a.n_outputs; c += kLanes) {
        const Ints inside = iota + c < a.n_outputs ? Ints{} - 1 : Ints{};
        const Ints g = load(left + c) & inside;
        const Floats l = as_floats(g);
        const Floats r = as_floats((load(a.total + c) & inside) - g);
        left_squares += l * l;
        right_squares += r * r;
    }
    const std::int32_t h = left[a.n_outputs];
    const float l = static_cast<float>(h) + a.l2;
    const float r = static_cast<float>(a.total[a.n_outputs] - h) + a.l2;
    return (l > 0 ? lane_sum(left_squares) / l : 0) +
           (r > 0 ? lane_sum(right_squares) / r : 0);
}

// Any number of outputs: the sums are stored.
class StoredSums {
  public:
    explicit StoredSums(const GainArgs& a)
        : a_(a),
          left_(reinterpret_cast<std::int32_t*>(a.scratch)),
          // With one register of padding for reads past the end.
          with_missing_(left_ + a.cells + kLanes) {
        std::memset(left_, 0, sizeof(std::int32_t) * static_cast<std::size_t>(a.cells));
    }

    void add(const std::int32_t* bin) {
        for (int c = 0; c < a_.cells; c += kLanes)
            store(left_ + c, load(left_ + c) + load(bin + c));
    }

    float score(const std::int32_t* missing) const {
        const std::int32_t* left = left_;
        if (missing) {
            for (int c = 0; c < a_.cells; c += kLanes)
                store(with_missing_ + c, load(left_ + c) + load(missing + c));
            left = with_missing_;
        }
        return a_.n_hessians == 1 ? shared_score(a_, left) : split_score(a_, left);
    }

  private:
    const GainArgs& a_;
    std::int32_t *left_, *with_missing_;
};

// How much the sides of a cut weigh, for a least sum of hessians.
class HessianLimit {
  public:
    explicit HessianLimit(const GainArgs& a) : a_(a), total_(sum(a.total)) {}

    void add(const std::int32_t* bin) { left_ += a_.min_hessian > 0 ? sum(bin) : 0; }
    bool allows(const std::int32_t* missing) const {
        if (!(a_.min_hessian > 0))
            return true;
        const double left = left_ + (missing ? sum(missing) : 0);
        const auto least = static_cast<double>(a_.min_hessian);
        return left >= least && total_ - left >= least;
    }

  private:
    double sum(const std::int32_t* cells) const {
        double all = 0;
        for (int c = 0; c < a_.n_hessians; ++c)
            all += cells[a_.n_outputs + c];
        return all;
    }

    const GainArgs& a_;
    double total_, left_ = 0;
};

template <class Sums>
Cut best_cut_by(const GainArgs& a) {
    const int rows_at = a.n_outputs + a.n_hessians;
    const std::int32_t* missing = a.hist + (a.n_thresholds + 1) * a.cells;
    const std::int32_t n_rows = a.total[rows_at], n_missing = missing[rows_at];
    Best best(a);
    Sums sums(a);
    HessianLimit limit(a);
    std::int32_t n_left = 0;
    auto offer = [&](int k, const std::int32_t* also_left) {
        if (best.allowed(n_left + (also_left ? n_missing : 0), n_rows) &&
            limit.allows(also_left))
            best.offer(sums.score(also_left), k, also_left != nullptr);
    };
    if (n_missing != 0)
        offer(-1, missing);  // only NaN goes left
    int bin = 0;
    for (int k = 0; k < a.n_candidates; ++k) {
        const int t = a.candidates ? a.candidates[k] : k;
        const std::int32_t seen = n_left;
        for (; bin <= t; ++bin) {
            const std::int32_t* cells = a.hist + bin * a.cells;
            if (cells[rows_at] == 0)
                continue;
            sums.add(cells);
            limit.add(cells);
            n_left += cells[rows_at];
        }
        if (n_left == seen)  // the same cut as the one before, or none
            continue;
        offer(k, nullptr);
        if (n_missing != 0)
            offer(k, missing);
    }
    return best.cut(n_missing != 0);
}

template <int R>
Cut best_cut_of_registers(const GainArgs& a) {
    return a.n_hessians == 1 ? best_cut_by<RegisterSums<R, true>>(a)
                             : best_cut_by<RegisterSums<R, false>>(a);
}

Cut best_vector_cut(const GainArgs& a) {
    switch ((a.n_outputs + kLanes - 1) / kLanes) {
        case 1:
            return best_cut_of_registers<1>(a);
        case 2:
            return best_cut_of_registers<2>(a);
        case 3:
            return best_cut_of_registers<3>(a);
        default:
            return best_cut_by<StoredSums>(a);
    }
}

// The value of a side within bounds, and how much it lowers the loss.
struct BoundedSide {
    Floats value, score;

    BoundedSide(const GainArgs& a, Floats g, Floats h) {
        const Floats weight = h + a.l2;
        value = weight > Floats{} ? -g / weight : Floats{};
        value = value < a.lower ? Floats{} + a.lower : value;
        value = value > a.upper ? Floats{} + a.upper : value;
        score = -value * (2.0f * g + weight * value);
    }
};

// One output: eight thresholds at a time.
template <bool kBounded>
Cut best_single_cut(const GainArgs& a) {
    const std::int32_t* missing = a.hist + (a.n_thresholds + 1) * 4;
    const std::int32_t n_rows = a.total[2];
    const bool saw_missing = missing[2] != 0;
    Best best(a);
    const int size = (a.n_candidates + 1 + kLanes - 1) / kLanes * kLanes;
    auto* g_sums = reinterpret_cast<std::int32_t*>(a.scratch);
    auto* h_sums = g_sums + size;
    auto* n_sums = h_sums + size;
    // Entry 0 is "nothing but NaN"; entry k + 1 is candidate k.
    FourInts sum = {};
    int bin = 0;
    g_sums[0] = h_sums[0] = n_sums[0] = 0;
    for (int k = 0; k < a.n_candidates; ++k) {
        const int t = a.candidates ? a.candidates[k] : k;
        for (; bin <= t; ++bin)
            sum += *reinterpret_cast<const FourInts*>(a.hist + bin * 4);
        g_sums[k + 1] = sum[0];
        h_sums[k + 1] = sum[1];
        n_sums[k + 1] = sum[2];
    }
    for (int k = a.n_candidates + 1; k < size; ++k)
        g_sums[k] = h_sums[k] = n_sums[k] = 0;
    // Below every other where the sides are in the wrong order.
    auto score_at = [&](Ints g, Ints h) {
        if constexpr (kBounded) {
            const BoundedSide left(a, as_floats(g), as_floats(h));
            const BoundedSide right(a, as_floats(a.total[0] - g),
                                    as_floats(a.total[1] - h));
            const Floats rise =
                (right.value - left.value) * static_cast<float>(a.direction);
            return rise < Floats{} ? Floats{} + kNoScore : left.score + right.score;
        } else {
            return score_of(as_floats(g), as_floats(h), a.l2) +
                   score_of(as_floats(a.total[0] - g), as_floats(a.total[1] - h), a.l2);
        }
    };
    if (saw_missing && best.allowed(missing[2], n_rows) &&
        HessianLimit(a).allows(missing))
        best.offer(score_at(Ints{} + missing[0], Ints{} + missing[1])[0], -1, true);
    for (int side = 0; side < 1 + saw_missing; ++side) {
        const FourInts extra =
            side ? *reinterpret_cast<const FourInts*>(missing) : FourInts{};
        Floats high = Floats{} + best.score();
        Ints where = Ints{} - 1;
        const Ints iota = {0, 1, 2, 3, 4, 5, 6, 7};
        for (int first = 0; first < size; first += kLanes) {
            const Ints g = load(g_sums + first) + extra[0];
            const Ints h = load(h_sums + first) + extra[1];
            const Ints n = load(n_sums + first) + extra[2];
            const Floats score = score_at(g, h);
            const Ints heavy = (as_floats(h) >= a.min_hessian) &
                               (as_floats(a.total[1] - h) >= a.min_hessian);
            const Ints allowed =
                (n >= a.min_rows) & (n_rows - n >= a.min_rows) & (score > high) & heavy;
            high = allowed ? score : high;
            where = allowed ? iota + first : where;
        }
        int found = -1;
        float found_score = best.score();
        for (int j = 0; j < kLanes; ++j) {
            if (where[j] >= 0 &&
                (high[j] > found_score ||
                 (found >= 0 && high[j] == found_score && where[j] < found))) {
                found = where[j];
                found_score = high[j];
            }
        }
        if (found >= 0)
            best.offer(found_score, found - 1, side == 1);
    }
    return best.cut(saw_missing);
}

// The same for few thresholds (yes or no has one), one after the other.
constexpr int kFewThresholds = 4;

Cut best_of_few(const GainArgs& a) {
    const std::int32_t* missing = a.hist + (a.n_thresholds + 1) * 4;
    const std::int32_t n_rows = a.total[2];
    const bool saw_missing = missing[2] != 0;
    Best best(a);
    auto side_score = [&](std::int32_t g, std::int32_t h) {
        const float denominator = static_cast<float>(h) + a.l2;
        const auto sum = static_cast<float>(g);
        return denominator > 0 ? sum * sum / denominator : 0.0f;
    };
    auto offer = [&](const FourInts& left, int t, bool missing_left) {
        if (best.allowed(left[2], n_rows) &&
            static_cast<float>(left[1]) >= a.min_hessian &&
            static_cast<float>(a.total[1] - left[1]) >= a.min_hessian)
            best.offer(side_score(left[0], left[1]) +
                           side_score(a.total[0] - left[0], a.total[1] - left[1]),
                       t, missing_left);
    };
    const auto of_missing = *reinterpret_cast<const FourInts*>(missing);
    if (saw_missing)
        offer(of_missing, -1, true);
    for (int side = 0; side < 1 + saw_missing; ++side) {
        FourInts left = side ? of_missing : FourInts{};
        for (int t = 0; t < a.n_thresholds; ++t) {
            left += *reinterpret_cast<const FourInts*>(a.hist + t * 4);
            offer(left, t, side == 1);
        }
    }
    return best.cut(saw_missing);
}

Cut best_cut(const GainArgs& a) {
    const bool few = !a.candidates && a.n_thresholds <= kFewThresholds;
    Cut cut = a.n_outputs > 1 ? best_vector_cut(a)
              : a.is_bounded  ? best_single_cut<true>(a)
              : few           ? best_of_few(a)
                              : best_single_cut<false>(a);
    if (!a.candidates) {
        const int rows_at = a.n_outputs + a.n_hessians;
        widen(cut, a.n_thresholds,
              [&](int bin) { return a.hist[bin * a.cells + rows_at]; });
    }
    return cut;
}

}  // namespace
}  // namespace dics::DICS_ISA
