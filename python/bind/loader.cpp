#include "penstock/loader.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <type_traits>

#include "arrays.h"
#include "bind.h"
#include "cache_handle.h"
#include "errors.h"
#include "interruptible.h"
#include "penstock/ranks.h"
#include "shared_loader.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {

SourcePtr source_of(nb::handle handle);

namespace {

constexpr auto kBetweenSignals = std::chrono::milliseconds(50);  // Ctrl-C is seen this soon

using FieldSteps = std::tuple<std::string, std::vector<Transform>, std::string>;  // name, steps, derive_from

DType parse_dtype(const std::string& name) {
  if (const auto dtype = dtype_named(name)) return *dtype;
  raise({ErrorCode::kInvalidArgument, "dtype=\"" + name + "\" is not known", {}, false});
}

template <typename T>
T choose(const char* keyword, const std::string& value,
         std::initializer_list<std::pair<const char*, T>> choices) {
  std::string known;
  for (const auto& [name, choice] : choices) {
    if (value == name) return choice;
    known += std::string(known.empty() ? "" : ", ") + "\"" + name + "\"";
  }
  raise({ErrorCode::kInvalidArgument,
         std::string(keyword) + "=\"" + value + "\": wants one of " + known,
         {},
         false});
}

nb::dict stage_dict(const std::array<StageStats, kStages>& stages) {
  nb::dict out;
  for (std::size_t i = 0; i < kStages; ++i) {
    nb::dict one;
    one["seconds"] = stages[i].seconds;
    one["items"] = stages[i].items;
    one["bytes"] = stages[i].bytes;
    one["wait_seconds"] = stages[i].wait_seconds;
    const std::string name(name_of(static_cast<Stage>(i)));
    out[name.c_str()] = one;
  }
  return out;
}

void add_counts(nb::dict& out, const Counts& counts) {
  out["planned"] = counts.planned;
  out["delivered"] = counts.delivered;
  out["skipped"] = counts.skipped;
  out["failed"] = counts.failed;
  out["padded"] = counts.padded;
  out["replaced"] = counts.replaced;
  out["batches"] = counts.batches;
}

nb::dict cache_dict(const CacheStats& stats, nb::dict tiers, const std::vector<TierState>& states) {
  nb::dict out;
  out["hits"] = stats.hits();
  out["misses"] = stats.misses;
  out["hit_ratio"] = stats.hit_ratio();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!tiers.contains(states[i].name.c_str())) tiers[states[i].name.c_str()] = nb::dict();
    nb::dict one = nb::cast<nb::dict>(tiers[states[i].name.c_str()]);
    one["hits"] = stats.tiers[i].hits;
    one["bytes"] = stats.tiers[i].bytes;
    one["seconds_saved"] = stats.tiers[i].seconds_saved;
  }
  out["tiers"] = tiers;
  return out;
}

// One iterator as Python sees it: looks for Ctrl-C while it waits. Its end gives its batches back.
class EpochHandle {
 public:
  EpochHandle(SharedLoaderPtr loader, std::unique_ptr<Epoch> epoch)
      : loader_(std::move(loader)),
        epoch_(std::move(epoch)) {}
  EpochHandle(EpochHandle&&) = default;
  ~EpochHandle() {
    if (!epoch_) return;
    if (loader_->abandoned()) {
      (void)epoch_.release();  // what it would give back is another process's
      return;
    }
    nb::gil_scoped_release release;
    epoch_.reset();
  }

  void close() {
    loader_->use([&](Loader&) { epoch_->close(); });
  }

  // (samples, fields) or None at the end.
  nb::object next(bool as_numpy) {
    Batch batch;
    while (true) {
      const auto got =
          value_or_raise(loader_->use([&](Loader&) { return epoch_->next(batch, kBetweenSignals); }));
      if (got == Epoch::Next::kEnd) return nb::none();
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
    return nb::make_tuple(batch.size, out);
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

  // May make a new engine, which looks at samples. Ctrl-C ends it.
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

  // Ctrl-C ends it.
  void read_content() {
    const Status read = use([](Loader& loader) { return look_for_signals([&] { return loader.read_content(); }); });
    raise_interruption();
    value_or_raise(read);
  }

  nb::dict state() const {
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

  // name, dtype (text, json, bytes for such lists), shape of one sample (-1: varies), form.
  nb::list sample_fields() const {
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

  nb::dict stats() const {
    const LoaderStats stats = use([](Loader& loader) { return loader.stats(); });
    nb::dict out;
    add_counts(out, stats.counts);
    nb::list errors, epochs;
    for (const Error& error : stats.errors) errors.append(error_dict(error));
    for (const EpochStats& epoch : stats.epochs) {
      nb::dict one;
      one["epoch"] = epoch.epoch;
      add_counts(one, epoch.counts);
      one["seconds"] = epoch.seconds;
      one["first_batch_seconds"] = epoch.first_batch_seconds;
      one["stages"] = stage_dict(epoch.stages);
      one["cache"] = cache_dict(epoch.cache, nb::dict(), stats.cache_tiers);
      epochs.append(one);
    }
    out["errors"] = errors;
    out["stages"] = stage_dict(stats.stages);
    nb::dict queue, memory, tuning;
    queue["capacity"] = stats.queue_capacity;
    queue["ready"] = stats.queue_ready;
    queue["bytes"] = stats.queue_bytes;
    out["queue"] = queue;
    out["first_batch_seconds"] = stats.first_batch_seconds;
    memory["budget"] = stats.memory_budget;
    memory["peak"] = stats.memory_peak;
    memory["lent"] = stats.memory_lent;
    out["memory"] = memory;
    nb::dict chunks, shuffle;
    chunks["decoded"] = stats.chunks.decoded;
    chunks["reused"] = stats.chunks.reused;
    chunks["missing"] = stats.chunks.missing;
    chunks["decoded_bytes"] = stats.chunks.decoded_bytes;
    chunks["distinct"] = stats.chunks.distinct;
    chunks["decodes_per_chunk"] = stats.chunks.decodes_per_chunk();
    if (stats.chunks.memory_for_one_decode > 0)
      chunks["memory_for_one_decode"] = stats.chunks.memory_for_one_decode;
    else
      chunks["memory_for_one_decode"] = nb::none();
    out["chunks"] = chunks;
    nb::dict cache = cache_dict(stats.cache, tiers_dict(stats.cache_tiers), stats.cache_tiers);
    cache["form"] = stats.cache_form;
    std::uint64_t damaged = 0;
    for (const TierState& tier : stats.cache_tiers) damaged += tier.damaged;
    cache["damaged"] = damaged;
    out["cache"] = cache;
    shuffle["units"] = stats.shuffle.units;
    shuffle["window_units"] = stats.shuffle.window_units;
    shuffle["samples_a_unit"] = stats.shuffle.samples_a_unit;
    shuffle["design_effect"] = stats.shuffle.design_effect;
    out["shuffle"] = shuffle;
    tuning["threads"] = stats.threads;
    tuning["prefetch"] = stats.queue_capacity;
    tuning["reason"] = stats.tuning;
    out["tuning"] = tuning;
    out["bottleneck"] = stats.bottleneck;
    out["epochs"] = epochs;
    return out;
  }

 private:
  template <typename Function>
  std::invoke_result_t<Function, Loader&> use(Function function) const {
    return shared_->use(std::move(function));
  }

  SharedLoaderPtr shared_;
};

LoaderHandle open(nb::handle source, std::uint64_t batch_size, std::vector<std::string> fields,
                  std::map<std::string, std::string> renamed, const std::vector<FieldSteps>& transforms,
                  const std::string& shuffle, std::uint64_t shuffle_window,
                  std::optional<std::vector<std::uint64_t>> sampler,
                  std::optional<std::vector<double>> weights, std::uint64_t seed, std::uint64_t epoch_size,
                  bool drop_last, std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks,
                  unsigned threads, std::uint64_t prefetch, std::uint64_t memory, const std::string& on_error,
                  double max_skip, const std::string& collate, double pad_value, std::string bucket_by,
                  std::optional<std::vector<std::uint64_t>> bucket_lengths, std::optional<std::string> dtype,
                  const std::string& layout, const CacheHandle* cache, const std::string& cache_form) {
  LoaderOptions options;
  if (cache != nullptr) {
    if (!cache->cache) raise({ErrorCode::kInvalidArgument, "the cache is closed", {}, false});
    options.cache = cache->cache;
  }
  options.cache_form = choose<CacheForm>(
      "cache_form", cache_form,
      {{"auto", CacheForm::kAuto}, {"encoded", CacheForm::kEncoded}, {"decoded", CacheForm::kDecoded}});
  options.batch_size = batch_size;
  options.fields = std::move(fields);
  options.renamed = std::move(renamed);
  for (const auto& [field, steps, derive_from] : transforms)
    options.transforms.push_back({field, steps, derive_from});
  options.shuffle = choose<ShuffleMode>("shuffle", shuffle,
                                        {{"off", ShuffleMode::kOff},
                                         {"auto", ShuffleMode::kAuto},
                                         {"full", ShuffleMode::kFull},
                                         {"window", ShuffleMode::kWindow}});
  options.shuffle_window = shuffle_window;
  if (sampler) options.sampler = std::make_shared<const std::vector<std::uint64_t>>(std::move(*sampler));
  if (weights) options.weights = std::make_shared<const std::vector<double>>(std::move(*weights));
  options.seed = seed;
  options.epoch_size = epoch_size;
  options.drop_last = drop_last;
  options.rank = rank;
  options.world_size = world_size;
  options.local_ranks = local_ranks;
  options.threads = threads;
  options.prefetch = prefetch;
  options.memory_bytes = memory;
  options.on_error =
      choose<OnError>("on_error", on_error,
                      {{"raise", OnError::kRaise}, {"skip", OnError::kSkip}, {"replace", OnError::kReplace}});
  options.max_skip = max_skip;
  options.collate = choose<Collate>(
      "collate", collate, {{"stack", Collate::kStack}, {"pad", Collate::kPad}, {"list", Collate::kList}});
  options.pad_value = pad_value;
  options.bucket_by = std::move(bucket_by);
  if (bucket_lengths)
    options.bucket_lengths = std::make_shared<const std::vector<std::uint64_t>>(std::move(*bucket_lengths));
  if (dtype) options.dtype = parse_dtype(*dtype);
  options.layout =
      choose<BatchLayout>("layout", layout, {{"NCHW", BatchLayout::kNchw}, {"NHWC", BatchLayout::kNhwc}});
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
  m.def("open_loader", &open, "source"_a, nb::kw_only(), "batch_size"_a, "fields"_a, "renamed"_a,
        "transforms"_a, "shuffle"_a, "shuffle_window"_a, "sampler"_a.none(), "weights"_a.none(), "seed"_a,
        "epoch_size"_a, "drop_last"_a, "rank"_a, "world_size"_a, "local_ranks"_a, "threads"_a, "prefetch"_a,
        "memory"_a, "on_error"_a, "max_skip"_a, "collate"_a, "pad_value"_a, "bucket_by"_a,
        "bucket_lengths"_a.none(), "dtype"_a.none(), "layout"_a, "cache"_a.none(), "cache_form"_a);
}

}  // namespace penstock::python
