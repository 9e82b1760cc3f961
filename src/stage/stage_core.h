// The copying of a staged folder: which objects are copied next, by which reads, and the threads that do it.
//
// Workers start reads of the source and write what arrives; stores that answer asynchronously have several in flight.
// While readers wait for bytes of the source, the copier has few and short reads in flight, so that the link serves the
// readers first. One more thread, the finisher, syncs files that lack no byte and gives them their names, many at a
// time, so that nothing that a batch waits for waits for a disk.
//
// Thread-safe. The threads share ownership of the core. stop() ends the copying; the owner calls it, then joins.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <stop_token>
#include <unordered_map>
#include <unordered_set>

#include "base/guarded.h"
#include "base/memory/ledger.h"
#include "base/memory/memory_block.h"
#include "penstock/interruption.h"
#include "penstock/stage.h"
#include "stage/object_walk.h"
#include "stage/staged_object.h"

namespace penstock {

class StageCore {
 public:
  using ObjectPtr = std::shared_ptr<StagedObject>;
  using Clock = ConditionVariable::Clock;

  static Result<std::shared_ptr<StageCore>> open(const std::string& folder, const StageOptions& options,
                                                 std::shared_ptr<const StageCalls> calls);

  // What the threads run, until stop().
  void work() PENSTOCK_EXCLUDES(mutex_);
  void finish_objects() PENSTOCK_EXCLUDES(mutex_);
  // Ends the copying and waits for the reads in flight.
  void stop() PENSTOCK_EXCLUDES(mutex_);
  bool is_stopping() const { return is_stopping_.load(); }

  // Objects below `root`, a key of `store`, are staged from now on.
  void add_origin(std::string root, std::shared_ptr<const Store> store) PENSTOCK_EXCLUDES(mutex_);
  // The name of an object in the folder, and its store; nullopt if it is not staged.
  std::optional<StageOrigin> origin_of(const std::string& key) const PENSTOCK_EXCLUDES(mutex_);

  // `comes_before_readers`: a loader is about to read; the copier leaves the link to it at first.
  void copy(std::unique_ptr<ObjectWalk> walk, bool comes_before_readers) PENSTOCK_EXCLUDES(mutex_);

  // The copy of this version of an object, prepared; a copy of another version is forgotten. nullptr if it cannot be
  // written, and stats() has the reason, or if too many others are open just now.
  ObjectPtr object_for(const StageOrigin& origin, const ObjectVersion& version) PENSTOCK_EXCLUDES(mutex_);
  // The copy that this process has begun or compared with the source; nullptr: none.
  ObjectPtr find(const std::string& name) const PENSTOCK_EXCLUDES(mutex_);
  void forget(const std::string& name) PENSTOCK_EXCLUDES(mutex_);
  // The version that an object had when this process compared its whole copy with the source.
  std::optional<ObjectVersion> compared_version(const std::string& name) const PENSTOCK_EXCLUDES(mutex_);

  // A reader reads an object of which nothing is known, not even the version; the copier leaves it to the reader until
  // end_unknown(). The other way round, `then` is called once the copier has brought such an object, or failed; returns
  // false, and does not call it, if the copier is not at it.
  void begin_unknown(const std::string& name) PENSTOCK_EXCLUDES(mutex_);
  void end_unknown(const std::string& name) PENSTOCK_EXCLUDES(mutex_);
  bool wait_for_unknown(const std::string& name, std::function<void()> then) PENSTOCK_EXCLUDES(mutex_);

  // Runs the job on a worker; on this thread where there are none any more.
  void post(std::function<void()> job) PENSTOCK_EXCLUDES(mutex_);
  // Memory for the reads of the source; empty where there is none left. Given back by free_memory().
  MemoryBlock take_memory(std::uint64_t bytes);
  void free_memory(MemoryBlock block, std::uint64_t bytes);
  // A reader reads from the source, until end_reading().
  void begin_reading() { ++reading_; }
  void end_reading(std::uint64_t bytes) PENSTOCK_EXCLUDES(mutex_);
  // Writes what a reader has read to the copy.
  void keep(const ObjectPtr& object, std::uint64_t offset, ConstBytes bytes) PENSTOCK_EXCLUDES(mutex_);
  void count_served(std::uint64_t bytes) { served_ += bytes; }

  StagingStats stats() const PENSTOCK_EXCLUDES(mutex_);
  std::optional<Error> failure() const PENSTOCK_EXCLUDES(mutex_);
  // All objects of all walks are whole, or have failed.
  bool is_done() const PENSTOCK_EXCLUDES(mutex_);
  void wait_for_change(std::chrono::milliseconds most) const PENSTOCK_EXCLUDES(mutex_);
  std::uint64_t objects_whole() const { return objects_whole_.load(); }
  StageContext& context() { return context_; }

 private:
  // A read of the copier. `object` is empty where the version is not known before the answer.
  struct CopyRead {
    ObjectPtr object;
    StageOrigin origin;
    ByteSpan span;
    MemoryBlock memory;
    std::uint64_t reserved = 0;
    std::optional<Result<ObjectBytes>> answer;
  };

  static constexpr std::size_t kMaxOpenObjects = 512;  // each holds up to two descriptors

  StageCore(std::unique_ptr<StageContext> context, const StageOptions& options);

  bool find_work() PENSTOCK_REQUIRES(mutex_);
  bool may_read() const PENSTOCK_REQUIRES(mutex_);
  std::uint64_t bytes_per_read() const PENSTOCK_REQUIRES(mutex_);
  bool start_read() PENSTOCK_REQUIRES(mutex_);
  bool take_unknown(CopyRead& read) PENSTOCK_REQUIRES(mutex_);
  bool is_known(const StageOrigin& origin) const PENSTOCK_REQUIRES(mutex_);
  bool find_objects() PENSTOCK_REQUIRES(mutex_);
  bool has_room() const PENSTOCK_REQUIRES(mutex_);
  void put_off(const StageOrigin& origin) PENSTOCK_EXCLUDES(mutex_);
  void take_up(const FoundObject& found) PENSTOCK_EXCLUDES(mutex_);
  void send(CopyRead* read) PENSTOCK_EXCLUDES(mutex_);
  void arrived(CopyRead* read, Result<ObjectBytes> answer) PENSTOCK_EXCLUDES(mutex_);
  void store_answer(CopyRead& read) PENSTOCK_EXCLUDES(mutex_);
  void note_failure(const Error& error) PENSTOCK_EXCLUDES(mutex_);
  void finish_later(const ObjectPtr& object) PENSTOCK_EXCLUDES(mutex_);
  void finish_batch(std::vector<ObjectPtr> batch) PENSTOCK_EXCLUDES(mutex_);
  Status make_whole(const std::vector<ObjectPtr>& batch);
  void note_whole(const ObjectPtr& object) PENSTOCK_REQUIRES(mutex_);
  void give_up(const ObjectPtr& object, const Error& error) PENSTOCK_EXCLUDES(mutex_);

  const std::unique_ptr<StageContext> owned_context_;
  StageContext& context_;
  const StageOptions options_;
  Ledger memory_;
  Interruption interruption_;
  std::stop_source stop_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> reading_{0};
  std::atomic<std::uint64_t> copied_{0}, read_through_{0}, kept_{0}, served_{0}, objects_whole_{0};

  mutable Mutex mutex_;
  mutable ConditionVariable changed_;
  ConditionVariable finisher_wakes_;  // of its own, so that what is meant for one worker wakes a worker
  std::map<std::string, std::shared_ptr<const Store>> origins_ PENSTOCK_GUARDED_BY(mutex_);  // by root
  std::unordered_map<std::string, ObjectPtr> objects_ PENSTOCK_GUARDED_BY(mutex_);           // by name
  std::deque<std::function<void()>> jobs_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<CopyRead>> arrived_ PENSTOCK_GUARDED_BY(mutex_);
  std::list<std::unique_ptr<CopyRead>> in_flight_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<ObjectWalk>> walks_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<ObjectPtr> active_ PENSTOCK_GUARDED_BY(mutex_);           // that are being copied, in order
  std::deque<StageOrigin> unknown_ PENSTOCK_GUARDED_BY(mutex_);        // whose version only reading tells, or put off
  std::unordered_map<std::string, std::size_t> unknown_read_ PENSTOCK_GUARDED_BY(mutex_);  // by readers: how many
  std::unordered_map<std::string, std::vector<std::function<void()>>> unknown_copied_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<ObjectPtr> filled_ PENSTOCK_GUARDED_BY(mutex_);           // that the finisher is to make whole
  // Whole objects that this process has compared with the source, by the hash of the name, and the names of those that
  // are still in objects_, oldest first: an object holds a descriptor, so only some stay.
  std::unordered_map<std::uint64_t, ObjectVersion> compared_ PENSTOCK_GUARDED_BY(mutex_);
  std::deque<std::string> whole_ PENSTOCK_GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> given_up_ PENSTOCK_GUARDED_BY(mutex_);  // hashes of keys that have failed
  std::size_t walking_ PENSTOCK_GUARDED_BY(mutex_) = 0, storing_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::size_t finishing_ PENSTOCK_GUARDED_BY(mutex_) = 0, workers_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  Clock::time_point quiet_until_ PENSTOCK_GUARDED_BY(mutex_){}, gentle_until_ PENSTOCK_GUARDED_BY(mutex_){},
      look_again_ PENSTOCK_GUARDED_BY(mutex_){};
  std::optional<Error> failure_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock
