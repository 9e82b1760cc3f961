// Each function binds the classes of one public header; LoaderOptions has a function of its own.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

void bind_transforms(nanobind::module_& module);
void bind_sources(nanobind::module_& module);
void bind_array_sources(nanobind::module_& module);
void bind_stage(nanobind::module_& module);
void bind_statistics(nanobind::module_& module);
void bind_pack(nanobind::module_& module);
void bind_storage(nanobind::module_& module);
void bind_cache(nanobind::module_& module);
void bind_loader_options(nanobind::module_& module);
void bind_loader(nanobind::module_& module);

}  // namespace penstock::python
