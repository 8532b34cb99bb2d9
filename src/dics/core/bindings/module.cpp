// The module. Only this folder depends on Python.
#include <nanobind/stl/string.h>

#include <string>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "kernels/kernels.hpp"

namespace {

void stop_calls() {
    dics::ends_python = true;
    dics::python_ends = true;
    // Other threads keep their objects forever; these are not leaks.
    const auto frames = nanobind::cast<nanobind::dict>(
        nanobind::module_::import_("sys").attr("_current_frames")());
    for (const auto frame : frames) {
        if (nanobind::cast<unsigned long>(frame.first) != PyThread_get_thread_ident())
            nanobind::set_leak_warnings(false);
    }
}

// Returns the check before, or None.
nanobind::object set_check(nanobind::object check) {
    PyObject* before = dics::check_of_thread;
    dics::check_of_thread = check.is_none() ? nullptr : check.release().ptr();
    return before ? nanobind::steal(before) : nanobind::none();
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The compiled stages of dics. Private: use the estimators.";
    m.attr("MAX_THRESHOLDS") = dics::kMaxThresholds;
    dics::bind_settings(m);
    dics::bind_candidates(m);
    dics::bind_grow(m);
    dics::bind_peers(m);
    dics::bind_boost(m);
    dics::bind_predict(m);
    m.def("stop_calls", &stop_calls,
          "Stop the calls of all other threads; for the end of Python.");
    nanobind::module_::import_("atexit").attr("register")(m.attr("stop_calls"));
    m.def(
        "set_check", &set_check, nanobind::arg("check").none(),
        "Call check() at intervals during calls of this thread. An exception of check "
        "ends the call.");
    m.def(
        "instruction_set", [] { return std::string(dics::kernels().name); },
        "Return the instruction set of the kernels: 'avx2' or 'baseline'.");
}
