// A cache for the samples of loaders, which lasts between epochs: in memory that the processes of a node share, on
// disk, or both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/result.h"

namespace penstock {

// The form in which samples are cached.
//   kEncoded  the bytes as they are stored
//   kDecoded  the values after decoding and after the leading transforms that draw nothing at random
//   kAuto     the form that saves more seconds within the given memory; the loader measures both
enum class CacheForm : std::uint8_t { kAuto, kEncoded, kDecoded };

// kKeep never evicts an entry. kLru evicts the least recently used one; it exists only for comparison and
// works only in memory.
enum class CachePolicy : std::uint8_t { kKeep, kLru };

struct CacheOptions {
  std::uint64_t ram_bytes = 0;   // per node; processes that read the same data share it. 0: no tier in memory
  std::string disk_folder;       // made if it does not exist; needs disk_bytes
  std::uint64_t disk_bytes = 0;  // 0: no tier on disk
  CachePolicy policy = CachePolicy::kKeep;
  // If true, the cache checks, before it uses an entry, that the object that the entry was made from has not
  // changed: a file once per epoch (one stat), an object on a server once per loader (one request without a
  // body), unless the index that the loader opened with already tells its version. If false, entries are used
  // unchecked, which is only right for data that never change.
  bool revalidate = true;
  std::function<void(const std::string&)> warn;  // receives warnings, from any thread; may be empty
};

// A snapshot of one tier. A plain value.
struct TierState {
  std::string name;  // "ram", "disk"
  std::uint64_t capacity_bytes = 0, used_bytes = 0, entries = 0;
  std::uint64_t damaged = 0;  // entries that this process found damaged; they are made again
  bool is_shared = false;     // other processes can use the tier, too
  std::uint64_t copied = 0;   // entries that this process copied here from memory
  // Entries that this process could not add because another process held the table's lock for too long.
  std::uint64_t lock_timeouts = 0;
};

// A Cache serves one or more loaders. It never evicts: an entry that was admitted stays. An epoch visits
// every sample once, so no policy can hit more often than cache size / data size, and eviction would only
// cost work (docs/decisions has the proof).
//
// Thread-safe. Several loaders may share one Cache at the same time; the shared_ptr in LoaderOptions keeps it alive as
// long as they need it. The shared memory is freed when the last process that uses it ends; the folder on disk remains.
// open() fails with kInvalidArgument if the options are not valid. A tier that is full or failing is not an error:
// lookups miss, `warn` receives the reason, and tiers() shows the state.
//
//   CacheOptions sizes;
//   sizes.ram_bytes = 8ull << 30;
//   sizes.disk_folder = "/scratch/cache";
//   sizes.disk_bytes = 200ull << 30;
//   auto cache = Cache::open(sizes);
//   if (!cache) return report(cache.error());
//   options.cache = *cache;
class Cache {
 public:
  static Result<std::shared_ptr<Cache>> open(const CacheOptions& options);
  virtual ~Cache() = default;

  virtual const CacheOptions& options() const = 0;
  // The tiers in the order in which they are searched. The first loader opens them: the list is empty before.
  virtual std::vector<TierState> tiers() const = 0;
};

// Describes a cache folder on disk, for people and tools that do not use the cache. A plain value.
//
//   if (auto found = describe_disk_cache("/scratch/cache"); found && !found->is_in_use)
//     if (auto removed = remove_disk_cache(found->folder); !removed) return report(removed.error());
struct DiskCache {
  std::string folder;
  bool is_readable = false;  // false: another version of Penstock wrote it, or it is damaged
  bool is_in_use = false;    // a running process uses it
  std::uint64_t capacity_bytes = 0, used_bytes = 0, entries = 0;
  std::uint64_t bytes_on_disk = 0;
  std::int64_t modified_ns = 0;
  std::vector<std::string> contents;  // the cached data sets, described for people
};

// Fails with kNotFound if the folder holds no cache. Thread-safe.
Result<DiskCache> describe_disk_cache(const std::string& folder);
// Removes the files of the cache and leaves all other files alone. Fails with kNotFound if the folder holds
// no cache, and with kNoAccess if a process uses it. Thread-safe.
Status remove_disk_cache(const std::string& folder);

}  // namespace penstock
