#include "pack/pack_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <thread>

#include "base/first_error.h"
#include "base/guarded.h"
#include "pack/prepared_memory.h"
#include "pack/sample_values.h"
#include "pack/formats/tar_names.h"
#include "penstock/interruption.h"
#include "source/source_storage.h"
#include "statistics/source_reads.h"

namespace penstock {
namespace {

constexpr auto kPackProgressEvery = std::chrono::milliseconds(100);
// The queue only evens out differences of speed. Memory that is used again and again costs less than more of it.
constexpr std::uint64_t kUsualQueueBytes = 32 << 20;
constexpr std::uint64_t kQueuedPerThread = 8;  // samples of the average size, where these are large
constexpr std::size_t kWriters = 2;
constexpr std::uint64_t kMostAhead = 1 << 16;  // prepared samples that wait, which also take memory besides their bytes

// The names of the samples of the shards that are being written, for formats that have names.
class ShardNames {
 public:
  ShardNames(const PackJob& job, const std::vector<std::uint64_t>& begins) : job_(job), begins_(begins) {}

  std::string name_of(std::size_t shard, std::uint64_t position) PENSTOCK_EXCLUDES(mutex_) {
    if (!job_.format.names_samples()) return {};
    std::shared_ptr<const std::vector<std::string>> names;
    {
      const MutexLock lock(mutex_);
      auto& kept = by_shard_[shard];
      if (kept == nullptr) kept = make(shard);
      names = kept;
    }
    return (*names)[position - begins_[shard]];
  }
  void forget(std::size_t shard) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    by_shard_.erase(shard);
  }

 private:
  std::shared_ptr<const std::vector<std::string>> make(std::size_t shard) const {
    std::vector<std::string> keys;
    for (std::uint64_t position = begins_[shard]; position < begins_[shard + 1]; ++position)
      keys.push_back(job_.source->key(position));
    return std::make_shared<const std::vector<std::string>>(tar_names_of(keys));
  }

  const PackJob& job_;
  const std::vector<std::uint64_t>& begins_;
  Mutex mutex_;
  std::map<std::size_t, std::shared_ptr<const std::vector<std::string>>> by_shard_ PENSTOCK_GUARDED_BY(mutex_);
};

class PackRun {
 public:
  PackRun(const PackJob& job, const FieldPlans& plans, SourceReads& reads, std::uint64_t output_bytes)
      : job_(job),
        plans_(plans),
        reads_(reads),
        memory_(queue_bytes(job, output_bytes), output_bytes - queue_bytes(job, output_bytes)),
        names_(job, begins_),
        manifest_(job.shards.size()),
        running_(job.threads + std::min(kWriters, job.shards.size())) {
    for (const ShardOutput::Place& shard : job.shards) begins_.push_back(begins_.back() + shard.samples);
  }

  Status run(const std::function<bool(std::uint64_t, std::uint64_t)>& progress) {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < job_.threads; ++i) threads.emplace_back([this] { work([this] { return prepare_samples(); }); });
    for (std::size_t i = 0; i < std::min(kWriters, job_.shards.size()); ++i)
      threads.emplace_back([this] { work([this] { return write_shards(); }); });
    while (!finishes_within(kPackProgressEvery))
      if (Interruption::is_requested() || (progress && !progress(written_.load(), bytes_.load()))) {
        error_.report({ErrorCode::kStopped, "stopped before everything was packed; the same call continues", {}});
        stop();
      }
    return error_.status();
  }

  std::vector<PackManifest::Shard> take_manifest() { return std::move(manifest_); }

 private:
  static std::uint64_t queue_bytes(const PackJob& job, std::uint64_t output_bytes) {
    const std::uint64_t average = job.source->storage().stored_bytes / job.source->size() + job.format.overhead_bytes();
    return std::min(output_bytes / 2, std::max(kUsualQueueBytes, kQueuedPerThread * job.threads * average));
  }

  bool finishes_within(std::chrono::milliseconds patience) PENSTOCK_EXCLUDES(mutex_) {
    const auto deadline = ConditionVariable::Clock::now() + patience;
    const MutexLock lock(mutex_);
    while (running_ > 0 && finished_.wait_until(mutex_, deadline)) {
    }
    return running_ == 0;
  }

  template <typename Function>
  void work(Function function) PENSTOCK_EXCLUDES(mutex_) {
    const Interruption::Scope scope(&stop_reading_);
    Status status;
    try {
      status = function();
    } catch (const std::bad_alloc&) {
      status = fail(ErrorCode::kNoMemory, "the system has no memory left");
    }
    if (!status) {
      error_.report(std::move(status).error());
      stop();
    }
    const MutexLock lock(mutex_);
    if (--running_ == 0) finished_.notify_all();
  }

  void stop() PENSTOCK_EXCLUDES(mutex_) {
    if (is_stopped_.exchange(true)) return;
    stop_reading_.request();
    reads_.interrupt();
    memory_.stop();
    const MutexLock lock(mutex_);
    changed_.notify_all();
  }

  // ---- Threads that prepare samples.

  Status prepare_samples() {
    SampleValues values(*job_.source, job_.fields, plans_, reads_.budget(), reads_.shared());
    const auto framer = job_.format.make_framer();
    for (std::uint64_t position = next_.fetch_add(1); position < begins_.back() && !is_stopped_; position = next_.fetch_add(1)) {
      auto sample = prepare(position, values, *framer);
      if (!sample) return std::unexpected(std::move(sample).error());
      if (!*sample) return {};  // stopped
      hand_over(position, std::move(**sample));
    }
    return {};
  }

  std::size_t shard_of(std::uint64_t position) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(begins_, position) - begins_.begin()) - 1;
  }

  Result<std::optional<PreparedSample>> prepare(std::uint64_t position, SampleValues& values, SampleFramer& framer) {
    const std::string name = names_.name_of(shard_of(position), position), key = job_.source->key(position);
    const std::uint64_t expected =
        std::max<std::uint64_t>(job_.source->stored_bytes_of(position) + job_.format.overhead_bytes(), 1);
    std::uint64_t wanted = expected;
    while (memory_.wait_for(position, wanted)) {
      PreparedSample sample{PackBuffer(memory_, position), {}};
      Status status = sample.bytes.reserve(expected);
      if (status) status = framer.begin(name, key, sample);
      if (status) status = values.visit(position, [&](const PackedValue& value) { return framer.add(value, sample); });
      if (status) status = framer.end(sample);
      if (status) return sample;
      if (sample.bytes.refusal() != PreparedMemory::Answer::kLater) {
        Error error = std::move(status).error();
        if (error.where.uri.empty()) error.where.uri = job_.source->uri();
        error.where.sample = static_cast<std::int64_t>(position);
        if (error.code == ErrorCode::kChanged) job_.source->storage().discard_indexes();
        return std::unexpected(std::move(error));
      }
      wanted = std::max(wanted, sample.bytes.wanted());
    }
    return std::nullopt;
  }

  void hand_over(std::uint64_t position, PreparedSample sample) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    prepared_.emplace(position, std::move(sample));
    // A writer waits for the next sample of its shard and for no other.
    const auto is_next = [position](const auto& writing) { return writing.second == position; };
    if (std::ranges::any_of(writing_, is_next)) changed_.notify_all();
    while (!is_stopped_ && prepared_.size() > kMostAhead && position > earliest()) changed_.wait(mutex_);
  }

  // ---- Threads that write shards.

  Status write_shards() {
    for (std::size_t shard = begin_shard(); shard < job_.shards.size() && !is_stopped_; shard = begin_shard()) {
      std::unique_ptr<ShardOutput> output;
      std::uint64_t counted = 0;
      for (std::uint64_t position = begins_[shard]; position < begins_[shard + 1]; ++position) {
        {
          const auto sample = take(position);
          if (!sample) return {};  // stopped
          // Not before there is something to write: a file that waits long for its first bytes looks abandoned to a process
          // on another machine (pack_folder.cpp).
          if (!output) {
            auto begun = ShardOutput::begin(job_.folder, job_.format, job_.description, job_.shards[shard]);
            if (!begun) return std::unexpected(std::move(begun).error());
            output = std::move(*begun);
          }
          PENSTOCK_CHECK(output->add(job_.source->key(position), *sample));
        }
        set_written(shard, position + 1);
        bytes_ += output->bytes() - counted;
        counted = output->bytes();
        ++written_;
      }
      names_.forget(shard);
      auto finished = output->finish();
      if (!finished) return std::unexpected(std::move(finished).error());
      manifest_[shard] = std::move(*finished);
    }
    return {};
  }

  // Claims the next shard.
  std::size_t begin_shard() PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    const std::size_t shard = next_shard_++;
    if (shard < job_.shards.size()) writing_[shard] = begins_[shard];
    return shard;
  }

  std::optional<PreparedSample> take(std::uint64_t position) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    auto found = prepared_.find(position);
    for (; found == prepared_.end() && !is_stopped_; found = prepared_.find(position)) changed_.wait(mutex_);
    if (found == prepared_.end()) return std::nullopt;
    std::optional<PreparedSample> sample(std::move(found->second));
    prepared_.erase(found);
    return sample;
  }

  void set_written(std::size_t shard, std::uint64_t next) PENSTOCK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (next < begins_[shard + 1])
      writing_[shard] = next;
    else
      writing_.erase(shard);
    memory_.set_earliest(earliest());
    if (prepared_.size() + 1 >= kMostAhead) changed_.notify_all();
  }

  // The earliest position that is not written: the next one of the earliest shard that is being written, or the first one of
  // the shard that comes next.
  std::uint64_t earliest() const PENSTOCK_REQUIRES(mutex_) {
    if (!writing_.empty()) return writing_.begin()->second;
    return begins_[std::min(next_shard_, job_.shards.size())];
  }

  const PackJob& job_;
  const FieldPlans& plans_;
  SourceReads& reads_;
  PreparedMemory memory_;
  std::vector<std::uint64_t> begins_{0};  // position of the first sample of each shard, and the end
  ShardNames names_;
  std::vector<PackManifest::Shard> manifest_;  // each entry is written by the thread that writes the shard
  std::atomic<std::uint64_t> next_{0}, written_{0}, bytes_{0};
  std::atomic<bool> is_stopped_{false};
  Interruption stop_reading_;
  FirstError error_;

  Mutex mutex_;
  ConditionVariable changed_, finished_;
  std::map<std::uint64_t, PreparedSample> prepared_ PENSTOCK_GUARDED_BY(mutex_);
  std::map<std::size_t, std::uint64_t> writing_ PENSTOCK_GUARDED_BY(mutex_);  // shard: its next position
  std::size_t next_shard_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  std::size_t running_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::vector<PackManifest::Shard>> run_pack(
    const PackJob& job, const std::function<bool(std::uint64_t samples, std::uint64_t bytes)>& progress) {
  const auto plans = plan_fields_of(job.source, job.fields);
  if (!plans) return std::unexpected(plans.error());
  std::vector<std::size_t> numbers;
  for (const FieldWork& work : job.fields.works) numbers.push_back(work.source_field);
  // One half is for reading and decoding, the other for what waits to be written.
  const std::uint64_t output_bytes = job.memory_bytes / 2;
  const auto reads = SourceReads::open(
      *job.source, {numbers, job.threads, job.threads * (1 + plans->made.size()), job.memory_bytes - output_bytes});
  if (!reads) return std::unexpected(reads.error());
  PackRun run(job, *plans, **reads, output_bytes);
  PENSTOCK_CHECK(run.run(progress));
  return run.take_manifest();
}

}  // namespace penstock
