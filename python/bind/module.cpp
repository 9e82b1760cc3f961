#include "bind.h"

NB_MODULE(_core, module) {
  // A traceback that is still held at exit is no leak of ours, and users cannot mend it.
  nanobind::set_leak_warnings(false);
  module.doc() = "The engine of penstock. Users import penstock.";
  module.attr("__version__") = PENSTOCK_VERSION;
  penstock::python::bind_transforms(module);
  penstock::python::bind_sources(module);
  penstock::python::bind_array_sources(module);
  penstock::python::bind_statistics(module);
  penstock::python::bind_cache(module);
  penstock::python::bind_loader(module);
}
