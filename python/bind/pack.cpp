#include "penstock/pack.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
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

nb::dict dict_of(const PackReport& report) {
  nb::dict out;
  out["samples"] = report.samples;
  out["shards"] = report.shards;
  out["shards_skipped"] = report.shards_skipped;
  out["bytes"] = report.bytes;
  out["seconds"] = report.seconds;
  out["threads"] = report.threads;
  out["chunks_decoded"] = report.chunks_decoded;
  out["peak_memory"] = report.peak_memory_bytes;
  out["manifest"] = report.manifest.empty() ? nb::object(nb::none()) : nb::object(file_text(report.manifest));
  return out;
}

nb::typed<nb::dict, nb::str, nb::any> pack_source(nb::handle source, const nb::bytes& destination,
                                                  const std::string& format, std::uint64_t shard_bytes, std::string name,
                                                  std::vector<std::string> fields, std::vector<FieldTransform> transforms,
                                                  const std::string& encoding, int quality, bool adds_restarts,
                                                  std::vector<std::pair<std::string, std::int64_t>> chunks, int level,
                                                  std::optional<std::uint64_t> shuffle_seed, std::uint32_t part,
                                                  std::uint32_t parts, unsigned threads, std::uint64_t memory_bytes,
                                                  std::vector<std::string> headers, const nb::object& progress) {
  const SourcePtr opened = nb::cast<SourceHandle&>(source).source;
  PackOptions options;
  options.format = *pack_format_named(format);
  options.shard_bytes = shard_bytes;
  options.name = std::move(name);
  options.fields = std::move(fields);
  options.transforms = std::move(transforms);
  options.encoding = encoding == "jpeg"  ? PackEncoding::kJpeg
                     : encoding == "png" ? PackEncoding::kPng
                                         : PackEncoding::kAsStored;
  options.jpeg_quality = quality;
  options.adds_restarts = adds_restarts;
  options.chunks = std::move(chunks);
  options.level = level;
  options.shuffle_seed = shuffle_seed;
  options.part = part;
  options.parts = parts;
  options.threads = threads;
  options.memory_bytes = memory_bytes;
  options.headers = std::move(headers);
  const auto show = progress_of(progress);
  if (show) options.progress = [&](const PackProgress& done) { return show(done.samples); };
  const std::string where(destination.c_str(), destination.size());
  return dict_of(value_or_raise(run_interruptibly([&] { return pack(opened, where, options); })));
}

nb::typed<nb::dict, nb::str, nb::any> finish(const nb::bytes& destination, const std::vector<std::string>& headers) {
  const std::string where(destination.c_str(), destination.size());
  return dict_of(value_or_raise(run_interruptibly([&] { return finish_pack(where, headers); })));
}

}  // namespace

void bind_pack(nb::module_& m) {
  m.def("pack", &pack_source, "source"_a, "destination"_a, nb::kw_only(), "format"_a, "shard_bytes"_a, "name"_a,
        "fields"_a, "transforms"_a, "encoding"_a, "quality"_a, "adds_restarts"_a, "chunks"_a, "level"_a, "shuffle_seed"_a.none(), "part"_a,
        "parts"_a, "threads"_a, "memory_bytes"_a, "headers"_a, "progress"_a.none());
  m.def("finish_pack", &finish, "destination"_a, nb::kw_only(), "headers"_a);
}

}  // namespace penstock::python
