// Stage `encode`: X to uint8 codes.
#pragma once

#include <cstdint>

#include "matrix.hpp"
#include "team.hpp"

namespace dics {

// Writes the codes of X in blocks of `width` features (see Codes); padding is zero.
void encode(const AnyMatrix& X, const Dictionary& dictionary, int width, Team& team,
            std::uint8_t* codes);

}  // namespace dics
