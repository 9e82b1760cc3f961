#include "penstock/loader.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <type_traits>

#include "arrays.h"
#include "bind.h"
#include "cache_handle.h"
#include "errors.h"
#include "interruptible.h"
#include "loader_stats.h"
#include "shared_loader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {

SourcePtr source_of(nb::handle handle);

namespace {

constexpr auto kBetweenSignals = std::chrono::milliseconds(50);  // how often a waiting thread checks for Ctrl-C

// The result of next(): the number of samples, and one array or list per field.
using Delivered = nb::typed<nb::tuple, int, nb::typed<nb::list, nb::any>>;

// One iterator as Python sees it. It looks for Ctrl-C while it waits. Its destructor gives its batches back.
class EpochHandle {
 public:
  EpochHandle(SharedLoaderPtr loader, std::unique_ptr<Epoch> epoch)
      : loader_(std::move(loader)),
        epoch_(std::move(epoch)) {}
  EpochHandle(EpochHandle&&) = default;
  ~EpochHandle() {
    if (!epoch_) return;
    if (loader_->abandoned()) {
      (void)epoch_.release();  // the batches belong to another process
      return;
    }
    nb::gil_scoped_release release;
    epoch_.reset();
  }

  void close() {
    loader_->use([&](Loader&) { epoch_->close(); });
  }

  // Returns nothing at the end of the epoch.
  std::optional<Delivered> next(bool as_numpy) {
    Batch batch;
    while (true) {
      const auto got =
          value_or_raise(loader_->use([&](Loader&) { return epoch_->next(batch, kBetweenSignals); }));
      if (got == Epoch::Next::kEnd) return std::nullopt;
      if (got == Epoch::Next::kBatch) break;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    nb::list out;
    const auto as_array = as_numpy ? numpy_array : dlpack_array;
    for (BatchField& field : batch.fields) {
      if (field.form == BatchForm::kArray) {
        nb::object array = as_array(field.data, field.spec, batch.memory);
        out.append(as_numpy && field.is_time ? array.attr("view")("datetime64[ns]") : array);
        continue;
      }
      nb::list samples;
      for (const std::string& text : field.texts)
        samples.append(field.kind == FieldKind::kBytes ? nb::object(nb::bytes(text.data(), text.size()))
                                                       : file_text(text));
      for (const BatchField::Item& item : field.items)
        samples.append(as_array(item.data, item.spec, batch.memory));
      out.append(samples);
    }
    return Delivered(nb::make_tuple(batch.size, out));
  }

 private:
  SharedLoaderPtr loader_;
  std::unique_ptr<Epoch> epoch_;
};

// The loader as Python sees it.
class LoaderHandle {
 public:
  explicit LoaderHandle(std::unique_ptr<Loader> loader) : shared_(share_loader(std::move(loader))) {}
  LoaderHandle(LoaderHandle&&) = default;
  ~LoaderHandle() {
    if (shared_) drop_loader(std::move(shared_));
  }

  void close() {
    if (shared_->abandoned()) return;
    if (Loader::is_worker_thread())
      raise({ErrorCode::kInvalidArgument, "a loader cannot be closed from inside its own Map", {}, false});
    nb::gil_scoped_release release;
    shared_->close();
  }

  // May make a new engine, which reads samples. Ctrl-C ends that.
  EpochHandle start_epoch() {
    auto epoch = use([](Loader& loader) { return look_for_signals([&] { return loader.start_epoch(); }); });
    raise_interruption();
    return {shared_, value_or_raise(std::move(epoch))};
  }

  std::uint64_t length() const {
    return use([](Loader& loader) { return loader.batches_per_epoch(); });
  }
  void set_epoch(std::uint64_t epoch) {
    use([&](Loader& loader) { loader.set_epoch(epoch); });
  }
  void set_sampler(std::vector<std::uint64_t> indices) {
    auto shared = std::make_shared<const std::vector<std::uint64_t>>(std::move(indices));
    value_or_raise(use([&](Loader& loader) { return loader.set_sampler(std::move(shared)); }));
  }

  void set_ranks(std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks) {
    value_or_raise(use([&](Loader& loader) { return loader.set_ranks(rank, world_size, local_ranks); }));
  }

  // Ctrl-C ends the reading.
  void read_content() {
    const Status read = use([](Loader& loader) { return look_for_signals([&] { return loader.read_content(); }); });
    raise_interruption();
    value_or_raise(read);
  }

  nb::typed<nb::dict, nb::str, int> state() const {
    const LoaderState state = use([](Loader& loader) { return loader.state(); });
    nb::dict out;
    out["version"] = 2;
    out["fingerprint"] = state.fingerprint;
    out["order"] = state.order;
    out["list"] = state.list;
    out["seed"] = state.seed;
    out["epoch"] = state.epoch;
    out["position"] = state.position;
    out["epoch_size"] = state.epoch_size;
    out["bucket_run"] = state.bucket_run;
    if (state.content != 0) out["content"] = state.content;
    return out;
  }

  void load_state(const std::map<std::string, std::uint64_t>& state) {
    const auto get = [&](const char* name) {
      const auto found = state.find(name);
      if (found == state.end())
        raise({ErrorCode::kInvalidArgument, std::string("the state lacks \"") + name + "\"", {}, false});
      return found->second;
    };
    if (get("version") != 2)
      raise({ErrorCode::kInvalidArgument, "the state is of another version", {}, false});
    const LoaderState own{get("fingerprint"), get("order"),      get("list"),
                          get("seed"),        get("epoch"),      get("position"),
                          get("epoch_size"),  get("bucket_run"), state.contains("content") ? get("content") : 0};
    value_or_raise(use([&](Loader& loader) { return loader.load_state(own); }));
  }

  std::vector<std::string> field_names() const {
    std::vector<std::string> names;
    for (const BatchField& field : use([](Loader& loader) { return loader.sample_fields(); }))
      names.push_back(field.name);
    return names;
  }

  // Each field: its name, its dtype (for texts: "text", "json" or "bytes"), the shape of one sample (-1 where it
  // varies), and its form ("array", "list" or "texts").
  using Shape = nb::typed<nb::tuple, int, nb::ellipsis>;
  nb::typed<nb::list, nb::typed<nb::tuple, nb::str, nb::str, Shape, nb::str>> sample_fields() const {
    nb::list out;
    for (const BatchField& field : use([](Loader& loader) { return loader.sample_fields(); })) {
      nb::list shape;
      for (const std::int64_t extent : field.spec.shape) shape.append(extent);
      const char* form = field.form == BatchForm::kArray  ? "array"
                         : field.form == BatchForm::kList ? "list"
                                                          : "texts";
      const auto type = field.form == BatchForm::kTexts ? name_of(field.kind) : name_of(field.spec.dtype);
      out.append(nb::make_tuple(field.name, std::string(type), nb::tuple(shape), form));
    }
    return out;
  }

  nb::typed<nb::dict, nb::str, nb::any> stats() const {
    return stats_dict(use([](Loader& loader) { return loader.stats(); }));
  }

 private:
  template <typename Function>
  std::invoke_result_t<Function, Loader&> use(Function function) const {
    return shared_->use(std::move(function));
  }

  SharedLoaderPtr shared_;
};

LoaderHandle open(nb::handle source, LoaderOptions options, const CacheHandle* cache) {
  if (cache != nullptr) {
    if (!cache->cache) raise({ErrorCode::kInvalidArgument, "the cache is closed", {}, false});
    options.cache = cache->cache;
  }
  const SourcePtr own = source_of(source);
  return LoaderHandle(value_or_raise(run_interruptibly([&] { return Loader::open(own, options); })));
}

}  // namespace

void bind_loader(nb::module_& m) {
  nb::class_<LoaderHandle>(m, "LoaderHandle", "The engine's loader; penstock.Loader wraps it.")
      .def("start_epoch", &LoaderHandle::start_epoch)
      .def("__len__", &LoaderHandle::length)
      .def("set_epoch", &LoaderHandle::set_epoch, "epoch"_a)
      .def("set_sampler", &LoaderHandle::set_sampler, "indices"_a)
      .def("set_ranks", &LoaderHandle::set_ranks, "rank"_a, "world_size"_a, "local_ranks"_a)
      .def("read_content", &LoaderHandle::read_content)
      .def("state", &LoaderHandle::state)
      .def("load_state", &LoaderHandle::load_state, "state"_a)
      .def("stats", &LoaderHandle::stats)
      .def("field_names", &LoaderHandle::field_names)
      .def("sample_fields", &LoaderHandle::sample_fields)
      .def("close", &LoaderHandle::close);
  nb::class_<EpochHandle>(m, "EpochHandle", "One pass of the engine's loader.")
      .def("next", &EpochHandle::next, "as_numpy"_a)
      .def("close", &EpochHandle::close);
  m.def("close_all_loaders", &close_all_loaders);
  m.def("abandon_all_loaders", &abandon_all_loaders);
  m.def("ranks_from_environment", [] {
    const RankInfo info = ranks_from_environment();
    return std::tuple{info.rank, info.world_size, info.local_ranks, info.found_by};
  });
  m.def("open_loader", &open, "source"_a, "options"_a, "cache"_a.none());
}

}  // namespace penstock::python
