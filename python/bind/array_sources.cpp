#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"
#include "penstock/arrays.h"
#include "source_handle.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

std::vector<std::string> texts_of(const std::vector<nb::bytes>& list) {
  std::vector<std::string> out;
  for (const nb::bytes& bytes : list) out.push_back(text_of(bytes));
  return out;
}

// ("index", first, end, step), ("values", from, to) or ("dates", from, to).
Selection selection_of(const nb::tuple& parts) {
  const auto kind = nb::cast<std::string>(parts[0]);
  if (kind == "index")
    return IndexRange{nb::cast<std::optional<std::int64_t>>(parts[1]),
                      nb::cast<std::optional<std::int64_t>>(parts[2]), nb::cast<std::int64_t>(parts[3])};
  if (kind == "values") return CoordinateRange{nb::cast<double>(parts[1]), nb::cast<double>(parts[2])};
  return DateRange{nb::cast<std::string>(parts[1]), nb::cast<std::string>(parts[2])};
}

SourceHandle open_zarr_source(const nb::bytes& uri, std::vector<std::string> variables,
                              std::variant<std::string, int> sample_dim, std::vector<std::int64_t> history,
                              std::vector<std::int64_t> horizon,
                              const std::vector<std::pair<std::string, nb::tuple>>& select, std::string stack,
                              bool decode_cf, const std::variant<std::string, double>& nan,
                              bool missing_is_error, std::vector<std::string> headers) {
  ZarrOptions options;
  options.headers = std::move(headers);
  options.variables = std::move(variables);
  options.sample_dim = std::move(sample_dim);
  options.history = std::move(history);
  options.horizon = std::move(horizon);
  for (const auto& [dimension, parts] : select) options.select.emplace_back(dimension, selection_of(parts));
  options.stack = std::move(stack);
  options.decode_cf = decode_cf;
  if (const auto* value = std::get_if<double>(&nan)) {
    options.nan = ZarrOptions::Nan::kReplace;
    options.nan_value = static_cast<float>(*value);
  } else if (std::get<std::string>(nan) == "error") {
    options.nan = ZarrOptions::Nan::kError;
  }
  options.missing = missing_is_error ? MissingChunk::kError : MissingChunk::kFill;
  return open_without_gil([&, name = text_of(uri)] { return open_zarr(name, options); });
}

SourceHandle open_patches_source(const std::vector<nb::bytes>& volumes, std::vector<std::int64_t> size,
                                 std::uint64_t per_epoch, std::vector<std::int64_t> overlap,
                                 const std::vector<nb::bytes>& labels, double min_foreground,
                                 bool missing_is_error, const nb::object& progress,
                                 std::vector<std::string> headers) {
  PatchOptions options;
  options.headers = std::move(headers);
  options.size = std::move(size);
  options.per_epoch = per_epoch;
  options.overlap = std::move(overlap);
  options.labels = texts_of(labels);
  options.min_foreground = min_foreground;
  options.missing = missing_is_error ? MissingChunk::kError : MissingChunk::kFill;
  options.progress = [&](std::uint64_t chunks) {
    nb::gil_scoped_acquire gil;
    try {
      progress(chunks);
    } catch (nb::python_error& error) {
      error.restore();  // raised again when the labels have been given up
      return false;
    }
    return PyErr_CheckSignals() == 0;
  };
  return open_without_gil([&, names = texts_of(volumes)] { return open_patches(names, options); });
}

}  // namespace

void bind_array_sources(nb::module_& m) {
  m.def("open_zarr", &open_zarr_source, "uri"_a, nb::kw_only(), "variables"_a, "sample_dim"_a, "history"_a,
        "horizon"_a, "select"_a, "stack"_a, "decode_cf"_a, "nan"_a, "missing_is_error"_a, "headers"_a);
  m.def("open_patches", &open_patches_source, "volumes"_a, nb::kw_only(), "size"_a, "per_epoch"_a,
        "overlap"_a, "labels"_a, "min_foreground"_a, "missing_is_error"_a, "progress"_a, "headers"_a);
}

}  // namespace penstock::python
