// Functions of the user, which worker threads call.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "penstock/transform.h"

namespace penstock::python {

// A Python function that any thread may call and destroy. It acquires the GIL by itself. An exception becomes
// an Error that has it as its cause.
class MapFunction {
 public:
  // `fields` are those of Map. With `wants_generator`, the last argument is a numpy.random.Generator.
  MapFunction(nanobind::object function, std::vector<std::string> fields, bool wants_generator);
  MapFunction(const MapFunction&) = delete;
  ~MapFunction();

  Result<std::vector<MapValue>> operator()(std::vector<MapValue> values, const MapDraws& draws) const;

 private:
  Result<std::vector<MapValue>> call(std::vector<MapValue> values, const MapDraws& draws) const;
  // Returns `values`, in which the returned values replace the arguments of the function.
  Result<std::vector<MapValue>> read_returned(nanobind::handle returned, std::vector<MapValue> values) const;
  Result<MapValue> read_value(std::size_t field, nanobind::handle value, MapValue::Kind before) const;
  std::string name_of(std::size_t field) const;

  nanobind::object function_;
  const std::vector<std::string> fields_;
  const bool wants_generator_;
};

void bind_map(nanobind::module_& m);

}  // namespace penstock::python
