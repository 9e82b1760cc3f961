// LoaderStats as nested dicts. penstock/stats.py declares their keys as TypedDicts.
#pragma once

#include <nanobind/nanobind.h>

#include "penstock/stats.h"

namespace penstock::python {

nanobind::dict stats_dict(const LoaderStats& stats);

}  // namespace penstock::python
