// The cache: what samples are made from, kept in memory and on disk under a budget that holds.
//
// Who visits every sample once an epoch cannot hit more than cache / data, whatever is kept: so what
// comes first stays, and nothing is ever evicted (docs/decisions has the proof).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/result.h"

namespace penstock {

// What is kept: the bytes as they are stored, or what comes out of decoding and of the first steps that
// draw nothing at random. kAuto: whichever saves more seconds with the memory there is, as measured.
enum class CacheForm : std::uint8_t { kAuto, kEncoded, kDecoded };

// kLru is there to be compared with.
enum class CachePolicy : std::uint8_t { kKeep, kLru };

struct CacheOptions {
  std::uint64_t ram_bytes = 0;  // of the node: processes that read the same share it
  std::string disk_folder;
  std::uint64_t disk_bytes = 0;
  CachePolicy policy = CachePolicy::kKeep;
  // Before an entry is used, its object is asked whether it is still the version that the entry was made from:
  // a file once per epoch (a stat), an object on a server once per loader (a request without a body), unless
  // the index that the loader opened with says so. false: entries are used unasked, which is for data that
  // never change.
  bool revalidate = true;
  std::function<void(const std::string&)> warn;  // from any thread
};

struct TierState {
  std::string name;  // "ram", "disk"
  std::uint64_t capacity_bytes = 0, used_bytes = 0, entries = 0;
  std::uint64_t damaged = 0;  // entries that were found to be, and made again
  bool is_shared = false;     // with other processes
  std::uint64_t copied = 0;   // entries that this process copied here from the tier before
  // Entries that this process could not add because another held the table's lock and did not go on.
  std::uint64_t lock_timeouts = 0;
};

// May serve several loaders, at the same time too. What it keeps in memory is given back with the last.
class Cache {
 public:
  static Result<std::shared_ptr<Cache>> open(const CacheOptions& options);
  virtual ~Cache() = default;

  virtual const CacheOptions& options() const = 0;
  virtual std::vector<TierState> tiers() const = 0;  // empty before the first loader
};

// A folder that loaders cached to.
struct DiskCache {
  std::string folder;
  bool is_readable = false;  // false: of another version, or damaged
  bool is_in_use = false;
  std::uint64_t capacity_bytes = 0, used_bytes = 0, entries = 0;
  std::uint64_t bytes_on_disk = 0;
  std::int64_t modified_ns = 0;
  std::vector<std::string> contents;  // what was cached there, in words
};

// Fails with kNotFound where there is none.
Result<DiskCache> describe_disk_cache(const std::string& folder);
// Only files that are a cache's go. Fails where a process has it in use.
Status remove_disk_cache(const std::string& folder);

}  // namespace penstock
