// Each function adds the bindings of one file to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace dics {

void bind_settings(nanobind::module_& m);
void bind_candidates(nanobind::module_& m);
void bind_grow(nanobind::module_& m);
void bind_peers(nanobind::module_& m);
void bind_boost(nanobind::module_& m);
void bind_predict(nanobind::module_& m);

}  // namespace dics
