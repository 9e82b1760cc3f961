#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"
#include "penstock/source.h"
#include "source_handle.h"
#include "stage_handle.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

std::vector<std::string> texts_of(const std::vector<nb::bytes>& list) {
  std::vector<std::string> out;
  for (const nb::bytes& bytes : list) out.push_back(text_of(bytes));
  return out;
}

// "keep", "error", or a number that replaces missing values.
template <typename Options>
void set_nan(const std::variant<std::string, double>& nan, Options& options) {
  if (const auto* value = std::get_if<double>(&nan)) {
    options.nan = ZarrOptions::Nan::kReplace;
    options.nan_value = *value;
  } else if (std::get<std::string>(nan) == "error") {
    options.nan = ZarrOptions::Nan::kError;
  }
}

// A number, or a date as (text, is_moment, calendar).
CoordinateLabel label_of(const nb::handle& label) {
  if (!nb::isinstance<nb::tuple>(label)) return nb::cast<double>(label);
  const auto parts = nb::borrow<nb::tuple>(label);
  return CoordinateDate{nb::cast<std::string>(parts[0]), nb::cast<bool>(parts[1]),
                        nb::cast<std::string>(parts[2])};
}

// The form to which selections.py converts an argument: a word that names the kind of the rest.
using Parts = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

// ("value", label), ("list", labels) or ("range", from, to, step), whose ends may be None.
Selection selection_of(const Parts& parts) {
  const auto kind = nb::cast<std::string>(parts[0]);
  if (kind == "value") return label_of(parts[1]);
  if (kind == "list") {
    std::vector<CoordinateLabel> labels;
    for (const nb::handle label : nb::borrow<nb::list>(parts[1])) labels.push_back(label_of(label));
    return labels;
  }
  CoordinateRange range;
  if (!parts[1].is_none()) range.from = label_of(parts[1]);
  if (!parts[2].is_none()) range.to = label_of(parts[2]);
  range.step = nb::cast<std::int64_t>(parts[3]);
  return range;
}

// "" means None.
MissingChunk missing_of(const std::string& missing) {
  return missing == "error" ? MissingChunk::kError
         : missing == "fill" ? MissingChunk::kFill
                             : MissingChunk::kFillIfGone;
}

// ("value", position), ("list", positions), ("mask", booleans) or ("range", first, end, step).
Positions positions_of(const Parts& parts) {
  const auto kind = nb::cast<std::string>(parts[0]);
  if (kind == "value") return nb::cast<std::int64_t>(parts[1]);
  if (kind == "list") return nb::cast<std::vector<std::int64_t>>(parts[1]);
  if (kind == "mask") {
    std::vector<bool> mask;
    for (const nb::handle value : nb::borrow<nb::list>(parts[1])) mask.push_back(nb::cast<bool>(value));
    return mask;
  }
  return IndexRange{nb::cast<std::optional<std::int64_t>>(parts[1]),
                    nb::cast<std::optional<std::int64_t>>(parts[2]), nb::cast<std::int64_t>(parts[3])};
}

SourceHandle open_zarr_source(const std::vector<nb::bytes>& uris, std::vector<std::string> variables,
                              std::variant<std::string, int> sample_dim, std::vector<std::int64_t> history,
                              std::vector<std::int64_t> horizon,
                              const std::vector<std::pair<std::string, Parts>>& select,
                              const std::vector<std::pair<std::string, Parts>>& isel, bool allow_gaps,
                              std::string stack, bool decode_cf, const std::variant<std::string, double>& nan,
                              const std::string& missing, std::vector<std::string> headers,
                              std::uint64_t memory, const nb::object& stage) {
  ZarrOptions options;
  options.memory_bytes = memory;
  options.headers = std::move(headers);
  options.variables = std::move(variables);
  options.sample_dim = std::move(sample_dim);
  options.history = std::move(history);
  options.horizon = std::move(horizon);
  for (const auto& [dimension, parts] : select) options.select.emplace_back(dimension, selection_of(parts));
  for (const auto& [dimension, parts] : isel) options.isel.emplace_back(dimension, positions_of(parts));
  options.gaps = allow_gaps ? ZarrOptions::Gaps::kAllow : ZarrOptions::Gaps::kSkip;
  options.stack = std::move(stack);
  options.decode_cf = decode_cf;
  set_nan(nan, options);
  options.missing = missing_of(missing);
  return open_without_gil([&, names = texts_of(uris), through = stage_of(stage)] {
    return open_perhaps_staged(through, names, [&] { return open_zarr(names, options); });
  });
}

SourceHandle open_patches_source(const std::vector<nb::bytes>& volumes, std::vector<std::int64_t> size,
                                 std::uint64_t per_epoch, std::vector<std::int64_t> overlap,
                                 const std::vector<nb::bytes>& labels,
                                 const std::vector<std::pair<std::int64_t, std::int64_t>>& region,
                                 const std::vector<nb::bytes>& masks, double min_foreground,
                                 std::vector<double> weights,
                                 std::vector<std::pair<std::int64_t, double>> class_weights, bool decode_cf,
                                 const std::variant<std::string, double>& nan,
                                 const std::vector<std::pair<std::string, std::int64_t>>& axes,
                                 const std::string& missing, const nb::object& progress,
                                 std::vector<std::string> headers, std::uint64_t memory, const nb::object& stage) {
  PatchOptions options;
  options.memory_bytes = memory;
  options.headers = std::move(headers);
  options.size = std::move(size);
  options.per_epoch = per_epoch;
  options.overlap = std::move(overlap);
  options.labels = texts_of(labels);
  for (const auto& [begin, end] : region) options.region.push_back({begin, end});
  options.masks = texts_of(masks);
  options.min_foreground = min_foreground;
  options.volume_weights = std::move(weights);
  options.class_weights = std::move(class_weights);
  options.decode_cf = decode_cf;
  set_nan(nan, options);
  for (const auto& [name, extent] : axes) options.axes.push_back({name.empty() ? 'Q' : name.front(), extent});
  options.missing = missing_of(missing);
  options.progress = progress_of(progress);
  return open_without_gil([&, names = texts_of(volumes), mask_names = texts_of(masks), through = stage_of(stage)] {
    std::vector<std::string> all = names;
    all.insert(all.end(), options.labels.begin(), options.labels.end());
    all.insert(all.end(), mask_names.begin(), mask_names.end());
    return open_perhaps_staged(through, std::move(all), [&] { return open_patches(names, options); });
  });
}

}  // namespace

void bind_array_sources(nb::module_& m) {
  m.def("open_zarr", &open_zarr_source, "uris"_a, nb::kw_only(), "variables"_a, "sample_dim"_a, "history"_a,
        "horizon"_a, "select"_a, "isel"_a, "allow_gaps"_a, "stack"_a, "decode_cf"_a, "nan"_a,
        "missing"_a, "headers"_a, "memory"_a, "stage"_a = nb::none());
  m.def("open_patches", &open_patches_source, "volumes"_a, nb::kw_only(), "size"_a, "per_epoch"_a,
        "overlap"_a, "labels"_a, "region"_a, "masks"_a, "min_foreground"_a, "weights"_a, "class_weights"_a,
        "decode_cf"_a, "nan"_a, "axes"_a, "missing"_a, "progress"_a, "headers"_a, "memory"_a,
        "stage"_a = nb::none());
}

}  // namespace penstock::python
