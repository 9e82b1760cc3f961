#include "fetch/read_ahead.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "source/extent.h"
#include "store/read_answer.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxReadsExamined = 128;    // queued reads that are considered when reads are joined
constexpr std::size_t kMaxSamplesExamined = 512;  // samples whose shard indexes are read in advance
constexpr std::uint64_t kBatchesIndexesLead = 2;  // an index is read this many batches before its chunks
constexpr int kMaxIndexTries = 8;  // more than one for shards within shards, and for indexes discarded meanwhile
constexpr std::uint64_t kMinJoinedBytes = 64 << 10, kMaxJoinedBytes = 4 << 20;

}  // namespace

std::size_t ReadAhead::NameHash::operator()(const Name& name) const {
  return mix64(std::hash<std::string>()(name.key) ^ mix64(name.range.offset ^ mix64(name.range.length)));
}

ReadAhead::Memory::Memory(ReadAhead& owner_, std::size_t size_)
    : owner(owner_),
      size(size_),
      block(MemoryBlock::allocate(size_, heap_allocator())) {}

ReadAhead::Memory::~Memory() {
  block = MemoryBlock();
  owner.held_bytes_.fetch_sub(size);
  owner.area_->release(size);
}

ReadAhead::ReadAhead(const Source& source, std::shared_ptr<Area> area)
    : source_(source),
      area_(std::move(area)),
      capacity_(area_->bytes()) {}

ReadAhead::~ReadAhead() {
  interrupt();
  const MutexLock lock(mutex_);
  while (in_flight_ > 0 || answers_ > 0) changed_.wait(mutex_);  // answers use this object
}

void ReadAhead::interrupt() {
  std::stop_source stop;
  {
    const MutexLock lock(mutex_);
    ++generation_;
    queue_.clear();
    unplaced_.clear();
    index_queue_.clear();
    for (auto& [name, fetch] : fetches_)
      if (fetch->state == Fetch::State::kQueued) fetch->state = Fetch::State::kRefused;
    stop = std::exchange(stop_, std::stop_source(std::nostopstate));
  }
  stop.request_stop();  // may run answers on this thread, so no lock is held
  changed_.notify_all();
}

void ReadAhead::start(const PositionRange& first_batch) {
  interrupt();
  const MutexLock lock(mutex_);
  first_batch_ = first_batch;
  stop_ = std::stop_source();
  fetches_.clear();
  by_position_.clear();
  by_chunk_.clear();
  indexes_.clear();
  bad_indexes_.clear();
}

void ReadAhead::want(std::uint64_t position, std::span<const ChunkId> chunks) {
  const MutexLock lock(mutex_);
  unplaced_.push_back({position, {chunks.begin(), chunks.end()}});
  place_chunks();
  pump();
}

void ReadAhead::want(std::uint64_t position, const Store& store, std::vector<ObjectRead> reads) {
  const MutexLock lock(mutex_);
  for (ObjectRead& read : reads) add(position, store, std::move(read), reads.size());
  pump();
}

bool ReadAhead::is_in_first_batch(std::uint64_t position) const {
  return position - first_batch_.first < first_batch_.count;
}

std::size_t ReadAhead::limit_at(std::uint64_t position, const Store& store) const {
  return is_in_first_batch(position) ? store.urgent_reads() : store.reads_ahead();
}

std::size_t ReadAhead::urgent_requests(std::uint64_t position, std::size_t reads, const Store& store) const {
  if (!is_in_first_batch(position)) return 0;
  return std::max<std::size_t>(1, store.urgent_reads() / (first_batch_.count * reads));
}

void ReadAhead::add(std::uint64_t position, const Store& store, ObjectRead read, std::size_t reads,
                    std::optional<ChunkId> chunk) {
  Name name{read.key, read.range};
  if (fetches_.contains(name)) return;
  read.urgent_requests = urgent_requests(position, reads, store);
  auto fetch = std::make_shared<Fetch>();
  fetch->read = std::move(read);
  fetch->store = &store;
  fetch->position = position;
  fetch->chunk = chunk;
  fetches_.emplace(std::move(name), fetch);
  if (chunk) by_chunk_.insert_or_assign(*chunk, fetch);
  by_position_[position].push_back(fetch);
  // The location of a chunk may become known later than that of chunks behind it, so this may insert in the middle.
  queue_.insert(
      std::ranges::upper_bound(queue_, position, {}, [](const FetchPtr& other) { return other->position; }),
      std::move(fetch));
}

// Queues the chunks whose locations are known, and requests the shard indexes of the others.
void ReadAhead::place_chunks() {
  std::size_t examined = 0;
  for (auto sample = unplaced_.begin(); sample != unplaced_.end() && examined < kMaxSamplesExamined;
       ++examined) {
    const std::size_t chunks = sample->chunks.size();
    std::erase_if(sample->chunks, [&](const ChunkId& chunk) PENSTOCK_REQUIRES(mutex_) {
      const ChunkedArray& array = *source_.storage().arrays[chunk.array];
      // The worker reads it itself. In the queue it would hold back the reads of distant stores.
      if (array.store().reads_ahead() == 0) return true;
      if (const auto index = array.index_read(chunk.number)) {
        Name name{index->key, index->range};
        if (bad_indexes_.contains(name)) return true;  // its worker will report the error
        if (indexes_.insert(std::move(name)).second)
          index_queue_.insert(
              std::ranges::upper_bound(index_queue_, sample->position, {}, &IndexRead::position),
              {sample->position, chunk, &array.store(), *index});
        return false;
      }
      const auto place = array.location(chunk.number);
      if (place && !place->is_missing) add(sample->position, array.store(), place->read, chunks, chunk);
      return true;
    });
    sample = sample->chunks.empty() ? unplaced_.erase(sample) : std::next(sample);
  }
}

bool ReadAhead::has_room() const {
  return held_bytes_.load() + expected_bytes_ + static_cast<std::uint64_t>(average_bytes_) <= capacity_;
}

// An index must be read some batches before the chunks that it locates.
bool ReadAhead::index_comes_first() const {
  if (index_queue_.empty()) return false;
  if (queue_.empty() || !has_room()) return true;
  const std::uint64_t next = queue_.front()->position;
  const std::uint64_t lead = is_in_first_batch(next) ? 0 : kBatchesIndexesLead * first_batch_.count;
  return index_queue_.front().position <= next + lead;
}

// Starts as many reads as the limits allow. Each is started without the lock, because a store may answer at once on
// this thread.
void ReadAhead::pump() {
  if (is_pumping_ || !stop_.stop_possible()) return;
  is_pumping_ = true;
  while (true) {
    if (index_comes_first()) {
      const IndexRead& index = index_queue_.front();
      if (in_flight_ >= limit_at(index.position, *index.store)) break;
      start_index();
      continue;
    }
    if (queue_.empty() || !has_room()) break;
    const Fetch& first = *queue_.front();
    const std::size_t limit = limit_at(first.position, *first.store);
    if (in_flight_ >= limit) break;
    start_joined(next_joined(limit));
  }
  is_pumping_ = false;
}

void ReadAhead::start_index() {
  const IndexRead wanted = std::move(index_queue_.front());
  index_queue_.pop_front();
  ++in_flight_;
  const std::uint64_t generation = generation_;
  const std::stop_token stop = stop_.get_token();
  const MutexUnlock unlocked(mutex_);
  auto memory = std::make_shared<std::vector<std::byte>>();
  wanted.store->start_read(
      wanted.read,
      [memory](std::size_t bytes) -> Result<MutableBytes> {  // at most max_bytes of the read
        memory->resize(bytes);
        return MutableBytes(*memory);
      },
      stop,
      [this, wanted, memory, generation](Result<ObjectBytes> answer) {
        const bool was_stopped = !answer && answer.error().code == ErrorCode::kStopped;
        const Status added = was_stopped ? Status{}
                                         : source_.storage().arrays[wanted.chunk.array]->add_index(
                                               wanted.chunk.number, std::move(answer));
        const MutexLock lock(mutex_);
        --in_flight_;
        ++answers_;
        if (generation == generation_) {
          Name name{wanted.read.key, wanted.read.range};
          indexes_.erase(name);
          if (!added) bad_indexes_.insert(std::move(name));
          place_chunks();
          pump();
        }
        --answers_;
        changed_.notify_all();
      });
}

// Returns the first read of the queue, joined with queued reads of nearby bytes. If there is little to read, for
// example at the beginning of an epoch, joined reads are short, so that all requests that the store allows are used.
JoinedRead ReadAhead::next_joined(std::size_t limit) const {
  std::vector<ObjectRead> wanted;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < std::min(queue_.size(), kMaxReadsExamined); ++i) {
    if (queue_[i]->store != queue_.front()->store) break;
    const ByteRange& range = queue_[i]->read.range;
    if (i == 0 && (queue_[i]->read.only_version || range.from_end || range.length == ByteRange::kToTheEnd)) return {queue_[i]->read, {0}};
    wanted.push_back(queue_[i]->read);
    if (range.length != ByteRange::kToTheEnd) bytes += range.length;
  }
  MergeRule rule;
  rule.max_bytes = std::clamp(bytes / std::max<std::size_t>(limit, 1), kMinJoinedBytes, kMaxJoinedBytes);
  JoinedRead joined = coalesce(wanted, rule).front();
  for (const std::size_t part : joined.parts)
    joined.read.urgent_requests = std::max(joined.read.urgent_requests, wanted[part].urgent_requests);
  return joined;
}

Result<std::shared_ptr<ReadAhead::Memory>> ReadAhead::allocate(std::size_t bytes) {
  if (held_bytes_.load() + bytes > capacity_ || !area_->try_reserve(bytes))
    return fail(ErrorCode::kNoMemory, "no memory left to read ahead");
  held_bytes_.fetch_add(bytes);
  auto memory = std::make_shared<Memory>(*this, bytes);  // gives back what was reserved
  if (memory->block.size() < bytes) return fail(ErrorCode::kNoMemory, "no memory to read ahead");
  return memory;
}

void ReadAhead::start_joined(const JoinedRead& joined) {
  const auto parts = std::make_shared<std::vector<FetchPtr>>();
  for (const std::size_t index : joined.parts) parts->push_back(queue_[index]);
  for (const FetchPtr& part : *parts) part->state = Fetch::State::kReading;
  std::erase_if(queue_, [](const FetchPtr& fetch) PENSTOCK_REQUIRES(ReadAheadMutex::held) {
    return fetch->state == Fetch::State::kReading;
  });
  const Store& store = *parts->front()->store;
  const ByteRange& range = joined.read.range;
  const std::uint64_t expected =
      range.length == ByteRange::kToTheEnd ? static_cast<std::uint64_t>(average_bytes_) : range.length;
  expected_bytes_ += expected;
  ++in_flight_;
  const std::uint64_t generation = generation_;
  const std::stop_token stop = stop_.get_token();
  const MutexUnlock unlocked(mutex_);
  auto memory = std::make_shared<std::shared_ptr<Memory>>();
  store.start_read(
      joined.read,
      [this, memory](std::size_t bytes) -> Result<MutableBytes> {
        memory->reset();
        auto fresh = allocate(bytes);
        if (!fresh) return std::unexpected(fresh.error());
        *memory = std::move(*fresh);
        return MutableBytes((*memory)->block.data(), bytes);
      },
      stop,
      [this, parts, memory, generation, expected](Result<ObjectBytes> answer) {
        const MutexLock lock(mutex_);
        --in_flight_;
        ++answers_;
        expected_bytes_ -= expected;
        if (answer && !answer->bytes.empty())
          average_bytes_ = 0.9 * average_bytes_ + 0.1 * static_cast<double>(answer->bytes.size());
        for (const FetchPtr& part : *parts) {
          if (answer) {
            const ByteRange& wanted = part->read.range;
            part->bytes = answer->bytes;
            if (wanted.length != ByteRange::kToTheEnd && !wanted.from_end)
              part->bytes = part->bytes.subspan(wanted.offset - answer->offset, wanted.length);
            part->memory = *memory;
            part->version = answer->version;
            part->state = Fetch::State::kArrived;
          } else if (answer.error().code == ErrorCode::kNoMemory) {
            part->state = Fetch::State::kRefused;
          } else {
            // The error may concern only one part of a joined read, so the workers read each part again.
            part->error = answer.error();
            part->state = parts->size() > 1 && answer.error().code != ErrorCode::kStopped
                              ? Fetch::State::kRefused
                              : Fetch::State::kArrived;
          }
        }
        // The store may destroy this function after this object is gone, so it must not hold memory of this object.
        memory->reset();
        parts->clear();
        changed_.notify_all();
        if (generation == generation_) pump();
        --answers_;
        changed_.notify_all();
      });
}

std::optional<Result<ReadAhead::Bytes>> ReadAhead::take(std::uint64_t position, const Extent& extent) {
  const MutexLock lock(mutex_);
  const auto planned = by_position_.find(position);
  if (planned == by_position_.end()) return std::nullopt;
  const auto holds_extent = [&](const FetchPtr& fetch) {
    const ObjectRead& read = fetch->read;
    if (read.only_version || fetch->chunk || read.key != extent.object) return false;
    if (!extent.shared_object) return read.range.is_whole();
    return extent.offset >= read.range.offset &&
           extent.offset + extent.length <= read.range.offset + read.range.length;
  };
  const auto found = std::ranges::find_if(planned->second, holds_extent);
  if (found == planned->second.end()) return std::nullopt;
  return hand_over(*found);
}

std::optional<Result<ReadAhead::Bytes>> ReadAhead::take(const ChunkId& chunk) {
  const MutexLock lock(mutex_);
  const auto found = by_chunk_.find(chunk);
  if (found == by_chunk_.end()) return std::nullopt;
  return hand_over(found->second);
}

std::optional<Result<ReadAhead::Bytes>> ReadAhead::take_version(const std::string& object) {
  const MutexLock lock(mutex_);
  const ObjectRead read = version_read(object);
  const auto found = fetches_.find(Name{read.key, read.range});
  if (found == fetches_.end()) return std::nullopt;
  return hand_over(found->second);
}

std::optional<Result<ReadAhead::Bytes>> ReadAhead::hand_over(FetchPtr fetch) {
  if (fetch->state == Fetch::State::kQueued) {
    // The read was not started, so the worker reads the bytes itself instead of waiting.
    std::erase(queue_, fetch);
    fetch->state = Fetch::State::kRefused;
  }
  while (fetch->state == Fetch::State::kReading) changed_.wait(mutex_);
  forget(*fetch);
  if (fetch->state == Fetch::State::kRefused) return std::nullopt;
  if (fetch->error) return Result<Bytes>(std::unexpected(*fetch->error));
  return Result<Bytes>(Bytes{fetch->bytes, fetch->read.range.offset, std::move(fetch->memory), fetch->version});
}

// Another fetch of the same bytes may have replaced this one meanwhile; that one is not removed.
void ReadAhead::forget(const Fetch& fetch) {
  const auto named = fetches_.find(Name{fetch.read.key, fetch.read.range});
  if (named != fetches_.end() && named->second.get() == &fetch) fetches_.erase(named);
  if (fetch.chunk) {
    const auto of_chunk = by_chunk_.find(*fetch.chunk);
    if (of_chunk != by_chunk_.end() && of_chunk->second.get() == &fetch) by_chunk_.erase(of_chunk);
  }
  const auto planned = by_position_.find(fetch.position);
  if (planned != by_position_.end())
    std::erase_if(planned->second, [&](const FetchPtr& other) { return other.get() == &fetch; });
}

Result<ObjectBytes> ReadAhead::read(const Store& store, const ObjectRead& read, const Store::Allocate& allocate) {
  // Shared with the store, which may still be inside set() when this function returns.
  const auto answer = std::make_shared<ReadAnswer>();
  std::stop_token stop;
  {
    const MutexLock lock(mutex_);
    stop = stop_.get_token();
    if (!stop_.stop_possible())
      return fail(ErrorCode::kStopped, "reading was cancelled",
                  {read.key, static_cast<std::int64_t>(read.range.offset), -1, -1});
  }
  store.start_read(read, allocate, stop, [answer](Result<ObjectBytes> result) { answer->set(std::move(result)); });
  return answer->wait();
}

Status ReadAhead::bring_indexes(const ChunkedArray& array, std::uint64_t chunk) {
  for (int tries = 0; tries < kMaxIndexTries; ++tries) {
    auto index = array.index_read(chunk);
    if (!index) break;
    const Name name{index->key, index->range};
    {
      const MutexLock lock(mutex_);
      while (indexes_.contains(name) && stop_.stop_possible()) changed_.wait(mutex_);
    }
    index = array.index_read(chunk);
    if (!index || Name{index->key, index->range} != name) continue;
    std::vector<std::byte> memory;
    PENSTOCK_CHECK(
        array.add_index(chunk, read(array.store(), *index, [&](std::size_t bytes) -> Result<MutableBytes> {
                           memory.resize(bytes);
                           return MutableBytes(memory);
                         })));
  }
  return {};
}

void ReadAhead::limit(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  capacity_ = bytes;
  std::vector<FetchPtr> arrived;
  for (const auto& [name, fetch] : fetches_)
    if (fetch->state == Fetch::State::kArrived && fetch->memory) arrived.push_back(fetch);
  std::ranges::sort(arrived, std::greater<>(), [](const FetchPtr& fetch) { return fetch->position; });
  // Joined reads share memory, which is freed only with the last of them, so held_bytes_ is checked after each.
  for (const FetchPtr& fetch : arrived) {
    if (held_bytes_.load() <= bytes) break;
    fetch->state = Fetch::State::kRefused;
    fetch->bytes = {};
    fetch->memory.reset();
  }
  pump();
}

void ReadAhead::finish(std::uint64_t position) {
  const MutexLock lock(mutex_);
  const auto found = by_position_.find(position);
  if (found != by_position_.end()) {
    const std::vector<FetchPtr> fetches = std::move(found->second);
    by_position_.erase(found);
    for (const FetchPtr& fetch : fetches) {
      if (fetch->state == Fetch::State::kQueued) std::erase(queue_, fetch);
      forget(*fetch);
    }
  }
  pump();
}

}  // namespace penstock
