#include "penstock/source.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/text/public_uri.h"
#include "bind.h"
#include "errors.h"
#include "source/sample_draws.h"
#include "source/source_storage.h"
#include "source_handle.h"
#include "stage_handle.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

constexpr std::uint64_t kSamplesPerLook = 1 << 16;  // between two checks for Ctrl-C

std::vector<std::string> texts_of(const std::vector<nb::bytes>& names) {
  std::vector<std::string> texts;
  texts.reserve(names.size());
  for (const nb::bytes& name : names) texts.push_back(text_of(name));
  return texts;
}

// `is_list`: the caller gave a list of paths, perhaps of length one. A .npy file in a list is one sample.
SourceHandle open(const std::vector<nb::bytes>& uris, bool is_list, const std::string& kind, const nb::bytes& masks,
                  const nb::bytes& root, std::vector<std::pair<std::string, std::string>> columns,
                  std::map<std::string, std::string> field_kinds, const std::string& delimiter, bool verify,
                  bool keep_index, std::optional<std::vector<std::int64_t>> labels,
                  std::vector<std::string> classes, const nb::object& progress, const nb::object& warn,
                  std::vector<std::string> headers, std::uint64_t memory, const nb::object& stage) {
  OpenOptions options;
  options.memory_bytes = memory;
  options.headers = std::move(headers);
  options.kind = kind;
  options.masks = text_of(masks);
  options.root = text_of(root);
  options.columns = std::move(columns);
  options.field_kinds = std::move(field_kinds);
  options.delimiter = delimiter.empty() ? '\0' : delimiter.front();
  options.verify_checksums = verify;
  options.keep_index = keep_index;
  options.progress = progress_of(progress);
  if (!warn.is_none())
    options.warn = [&](const std::string& text) {
      const nb::gil_scoped_acquire gil;
      if (PyErr_Occurred()) return;  // the opening was interrupted
      try {
        warn(file_text(text));
      } catch (nb::python_error& error) {
        error.restore();  // raised when the opening has ended
      }
    };
  return open_without_gil([&, names = texts_of(uris), through = stage_of(stage)]() -> Result<SourcePtr> {
    std::vector<std::string> all = names;
    all.insert(all.end(), {options.masks, options.root});
    return open_perhaps_staged(through, std::move(all), [&]() -> Result<SourcePtr> {
      if (labels) return open_labelled_files({names, std::move(*labels), std::move(classes)}, options);
      return is_list ? open_source(names, options) : open_source(names.front(), options);
    });
  });
}

// Returns every sample's value of an integer field, or None where the index does not hold the values.
std::optional<nb::typed<nb::list, int>> index_integers(const SourceHandle& self, std::size_t field) {
  const Source& source = *self.source;
  if (field >= source.fields().size()) throw nb::index_error("no such field");
  const FieldInfo& info = source.fields()[field];
  if (info.form != FieldForm::kIndex || info.kind != FieldKind::kInteger) return std::nullopt;
  nb::list out;
  for (std::uint64_t sample = 0; sample < source.size(); ++sample) {
    if (sample % kSamplesPerLook == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    const IndexValue value = source.value(sample, field);
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr) return std::nullopt;
    out.append(*integer);
  }
  return nb::typed<nb::list, int>(out);
}

}  // namespace

SourcePtr source_of(nb::handle handle) { return nb::cast<SourceHandle&>(handle).source; }

void bind_sources(nb::module_& m) {
  nb::class_<SourceHandle>(m, "SourceHandle", "An opened source; penstock.Source wraps it.")
      .def("__len__",
           [](const SourceHandle& self) {
             const SampleDraws* draws = self.source->draws();
             return draws ? draws->per_epoch() : self.source->size();
           })
      .def("key",
           [](const SourceHandle& self, std::uint64_t sample) {
             if (sample >= self.source->size()) throw nb::index_error("no such sample");
             return file_text(self.source->key(sample));
           })
      .def("fields",
           [](const SourceHandle& self) {
             std::vector<std::pair<std::string, std::string>> out;
             for (const FieldInfo& field : self.source->fields())
               out.emplace_back(field.name, name_of(field.kind));
             return out;
           })
      .def("classes",
           [](const SourceHandle& self) -> nb::typed<nb::list, nb::str> {
             nb::list out;
             for (const std::string& name : self.source->classes()) out.append(file_text(name));
             return out;
           })
      .def("kind", [](const SourceHandle& self) { return self.source->kind(); })
      .def("uri", [](const SourceHandle& self) { return file_text(self.source->uri()); })
      .def("stored_bytes", [](const SourceHandle& self) { return self.source->storage().stored_bytes; })
      .def("fingerprint", [](const SourceHandle& self) { return self.source->fingerprint(); })
      .def("windows_left_out", [](const SourceHandle& self) { return self.source->windows_left_out(); })
      .def("index_was_saved", [](const SourceHandle& self) { return self.source->storage().index_was_saved; })
      .def("index_integers", &index_integers, "field"_a)
      .def("subset",
           [](const SourceHandle& self, std::vector<std::uint64_t> indices) {
             return SourceHandle{value_or_raise(subset(self.source, std::move(indices)))};
           })
      .def("is_drawn", [](const SourceHandle& self) { return self.source->draws() != nullptr; })
      .def("rename",
           [](const SourceHandle& self, const std::map<std::string, std::string>& new_names) {
             return SourceHandle{value_or_raise(rename_fields(self.source, new_names))};
           });
  m.def("open_source", &open, "uris"_a, nb::kw_only(), "is_list"_a = false, "kind"_a, "masks"_a, "root"_a, "columns"_a,
        "field_kinds"_a, "delimiter"_a = "", "verify"_a, "keep_index"_a, "labels"_a = nb::none(),
        "classes"_a = std::vector<std::string>(), "progress"_a = nb::none(), "warn"_a = nb::none(),
        "headers"_a = std::vector<std::string>(), "memory"_a = 0, "stage"_a = nb::none());
  m.def("without_secrets", [](const nb::bytes& uri) {
    const std::string text = without_secrets({uri.c_str(), uri.size()});
    return nb::bytes(text.data(), text.size());
  }, "uri"_a);
  m.def("shuffled", &shuffled, "size"_a, "seed"_a);
  m.def("mix_sources", [](const std::vector<nb::handle>& parts, std::vector<double> weights) {
    std::vector<SourcePtr> sources;
    for (const nb::handle part : parts) sources.push_back(source_of(part));
    return SourceHandle{value_or_raise(mix(std::move(sources), std::move(weights)))};
  });
}

}  // namespace penstock::python
