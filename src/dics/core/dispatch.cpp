// Chooses the kernel table once, by what the CPU can do.
#include <cstdlib>
#include <string_view>

#include "kernels.hpp"

namespace dics {
namespace baseline {
extern const Kernels table;
}
#ifdef DICS_HAVE_AVX2
namespace avx2 {
extern const Kernels table;
}
#endif

namespace {

const Kernels& choose() {
#ifdef DICS_HAVE_AVX2
    const char* forced = std::getenv("DICS_ISA");
    const bool plain = forced != nullptr && std::string_view(forced) == "baseline";
    if (!plain && __builtin_cpu_supports("avx2"))
        return avx2::table;
#endif
    return baseline::table;
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

}  // namespace dics
