// The module: this folder is all that knows Python.
#include <nanobind/stl/string.h>

#include <string>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "kernels/kernels.hpp"

NB_MODULE(_core, m) {
    m.doc() = "The compiled stages of dics. Private: use the estimators.";
    m.attr("MAX_THRESHOLDS") = dics::kMaxThresholds;
    dics::bind_settings(m);
    dics::bind_candidates(m);
    dics::bind_grow(m);
    dics::bind_boost(m);
    dics::bind_predict(m);
    m.def(
        "instruction_set", [] { return std::string(dics::kernels().name); },
        "Which build of the kernels runs here: 'avx2' or 'baseline'.");
}
