// One object and its copy in a staged folder.
//
// While it is incomplete, the copy is a file of full size in the folder's own subfolder, with a journal beside it that
// lists the ranges that were written and their checksums. All processes that stage the object write to the same file
// and append to the same journal, so that each knows what the others have copied; a piece is copied by the process that
// has claimed it. Once no byte is missing, finish() gives the file its name and the manifest a record.
//
// A journal that an earlier run has left is believed only as far as the data agree with its checksums. So nothing needs
// to be synced before finish(): whatever a power failure takes is noticed and copied again.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <map>
#include <string>

#include "base/guarded.h"
#include "stage/claim_file.h"
#include "stage/range_set.h"
#include "stage/stage_manifest.h"
#include "store/store.h"

namespace penstock {

// What the objects of a staged folder share.
struct StageContext {
  std::string folder;
  std::shared_ptr<const StageCalls> calls;
  ClaimFile claims;
  std::unique_ptr<StageManifest> manifest;
  std::uint64_t piece_bytes = 0;
  bool sync = true;
  std::atomic<std::uint64_t> bytes_there{0};  // that the objects of this process have in the folder

  std::string path_of(std::string_view name) const { return folder + "/" + std::string(name); }
};

// An object of the source. `store` reads it; it is not the one that reads through the folder.
struct StageOrigin {
  std::string name;  // below the folder
  std::string key;
  std::shared_ptr<const Store> store;
};

// Whether the folder has the whole copy, as far as names and sizes tell.
bool is_whole_in_folder(const StageContext& context, const StageOrigin& origin, const ObjectVersion& version);
// Bytes of the disk that a whole or begun copy of this version has already.
std::uint64_t bytes_in_folder(const StageContext& context, const StageOrigin& origin, const ObjectVersion& version);

class StagedObject {
 public:
  // `context` is borrowed.
  StagedObject(StageContext& context, StageOrigin origin, ObjectVersion version);
  ~StagedObject();
  StagedObject(const StagedObject&) = delete;

  const StageOrigin& origin() const { return origin_; }
  const ObjectVersion& version() const { return version_; }

  // Opens the copy, or begins one. To be called before all other functions; further calls return the first answer.
  // Fails with kInvalidArgument if the folder has the copy of another object under this name.
  Status prepare() PENSTOCK_EXCLUDES(preparing_, mutex_);
  // The copy has its name.
  bool is_whole() const { return is_whole_.load(); }
  // No byte is missing.
  bool is_filled() PENSTOCK_EXCLUDES(mutex_);
  // A copy that could not be written is written no more. What it has is still read.
  bool has_failed() const { return has_failed_.load(); }
  void give_up() { has_failed_ = true; }
  // Each returns true the first time: who is told so puts the object into the queue of its copying, or of finishing.
  bool asks_to_be_copied() { return !has_asked_copy_.exchange(true); }
  bool asks_to_finish() { return !has_asked_finish_.exchange(true); }

  // The parts of the span that the copy does not have, also after a look at what other processes have written.
  std::vector<ByteSpan> missing(ByteSpan span) PENSTOCK_EXCLUDES(mutex_);
  // Reads bytes that are not missing.
  Status read(std::uint64_t offset, MutableBytes bytes) const;
  // Writes bytes that were read from this version of the object. After a failure, has_failed().
  Status keep(std::uint64_t offset, ConstBytes bytes) PENSTOCK_EXCLUDES(mutex_);

  // Claims the next bytes to copy, at most `most` of one piece; nullopt: all others are claimed, or nothing is missing.
  // Several parts of a piece may be claimed at a time, because readers leave many small gaps.
  std::optional<ByteSpan> claim(std::uint64_t most) PENSTOCK_EXCLUDES(mutex_);
  // Ends a claim. Then calls what waits for it.
  void release(ByteSpan span) PENSTOCK_EXCLUDES(mutex_);
  // Calls `then` once the copying that is under way in this process has brought a byte of the span, or failed. Returns
  // false, and does not call it, if none is under way.
  bool wait_for(ByteSpan span, std::function<void()> then) PENSTOCK_EXCLUDES(mutex_);

  // A reader reads these bytes from the source; the copier leaves them to it meanwhile.
  void begin_reading(ByteSpan span) PENSTOCK_EXCLUDES(mutex_);
  void end_reading(ByteSpan span) PENSTOCK_EXCLUDES(mutex_);

  // The steps by which a filled object becomes whole, in this order. begin_finish() returns false if another process
  // is at it. record() is empty if another process has done it. The record goes to the manifest before name_file()
  // gives the file its name: a record without a file only means that the object is copied again, while a file without
  // a record could be anybody's. end_finish() comes last, also after a failure.
  bool begin_finish();
  Status sync_data() const;
  Result<std::optional<StagedRecord>> record() PENSTOCK_EXCLUDES(mutex_);
  Status name_file();
  void end_finish(bool is_done);
  // Another process may have made it whole.
  bool look_whether_whole();

 private:
  Status open_copy() PENSTOCK_EXCLUDES(mutex_);
  Status claim_name(const std::string& path) const;
  bool adopt_whole();
  std::optional<ByteSpan> first_gap(ByteSpan span) const PENSTOCK_REQUIRES(mutex_);
  Status read_journal(bool verify) PENSTOCK_REQUIRES(mutex_);
  Status open_journal(bool make) PENSTOCK_REQUIRES(mutex_);
  bool matches_data(const StagedRange& range) const;
  void add(const StagedRange& range) PENSTOCK_REQUIRES(mutex_);
  ByteSpan piece(std::uint64_t number) const;
  Status fail_with(Status failure);

  StageContext& context_;
  const StageOrigin origin_;
  const ObjectVersion version_;
  const std::uint64_t id_;  // of the object in this version
  const std::uint64_t pieces_;
  const std::string data_path_, journal_path_;

  Mutex preparing_;
  std::optional<Status> prepared_ PENSTOCK_GUARDED_BY(preparing_);
  Descriptor data_;  // set by prepare()
  std::atomic<bool> is_whole_{false}, has_failed_{false}, has_asked_copy_{false}, has_asked_finish_{false};

  Mutex mutex_;
  Descriptor journal_ PENSTOCK_GUARDED_BY(mutex_);
  std::uint64_t journal_seen_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  RangeSet there_ PENSTOCK_GUARDED_BY(mutex_);
  std::vector<StagedRange> ranges_ PENSTOCK_GUARDED_BY(mutex_);
  std::uint64_t first_open_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // pieces before it are there
  std::map<std::uint64_t, std::size_t> claimed_ PENSTOCK_GUARDED_BY(mutex_);  // pieces, and how many parts of each
  std::vector<ByteSpan> under_way_ PENSTOCK_GUARDED_BY(mutex_);  // by the copier
  std::vector<ByteSpan> read_through_ PENSTOCK_GUARDED_BY(mutex_);  // by readers
  std::vector<std::function<void()>> waiting_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock
