// A StagedFolder is a local folder that receives copies of the objects of a data set: files, objects on servers or in
// buckets. A source that is opened through it reads what the folder has from there and the rest from its origin, and
// keeps in the folder what it has read, while the threads of the StagedFolder copy the rest in the background. stage()
// copies a whole data set and returns when that is done.
//
// Names below the folder mirror those of the source, so that opening the folder afterwards gives the same data set.
// Objects are copied in pieces with a checksum each. An interrupted copy is continued: each piece is verified first.
// All processes that stage the same source to the same folder share the work. docs/staging.md has the details.
//
//   auto report = penstock::stage("https://example.org/train-{000..146}.tar", "/scratch/train");
//   if (!report) return report_error(report.error());
//
//   auto stage = penstock::StagedFolder::open("/scratch/train");
//   if (!stage) return report_error(stage.error());
//   auto source = penstock::open_staged(*stage, {uri}, [&] { return penstock::open_source(uri); });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/result.h"
#include "penstock/source.h"

namespace penstock {

class Store;

struct StageProgress {
  std::uint64_t objects = 0, bytes = 0;              // that are whole in the folder, or copied so far
  std::uint64_t total_objects = 0, total_bytes = 0;  // 0: not known yet
};

struct StageOptions {
  // Objects are read, and claimed by processes, in pieces of this size.
  std::uint64_t piece_bytes = 8 << 20;
  std::uint64_t memory_bytes = 64 << 20;  // for the pieces on their way
  unsigned threads = 4;                   // that write, and that read from stores without reads ahead
  bool sync = true;                       // a file gets its name once it would survive a power failure
  // For stage(). `headers` as in OpenOptions. `progress` is called now and then on the calling thread; staging stops
  // with kStopped when it returns false.
  std::vector<std::string> headers;
  std::function<bool(const StageProgress&)> progress;
};

// What a StagedFolder has done in this process, in bytes.
struct StagingStats {
  std::uint64_t copied = 0;         // read from the source by the copier
  std::uint64_t read_through = 0;   // read from the source because a reader asked for them
  std::uint64_t kept = 0;           // of those, written to the folder
  std::uint64_t served = 0;         // that readers got from the folder
  std::uint64_t objects_whole = 0;  // objects that became whole in this process
  // The first failure of the copying; empty: none. Readers go on with the source then.
  std::string error;
};

// Thread-safe. Sources that were opened through it keep it alive. Its threads end with the last of them, or with
// close().
class StagedFolder {
 public:
  // Makes the folder if it is missing. Fails with kNoAccess if it cannot be written.
  static Result<std::shared_ptr<StagedFolder>> open(const std::string& folder, const StageOptions& options = {});
  virtual ~StagedFolder() = default;

  virtual StagingStats stats() const = 0;
  // Ends the copying. Readers get what the folder has already from there, and the rest from the source.
  virtual void close() = 0;

  // For the engine. Puts a store that reads through the folder before `store`. The names in the folder are those of
  // the objects below `root`, a key of `store`; other objects are not staged.
  virtual std::shared_ptr<const Store> before(std::shared_ptr<const Store> store, const std::string& root) = 0;
  // For the engine. Copies the objects of a source that was opened through it, in the background.
  virtual void copy(const SourcePtr& source) = 0;
};

// Calls `open`, which opens the source that `uris` name (all paths and URLs that it is made of), so that it reads
// through the stage. All stores that `open` makes on this thread are wrapped.
Result<SourcePtr> open_staged(const std::shared_ptr<StagedFolder>& stage, const std::vector<std::string>& uris,
                              const std::function<Result<SourcePtr>()>& open);

struct StageReport {
  std::uint64_t objects = 0, bytes = 0;  // of the data set
  std::uint64_t objects_skipped = 0;     // that were whole before
  std::uint64_t bytes_copied = 0;        // that this process read from the source
  double seconds = 0;
};

// Copies the object, the folder or the objects of the pattern `source` into `folder`, and returns when all of them are
// whole. Where the store cannot list (HTTP), the source is opened, which tells its objects: shards, a table with its
// files, a Zarr hierarchy. Fails with kChanged if an object changes meanwhile, and with kIo if the disk has too little
// space, which is checked first. What was copied before a failure counts the next time.
Result<StageReport> stage(const std::string& source, const std::string& folder, const StageOptions& options = {});

// A file of a staged folder that differs from what was staged.
struct StageDamage {
  std::string name;
  std::string problem;  // "is missing", "has 12 bytes, 13 were staged", "other bytes at 8388608 to 16777216"
};

struct StageCheck {
  std::uint64_t objects = 0, bytes = 0;
  std::vector<StageDamage> damaged;
};

// Reads all staged files of the folder and compares them with the checksums in its manifest. `progress` is as above.
Result<StageCheck> check_staged(const std::string& folder, const std::function<bool(const StageProgress&)>& progress = {});

}  // namespace penstock
