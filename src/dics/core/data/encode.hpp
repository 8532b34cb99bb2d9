// Stage `encode`: computes the uint8 codes of X.
#pragma once

#include <cstdint>

#include "data/row_source.hpp"
#include "team.hpp"

namespace dics {

// Writes the codes of X in blocks of `width` features (see Codes); padding is zero.
void encode(const AnyRows& X, const Dictionary& dictionary, int width, Team& team,
            std::uint8_t* codes);

// Writes the codes of columns order[0..n_order-1] of X, with `stride` bytes per row.
void encode_ordered(const AnyRows& X, const Dictionary& dictionary,
                    const std::int32_t* order, std::int64_t n_order,
                    std::int64_t stride, Team& team, std::uint8_t* codes);

}  // namespace dics
