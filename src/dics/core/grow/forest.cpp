#include "grow/forest.hpp"

#include "grow/grow.hpp"

namespace dics {
namespace {

// Calls sample() n times. Ten million calls take a second: the caller may stop them.
template <class Sample>
void repeat(std::int64_t n, Sample sample) {
    constexpr std::int64_t together = 1 << 16;
    for (std::int64_t begin = 0; begin < n; begin += together) {
        Team::check();
        for (std::int64_t i = begin; i < std::min(n, begin + together); ++i)
            sample();
    }
}

}  // namespace

std::vector<std::int32_t> forest_order(const Dictionary& dictionary,
                                       std::uint64_t seed) {
    std::vector<std::int32_t> order;
    for (std::int64_t f = 0; f < dictionary.n_features; ++f) {
        if (dictionary.count(f) > 0)
            order.push_back(f);
    }
    if (static_cast<std::int64_t>(order.size()) > FeatureSampler::kOffered) {
        Stream stream(combine(mix(seed), 7));
        for (std::size_t i = 0; i + 1 < order.size(); ++i)
            std::swap(order[i], order[i + stream.below(order.size() - i)]);
    }
    return order;
}

int forest_code_width(FeatureSampling sampling, std::int64_t n_features) {
    constexpr std::int64_t line = FeatureSampler::kGroup;
    if (sampling == FeatureSampling::tree)
        return 1;
    if (sampling == FeatureSampling::none)
        return code_width(n_features);
    const std::int64_t width = n_features <= FeatureSampler::kOffered
                                   ? n_features
                                   : (n_features + line - 1) / line * line;
    return static_cast<int>(std::max<std::int64_t>(1, width));
}

void bootstrap(std::uint64_t seed, std::int64_t tree, std::int64_t sample_size,
               const double* cumulative, std::int64_t n_rows, std::uint32_t* counts) {
    Stream stream(combine(tree_key(seed, tree), 4));
    std::fill_n(counts, n_rows, 0u);
    if (!cumulative) {
        return repeat(sample_size, [&] {
            ++counts[stream.below(static_cast<std::uint64_t>(n_rows))];
        });
    }
    const double* end = cumulative + n_rows;
    const double total = end[-1];
    // Where a number that rounds up to the total belongs: the last row with a weight.
    const double* last = std::lower_bound(cumulative, end, total);
    repeat(sample_size, [&] {
        const double* at = std::upper_bound(cumulative, end, stream.uniform() * total);
        ++counts[std::min(at, last) - cumulative];
    });
}

}  // namespace dics
