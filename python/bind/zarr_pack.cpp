#include "pack/zarr/zarr_pack.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "errors.h"
#include "interruptible.h"
#include "source_handle.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

nb::typed<nb::dict, nb::str, nb::any> dict_of(const ZarrPackReport& report) {
  nb::dict out;
  out["arrays"] = report.arrays;
  out["samples"] = report.samples;
  out["shards"] = report.shards;
  out["shards_kept"] = report.shards_kept;
  out["shards_damaged"] = report.shards_damaged;
  out["bytes"] = report.bytes;
  out["stored_bytes"] = report.stored_bytes;
  out["bytes_read"] = report.bytes_read;
  out["chunks_decoded"] = report.chunks_decoded;
  out["chunks_distinct"] = report.chunks_distinct;
  out["peak_memory"] = report.peak_memory;
  out["threads"] = report.threads;
  out["seconds"] = report.seconds;
  return out;
}

using Chunks = std::vector<std::pair<std::string, std::int64_t>>;

nb::typed<nb::dict, nb::str, nb::any> pack_source(nb::handle source, const std::string& destination,
                                                  std::vector<std::string> fields, Chunks chunks,
                                                  std::uint64_t shard_bytes, int level, unsigned threads,
                                                  std::uint64_t memory_bytes, std::uint64_t part, std::uint64_t parts,
                                                  const nb::object& progress) {
  const SourcePtr opened = nb::cast<SourceHandle&>(source).source;
  ZarrPackOptions options;
  options.fields = std::move(fields);
  options.chunks = std::move(chunks);
  options.shard_bytes = shard_bytes;
  options.level = level;
  options.threads = threads;
  options.memory_bytes = memory_bytes;
  options.part = part;
  options.parts = parts;
  const auto on_progress = progress_of(progress);
  if (on_progress) options.progress = [&](std::uint64_t done, std::uint64_t) { return on_progress(done); };
  return dict_of(value_or_raise(run_interruptibly([&] { return pack_zarr(opened, destination, options); })));
}

nb::typed<nb::dict, nb::str, nb::any> finish_pack(const std::string& destination, unsigned threads) {
  ZarrPackOptions options;
  options.threads = threads;
  return dict_of(value_or_raise(run_interruptibly([&] { return finish_zarr(destination, options); })));
}

}  // namespace

void bind_zarr_pack(nb::module_& m) {
  m.def("pack_zarr", &pack_source, "source"_a, "destination"_a, nb::kw_only(), "fields"_a = std::vector<std::string>(),
        "chunks"_a = Chunks(), "shard_bytes"_a = ZarrPackOptions().shard_bytes, "level"_a = 3, "threads"_a = 0,
        "memory_bytes"_a = 0, "part"_a = 0, "parts"_a = 1, "progress"_a = nb::none());
  m.def("finish_zarr", &finish_pack, "destination"_a, nb::kw_only(), "threads"_a = 0);
}

}  // namespace penstock::python
