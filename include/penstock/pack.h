// Packing writes a source into a few large files that any tool reads: tar shards (WebDataset), TFRecord shards or
// .npy arrays, with an index beside each shard and a manifest (docs/formats.md, "Packed data sets").
//
// Which sample goes into which shard follows from the order of the source and the stored sizes alone. So the bytes of
// all files are the same for any number of threads and of parts, and a run that was killed continues where it stopped:
// shards that are complete are recognised and skipped. A shard is committed before its index, and the manifest last.
//
//   auto source = open_source("data/train");
//   if (!source) return report(source.error());
//   PackOptions options;
//   options.shuffle_seed = 0;
//   auto packed = pack(*source, "/scratch/train", options);
//   if (!packed) return report(packed.error());
//   auto same = open_source("/scratch/train");  // the same fields, classes and keys
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/result.h"
#include "penstock/source.h"
#include "penstock/transform.h"

namespace penstock {

enum class PackFormat : std::uint8_t { kTar, kTFRecord, kNpy, kZarr };

// "tar", "tfrecord", "npy", "zarr"; empty for an unknown name.
std::optional<PackFormat> pack_format_named(std::string_view name);
std::string_view name_of(PackFormat format);

// How images are encoded that a transform has changed, or all images where the options say so.
enum class PackEncoding : std::uint8_t {
  kAsStored,  // images that no transform changes keep their bytes; the others become JPEGs
  kJpeg,      // all images are encoded as JPEG
  kPng,       // all images are encoded as PNG, which loses nothing
};

// Called at most ten times per second, on the thread that called pack().
struct PackProgress {
  std::uint64_t samples = 0, of_samples = 0;  // of this part, those of finished shards included
  std::uint64_t bytes = 0;                    // written so far
};

struct PackOptions {
  PackFormat format = PackFormat::kTar;
  std::uint64_t shard_bytes = 256 << 20;  // a shard is begun where the next sample would exceed this
  std::string name = "shard";             // of the files: "shard-000000.tar"
  std::vector<std::string> fields;        // of the source; empty: all
  // Only transforms that draw nothing at random. A field may be in the list once, and none may derive from another.
  std::vector<FieldTransform> transforms;
  PackEncoding encoding = PackEncoding::kAsStored;
  int jpeg_quality = 95;  // 1 to 100, for images that are encoded
  // JPEGs that keep their pixels are rewritten without loss: baseline, with restart markers, so that crops of them decode
  // faster. A file that cannot be rewritten without loss keeps its bytes.
  bool adds_restarts = false;
  // For kZarr, which has no use for name, encoding, jpeg_quality and adds_restarts (images become pixels). Extents of
  // chunks by name of the dimension, or by number of the axis, where axis 0 counts samples; 0: the whole axis. Axes that are
  // not named are whole, and a chunk has one sample, or as many as make 64 KiB of tiny ones.
  std::vector<std::pair<std::string, std::int64_t>> chunks;
  int level = 3;  // of zstd, -7 to 22
  // Permutes all samples before they are divided into shards.
  std::optional<std::uint64_t> shuffle_seed;
  // This call writes the shards of one part, counted from 0. With more than one part, finish_pack() completes the data
  // set once all of them are done.
  std::uint32_t part = 0, parts = 1;

  unsigned threads = 0;             // 0: all usable cores; at least 16 where samples are only copied
  std::uint64_t memory_bytes = 0;   // 0: a quarter of the free memory
  std::vector<std::string> headers;  // for a destination with a URL: "Name: value"
  // Packing stops with kStopped when it returns false; what is complete stays, and a later call continues.
  std::function<bool(const PackProgress&)> progress;
};

struct PackReport {
  std::uint64_t samples = 0;  // of this part
  std::uint64_t shards = 0, shards_skipped = 0;  // written now; found complete
  std::uint64_t bytes = 0;    // of the shards that were written now
  double seconds = 0;
  unsigned threads = 0;
  std::string manifest;  // the manifest that was written; empty where other parts are missing
  // For kZarr: how many chunks of the source were decoded, each time counted; and the largest memory that was reserved.
  std::uint64_t chunks_decoded = 0, peak_memory_bytes = 0;
};

// Packs the source, or one part of it. `destination` is a folder: a path, or a URL of a store that can write. Fails with
// kInvalidArgument if the folder holds a data set that was packed from another source or with other options. After any
// failure, the same call continues.
Result<PackReport> pack(SourcePtr source, const std::string& destination, const PackOptions& options);

// Writes the manifest of a data set whose parts are all packed. Fails if shards are missing or do not belong together.
Result<PackReport> finish_pack(const std::string& destination, const std::vector<std::string>& headers = {});

}  // namespace penstock
