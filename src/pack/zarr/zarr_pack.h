// Packs the array fields of a source as a Zarr hierarchy of version 3, in chunks as they will be read.
//
// Each field becomes an array whose first axis counts samples: sharded, its chunks compressed by zstd with a CRC32C each.
// A shard is an object of its own that follows from the source and the options alone, so it has the same bytes for any
// number of threads and parts. Shards that an earlier run finished are checked and kept. The metadata is written last:
// until then nobody can open the hierarchy.
//
//   ZarrPackOptions options;
//   options.chunks = {{"time", 1}, {"lat", 181}};
//   auto report = pack_zarr(*source, "/scratch/weather.zarr", options);
//   if (!report) return report(report.error());
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/loader.h"
#include "penstock/result.h"
#include "penstock/source.h"

namespace penstock {

struct ZarrPackOptions {
  std::vector<std::string> fields;         // empty: all that every sample has and that are numbers
  std::vector<FieldTransform> transforms;  // must draw nothing at random
  // Extents of chunks by name of the dimension, or by number of the axis, where axis 0 counts samples; 0: the whole axis.
  // Axes that are not named are whole, and a chunk has one sample, or as many as make 64 KiB of tiny ones.
  std::vector<std::pair<std::string, std::int64_t>> chunks;
  std::uint64_t shard_bytes = std::uint64_t{256} << 20;  // of the elements before compression
  int level = 3;                                         // of zstd, -7 to 22
  unsigned threads = 0;                                  // 0: as many as affinity and cgroup allow
  std::uint64_t memory_bytes = 0;                        // 0: a quarter of the free memory
  // Part `part` of `parts` writes its shards and no metadata; finish_zarr() writes that when all parts are done.
  std::uint64_t part = 0, parts = 1;
  std::vector<std::string> headers;  // of the store of the destination, as in OpenOptions
  // Called now and then on the calling thread. Packing stops with kStopped when it returns false.
  std::function<bool(std::uint64_t bytes_done, std::uint64_t bytes)> progress;
  std::function<void(const std::string&)> warn;
};

struct ZarrPackReport {
  std::uint64_t arrays = 0;
  std::uint64_t samples = 0;          // of this part
  std::uint64_t shards = 0;           // of this part, or of all when finishing
  std::uint64_t shards_kept = 0;      // finished by an earlier run
  std::uint64_t shards_damaged = 0;   // of an earlier run, and written anew
  std::uint64_t bytes = 0;            // of the elements, before compression
  std::uint64_t stored_bytes = 0;     // of the shards that were written now; of all when finishing
  std::uint64_t chunks_decoded = 0;   // of the source; a chunk counts each time that it is decoded
  std::uint64_t peak_memory = 0;      // reserved in the ledger
  std::string root_metadata;          // the key of the last object; empty where other parts are missing
  unsigned threads = 0;
  double seconds = 0;
};

// Fails with the error of the first sample, chunk or shard that cannot be read or written, with kInvalidArgument if the
// destination holds something else, and with kNoMemory, which says how much is needed, if one row of chunks does not fit.
Result<ZarrPackReport> pack_zarr(const SourcePtr& source, const std::string& destination,
                                 const ZarrPackOptions& options);

// Whether the packing of a hierarchy was begun here.
Result<bool> is_zarr_pack(const std::string& destination, const std::vector<std::string>& headers);

// Checks that all shards of all parts are there, and writes the metadata. Needs no source: headers, threads and progress
// are the only options that it uses.
Result<ZarrPackReport> finish_zarr(const std::string& destination, const ZarrPackOptions& options = {});

}  // namespace penstock
