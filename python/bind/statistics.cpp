#include "statistics/statistics.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"
#include "source_handle.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

// The numbers are the JSON text that the command line prints, so that both always agree.
nb::typed<nb::dict, nb::str, nb::any> measure_source(nb::handle source, std::vector<std::string> fields,
                                                     unsigned threads, std::uint64_t memory_bytes,
                                                     const nb::object& progress) {
  const SourcePtr opened = nb::cast<SourceHandle&>(source).source;
  VisitOptions options;
  options.fields = std::move(fields);
  options.threads = threads;
  options.memory_bytes = memory_bytes;
  options.progress = progress_of(progress);
  auto measured = run_interruptibly([&] { return measure(opened, options); });
  const Statistics statistics = value_or_raise(std::move(measured));
  if (!statistics.has_read_any() && !statistics.visit.bad.empty()) raise(statistics.visit.bad.front().error);
  auto texts = nlohmann::ordered_json::array();
  for (const FieldStatistics& field : statistics.fields) texts.push_back(field.to_json(opened->classes()));
  nb::list errors;
  for (const BadValue& bad : statistics.visit.bad) {
    nb::dict error = error_dict(bad.error);
    error["field"] = bad.field.empty() ? nb::object(nb::none()) : nb::object(nb::str(bad.field.c_str()));
    errors.append(error);
  }
  nb::dict out;
  out["samples"] = statistics.visit.samples;
  out["bad"] = statistics.visit.bad_samples;
  out["bytes"] = statistics.visit.bytes;
  out["seconds"] = statistics.visit.seconds;
  out["errors"] = errors;
  out["fields"] = file_text(texts.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return out;
}

}  // namespace

void bind_statistics(nb::module_& m) {
  m.def("measure_source", &measure_source, "source"_a, nb::kw_only(), "fields"_a, "threads"_a, "memory_bytes"_a,
        "progress"_a);
}

}  // namespace penstock::python
