// Batch memory as arrays of other libraries, without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "penstock/array.h"
#include "penstock/result.h"
#include "penstock/transform.h"

namespace penstock::python {

// Return a writable array over `data` that keeps `owner` alive: an array of NumPy, or an object with
// __dlpack__ for other libraries.
nanobind::object numpy_array(void* data, const ArraySpec& spec, std::shared_ptr<void> owner);
nanobind::object dlpack_array(void* data, const ArraySpec& spec, std::shared_ptr<void> owner);

// Reads the array that a function of the user returned. The caller holds the GIL.
Result<OwnedArray> array_from_python(nanobind::handle value);

}  // namespace penstock::python
