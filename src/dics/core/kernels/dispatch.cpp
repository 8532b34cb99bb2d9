// Chooses the kernel table once, by the instruction set of the CPU.
#include <cstdlib>
#include <string_view>

#include "kernels/boost_kernels.hpp"
#include "kernels/contribution_kernels.hpp"
#include "kernels/kernels.hpp"

namespace dics {
namespace baseline {
extern const Kernels table;
extern const BoostKernels boost_table;
extern const ObjectiveTable objective_table;
extern const ContributionKernels contribution_table;
}  // namespace baseline
#ifdef DICS_HAVE_AVX2
namespace avx2 {
extern const Kernels table;
extern const BoostKernels boost_table;
extern const ObjectiveTable objective_table;
extern const ContributionKernels contribution_table;
}  // namespace avx2
#endif

namespace {

struct Tables {
    const Kernels& kernels;
    const BoostKernels& boost;
    const ObjectiveTable& objectives;
    const ContributionKernels& contributions;
};

Tables choose() {
#ifdef DICS_HAVE_AVX2
    const char* forced = std::getenv("DICS_ISA");
    const bool plain = forced != nullptr && std::string_view(forced) == "baseline";
    if (!plain && __builtin_cpu_supports("avx2"))
        return {avx2::table, avx2::boost_table, avx2::objective_table,
                avx2::contribution_table};
#endif
    return {baseline::table, baseline::boost_table, baseline::objective_table,
            baseline::contribution_table};
}

const Tables& tables() {
    static const Tables chosen = choose();
    return chosen;
}

}  // namespace

const Kernels& kernels() { return tables().kernels; }
const BoostKernels& boost_kernels() { return tables().boost; }
const ObjectiveTable& objective_kernels() { return tables().objectives; }
const ContributionKernels& contribution_kernels() { return tables().contributions; }

}  // namespace dics
