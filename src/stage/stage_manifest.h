// The manifest of a staged folder: which objects are whole in it, of which version.
//
// The file is only appended to, by all processes that stage to the folder; each reads what the others have appended
// when it asks. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "base/guarded.h"
#include "cache/shared/descriptor.h"
#include "stage/stage_calls.h"
#include "stage/stage_records.h"

namespace penstock {

class StageManifest {
 public:
  // Makes the file if it is missing. `calls` is borrowed.
  static Result<std::unique_ptr<StageManifest>> open(const std::string& path, const StageCalls& calls);

  // What the folder has under a name, as far as this process knows.
  struct Entry {
    std::uint64_t key = 0;  // hash of the source's key
    ObjectVersion version;
  };
  std::optional<Entry> find(std::string_view name) const PENSTOCK_EXCLUDES(mutex_);
  // Reads what was appended since the last call.
  Status refresh() PENSTOCK_EXCLUDES(mutex_);
  // Appends the records in one write, and syncs the file if `sync`.
  Status append(const std::vector<StagedRecord>& records, bool sync) PENSTOCK_EXCLUDES(mutex_);

  static std::uint64_t hash_of_key(std::string_view key);

  // Calls `take` with every record of the file, in the order in which they were appended.
  static Status read_all(const std::string& path, const std::function<void(StagedRecord)>& take);

 private:
  StageManifest(std::string path, Descriptor file, const StageCalls& calls);

  const std::string path_;
  const Descriptor file_;
  const StageCalls& calls_;
  mutable Mutex mutex_;
  std::uint64_t seen_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // bytes of the file
  std::unordered_map<std::uint64_t, Entry> entries_ PENSTOCK_GUARDED_BY(mutex_);  // by the hash of the name
};

}  // namespace penstock
