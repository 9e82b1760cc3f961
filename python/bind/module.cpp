#include "bind.h"

NB_MODULE(_core, module) {
  // nanobind would report objects that a traceback holds at exit as leaks, which users cannot mend.
  nanobind::set_leak_warnings(false);
  module.doc() = "The engine of penstock. Users import penstock.";
  module.attr("version") = PENSTOCK_VERSION;
  penstock::python::bind_transforms(module);
  penstock::python::bind_sources(module);
  penstock::python::bind_array_sources(module);
  penstock::python::bind_stage(module);
  penstock::python::bind_statistics(module);
  penstock::python::bind_storage(module);
  penstock::python::bind_cache(module);
  penstock::python::bind_loader_options(module);
  penstock::python::bind_loader(module);
  penstock::python::bind_pack(module);
}
