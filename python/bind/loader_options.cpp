// LoaderOptions as a Python class: one attribute for each member, under the member's name.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"
#include "penstock/loader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

using Options = nb::class_<LoaderOptions>;

template <typename Value>
using Words = std::vector<std::pair<std::string, Value>>;

// Binds an enumeration. Python reads and writes it as one of `words`.
template <typename Value>
void def_word(Options& options, const char* name, Value LoaderOptions::* member, Words<Value> words) {
  const auto get = [member, words](const LoaderOptions& self) {
    for (const auto& [word, value] : words)
      if (value == self.*member) return word;
    return std::string();
  };
  const auto set = [name, member, words](LoaderOptions& self, const std::string& given) {
    std::string known;
    for (const auto& [word, value] : words) {
      if (word == given) {
        self.*member = value;
        return;
      }
      known += (known.empty() ? "\"" : ", \"") + word + "\"";
    }
    raise({ErrorCode::kInvalidArgument, std::string(name) + "=\"" + given + "\": wants one of " + known, {}, false});
  };
  options.def_prop_rw(name, get, set);
}

// Binds a list that loaders share without a copy. Python reads and writes a list, or None.
template <typename Value>
void def_list(Options& options, const char* name,
              std::shared_ptr<const std::vector<Value>> LoaderOptions::* member) {
  using List = std::optional<std::vector<Value>>;
  const auto get = [member](const LoaderOptions& self) { return self.*member ? List(*(self.*member)) : List(); };
  const auto set = [member](LoaderOptions& self, List list) {
    (self.*member).reset();
    if (list) self.*member = std::make_shared<const std::vector<Value>>(std::move(*list));
  };
  options.def_prop_rw(name, get, set, nb::for_setter(nb::arg("value").none()));
}

std::optional<std::string> dtype_word(const LoaderOptions& options) {
  if (!options.dtype) return std::nullopt;
  return std::string(name_of(*options.dtype));
}

void set_dtype(LoaderOptions& options, const std::optional<std::string>& word) {
  options.dtype.reset();
  if (!word) return;
  options.dtype = dtype_named(*word);
  if (!options.dtype)
    raise({ErrorCode::kInvalidArgument, "dtype=\"" + *word + "\" is not known", {}, false});
}

}  // namespace

void bind_loader_options(nb::module_& m) {
  nb::class_<FieldTransform>(m, "FieldTransform", "The steps of one field, in order.")
      .def(nb::init<std::string, std::vector<Transform>, std::string>(), "field"_a, "steps"_a, "derive_from"_a)
      .def_ro("field", &FieldTransform::field)
      .def_ro("derive_from", &FieldTransform::derive_from);

  Options options(m, "LoaderOptions",
                  "What a loader does. A new object has the engine's defaults; assign to its attributes, then pass it "
                  "to open_loader(), which copies it.");
  options.def(nb::init<>())
      .def_rw("batch_size", &LoaderOptions::batch_size)
      .def_rw("fields", &LoaderOptions::fields)
      .def_rw("renamed", &LoaderOptions::renamed)
      .def_rw("transforms", &LoaderOptions::transforms)
      .def_rw("shuffle_window", &LoaderOptions::shuffle_window)
      .def_rw("seed", &LoaderOptions::seed)
      .def_rw("epoch_size", &LoaderOptions::epoch_size)
      .def_rw("drop_last", &LoaderOptions::drop_last)
      .def_rw("rank", &LoaderOptions::rank)
      .def_rw("world_size", &LoaderOptions::world_size)
      .def_rw("local_ranks", &LoaderOptions::local_ranks)
      .def_rw("threads", &LoaderOptions::threads)
      .def_rw("prefetch", &LoaderOptions::prefetch)
      .def_rw("memory_bytes", &LoaderOptions::memory_bytes)
      .def_rw("max_skip", &LoaderOptions::max_skip)
      .def_rw("pad_value", &LoaderOptions::pad_value)
      .def_rw("bucket_by", &LoaderOptions::bucket_by)
      .def_prop_rw("dtype", &dtype_word, &set_dtype, nb::for_setter(nb::arg("value").none()));
  def_list(options, "sampler", &LoaderOptions::sampler);
  def_list(options, "weights", &LoaderOptions::weights);
  def_list(options, "bucket_lengths", &LoaderOptions::bucket_lengths);
  def_word<ShuffleMode>(options, "shuffle", &LoaderOptions::shuffle,
                        {{"off", ShuffleMode::kOff},
                         {"auto", ShuffleMode::kAuto},
                         {"full", ShuffleMode::kFull},
                         {"window", ShuffleMode::kWindow}});
  def_word<CacheForm>(
      options, "cache_form", &LoaderOptions::cache_form,
      {{"auto", CacheForm::kAuto}, {"encoded", CacheForm::kEncoded}, {"decoded", CacheForm::kDecoded}});
  def_word<OnError>(
      options, "on_error", &LoaderOptions::on_error,
      {{"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"replace", OnError::kReplace}});
  def_word<Collate>(options, "collate", &LoaderOptions::collate,
                    {{"stack", Collate::kStack}, {"pad", Collate::kPad}, {"list", Collate::kList}});
  def_word<BatchLayout>(options, "layout", &LoaderOptions::layout,
                        {{"NCHW", BatchLayout::kNchw}, {"NHWC", BatchLayout::kNhwc}});
}

}  // namespace penstock::python
