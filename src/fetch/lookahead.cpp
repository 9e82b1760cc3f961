#include "fetch/lookahead.h"

#include <algorithm>
#include <unordered_map>

#include "fetch/entries/sample_cache.h"
#include "plan/chunk_pieces.h"
#include "plan/sample_reads.h"
#include "source/extent.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMinSamplesAhead = 64, kMaxSamplesAhead = 65'536;
constexpr std::uint64_t kSamplesPerStep = 64;     // small, so that a worker soon returns to making samples
constexpr std::size_t kMaxUsesPlanned = 200'000;  // the plan itself takes memory

// Returns the store of a sample's objects, which are all in one store, or nullptr if no field has an object.
const Store* store_of(const Source& source, std::span<const std::size_t> fields, std::uint64_t sample) {
  for (const std::size_t field : fields) {
    const FieldForm form = source.fields()[field].form;
    if (form == FieldForm::kChunks || form == FieldForm::kIndex) continue;
    if (const auto extent = source.extent(sample, field)) return extent->store;
  }
  return nullptr;
}

}  // namespace

std::vector<ChunkId> chunks_of(const Source& source, std::span<const std::size_t> fields,
                               std::uint64_t sample) {
  std::vector<ArrayBox> boxes;
  for (const std::size_t field : fields)
    if (source.fields()[field].form == FieldForm::kChunks) source.boxes(sample, field, boxes);
  std::vector<ChunkId> chunks;
  list_chunks(source.storage().arrays, boxes, chunks);
  if (!std::ranges::is_sorted(chunks)) std::ranges::sort(chunks);
  chunks.erase(std::ranges::unique(chunks).begin(), chunks.end());
  return chunks;
}

std::optional<LookaheadPlan> plan_lookahead(const Source& source, const LookaheadRequest& request) {
  const auto& arrays = source.storage().arrays;
  const bool is_remote = source.storage().reads_ahead() > 0;
  if (arrays.empty() && !is_remote && !request.is_cached_on_disk) return std::nullopt;
  LookaheadPlan plan;
  plan.samples_ahead = std::clamp(request.samples, kMinSamplesAhead, kMaxSamplesAhead);
  const std::uint64_t beside_chunks = request.max_bytes - std::min(request.max_bytes, request.decoded_chunk_bytes);
  if (is_remote)
    plan.ahead_bytes = arrays.empty() ? request.max_bytes : std::min(request.max_bytes / 2, beside_chunks);
  plan.decoded_chunk_bytes = arrays.empty() ? 0 : request.max_bytes - plan.ahead_bytes;
  // Samples whose chunks need more than copying are held open for one batch at a time. If that would take too much
  // memory from the chunks, none are held open, and only the next use of a chunk decides when it is evicted.
  const std::uint64_t of_batch = request.open_sample_bytes * request.batch_samples;
  const std::uint64_t spare = plan.decoded_chunk_bytes - std::min(plan.decoded_chunk_bytes, request.decoded_chunk_bytes);
  plan.open_sample_bytes = request.open_sample_bytes;
  if (of_batch > 0 && of_batch <= std::min(plan.decoded_chunk_bytes / 2, spare)) {
    plan.open_samples = request.batch_samples;
    plan.decoded_chunk_bytes -= of_batch;
  }
  return plan;
}

ChunkStats LookaheadMemory::stats() const {
  ChunkStats stats;
  stats.decoded = counters.decoded;
  stats.reused = counters.reused;
  stats.missing = counters.missing;
  stats.decoded_bytes = counters.decoded_bytes;
  stats.distinct = distinct.count();
  stats.distinct_bytes = distinct.bytes();
  return stats;
}

// The bytes of the chunks that are in use at one time. If they all fit and chunks were decoded twice nevertheless, uses
// lie farther apart than the plan reaches; then the bytes of all chunks are needed.
std::uint64_t LookaheadMemory::bytes_for_one_decode() const {
  const std::uint64_t planned = decoded_chunks.max_bytes_in_use();
  return planned > decoded_chunks.capacity() ? planned : std::max(distinct.bytes(), decoded_chunks.capacity() + 1);
}

Lookahead::Lookahead(const Source& source, std::vector<std::size_t> fields,
                   std::shared_ptr<LookaheadMemory> memory, const LookaheadPlan& plan,
                   const SampleCache* cache)
    : source_(source),
      fields_(std::move(fields)),
      plan_(plan),
      cache_(cache),
      memory_(std::move(memory)) {
  if (plan.ahead_bytes > 0) ahead_ = std::make_unique<ReadAhead>(source, memory_->ahead);
}

Lookahead::~Lookahead() { end(); }

void Lookahead::start(std::shared_ptr<const EpochOrder> order, const RankSlice& slice) {
  end();
  drop_changed_chunks();
  {
    const MutexLock lock(mutex_);
    const SampleUse first = memory_->decoded_chunks.start_walk();
    memory_->distinct.start();
    walk_ = first.walk;
    first_due_ = first.due;
    first_position_ = slice.start;
    order_ = std::move(order);
    slice_ = slice;
    batch_ = in_batch_ = planned_ = 0;
    finished_ = 0;
    planned_end_ = open_end_ = slice.start;
  }
  if (ahead_) ahead_->start(slice.batches() > 0 ? slice.batch(0) : PositionRange{});
  extend();
}

// The version of a file is checked once per epoch. The versions of objects on servers are not: a loader uses the
// version that it read first.
void Lookahead::drop_changed_chunks() {
  std::unordered_map<std::string, Result<ObjectVersion>> looked_at;
  memory_->decoded_chunks.drop_changed([&](const ChunkId& chunk, const ObjectVersion& version) {
    const ChunkedArray& array = *source_.storage().arrays[chunk.array];
    if (array.store().reads_ahead() > 0) return true;
    const std::string object = array.holder(chunk.number).object;
    auto found = looked_at.find(object);
    if (found == looked_at.end()) found = looked_at.emplace(object, array.store().stat(object)).first;
    return found->second && found->second->is_exactly(version);
  });
}

void Lookahead::interrupt() {
  if (ahead_) ahead_->interrupt();
}

void Lookahead::end() {
  interrupt();
  const MutexLock lock(mutex_);
  if (!order_) return;
  order_.reset();
  memory_->decoded_chunks.end_walk(walk_);
  const MutexLock open_lock(open_mutex_);
  open_.clear();
}

// ---- samples in the making

void Lookahead::open_batch(const PositionRange& range, BatchContents& contents) {
  if (source_.storage().arrays.empty()) return;
  const MutexLock lock(open_mutex_);
  open_.push_back({range, &contents});
  tell_open();
}

void Lookahead::close_batch(const PositionRange& range) {
  if (source_.storage().arrays.empty()) return;
  const MutexLock lock(open_mutex_);
  while (batch_at(range.first)->pins > 0) unpinned_.wait(open_mutex_);
  open_.erase(batch_at(range.first));
  tell_open();
  memory_->decoded_chunks.close(walk_, use_at(range.first).due, range.count);
}

std::deque<Lookahead::OpenBatch>::iterator Lookahead::batch_at(std::uint64_t position) {
  return std::ranges::find_if(open_, [&](const OpenBatch& batch) {
    return position >= batch.range.first && position < batch.range.first + batch.range.count;
  });
}

// Only samples of the first unfinished batch may be held in memory until they are complete, so the range of open
// samples ends there.
void Lookahead::tell_open() {
  std::uint64_t end = slice_.start;
  if (!open_.empty()) end = open_.back().range.first + open_.back().range.count;
  if (plan_.open_sample_bytes > 0) {
    const auto first =
        std::ranges::find_if(open_, [](const OpenBatch& batch) { return batch.finished < batch.range.count; });
    if (first != open_.end()) end = std::min(end, first->range.first + plan_.open_samples);
  }
  open_end_ = end;
  memory_->decoded_chunks.set_open(walk_, use_at(end).due);
}

std::unique_ptr<Lookahead::OpenPlace> Lookahead::find_open(const SampleUse& use) {
  if (use.walk != walk_) return nullptr;
  const std::uint64_t position = use.due - first_due_ + first_position_;
  const MutexLock lock(open_mutex_);
  const auto batch = batch_at(position);
  if (batch == open_.end()) return nullptr;
  ++batch->pins;
  return std::make_unique<OpenPlace>(*this, position, position - batch->range.first, *batch->contents);
}

void Lookahead::unpin(std::uint64_t position) {
  {
    const MutexLock lock(open_mutex_);
    --batch_at(position)->pins;
  }
  unpinned_.notify_all();
}

// ---- looking ahead

void Lookahead::divide_among(std::size_t epochs) {
  if (ahead_) ahead_->limit(plan_.ahead_bytes / std::max<std::size_t>(epochs, 1));
}

void Lookahead::extend() {
  // All open samples must be planned, or a chunk could be evicted before it was copied to all that need it.
  const auto is_behind = [this] { return planned_end_ < open_end_; };
  if (is_behind())
    mutex_.lock();
  else if (!mutex_.try_lock())
    return;  // another worker is planning
  const MutexLock lock(mutex_, std::adopt_lock);
  if (!order_) return;
  for (std::uint64_t i = 0; i < kSamplesPerStep || is_behind(); ++i) {
    if (batch_ >= slice_.batches()) return;
    if (planned_ >= finished_ + plan_.samples_ahead || memory_->decoded_chunks.planned_uses() > kMaxUsesPlanned) return;
    const PositionRange range = slice_.batch(batch_);
    const std::uint64_t position = range.first + in_batch_;
    plan_sample(position, order_->sample_at(position));
    ++planned_;
    planned_end_ = position + 1;
    if (++in_batch_ >= range.count) {
      ++batch_;
      in_batch_ = 0;
    }
  }
}

void Lookahead::plan_sample(std::uint64_t position, std::uint64_t sample) {
  if (!source_.storage().arrays.empty()) {
    std::vector<ChunkId> fresh = memory_->decoded_chunks.plan(use_at(position), chunks_of(source_, fields_, sample));
    if (cache_ != nullptr && cache_->is_on_disk())
      for (const ChunkId& chunk : fresh) cache_->expect(chunk);
    if (cache_ != nullptr)
      std::erase_if(fresh, [&](const ChunkId& chunk) PENSTOCK_REQUIRES(mutex_) {
        const bool is_cached = cache_->has(chunk);
        if (is_cached) ask(position, chunk);
        return is_cached;
      });
    if (ahead_ && !fresh.empty()) ahead_->want(position, fresh);
  }
  if (cache_ != nullptr && cache_->is_on_disk()) cache_->expect_sample(sample);
  if (!ahead_) return;
  const Store* const store = store_of(source_, fields_, sample);
  if (store == nullptr || store->reads_ahead() == 0) return;
  std::vector<ObjectRead> reads;
  if (cache_ != nullptr) reads = cache_->questions(sample);
  if (cache_ != nullptr && cache_->has_sample(sample)) {
    if (!reads.empty()) ahead_->want(position, *store, std::move(reads));
    return;
  }
  for (const std::size_t field : fields_) {
    const FieldForm form = source_.fields()[field].form;
    if (form == FieldForm::kChunks || form == FieldForm::kIndex) continue;
    const auto extent = source_.extent(sample, field);
    if (!extent || extent->block >= 0) continue;
    ObjectRead read = read_of(source_, fields_, sample, *extent);
    const auto is_same = [&](const ObjectRead& other) {
      return other.key == read.key && other.range == read.range;
    };
    if (std::ranges::none_of(reads, is_same)) reads.push_back(std::move(read));
  }
  if (!reads.empty()) ahead_->want(position, *store, std::move(reads));
}

// A cache entry can be used only after the server was asked whether its object has changed. This asks ahead of time.
void Lookahead::ask(std::uint64_t position, const ChunkId& chunk) {
  if (!ahead_) return;
  if (auto question = cache_->question(chunk))
    ahead_->want(position, source_.storage().arrays[chunk.array]->store(), {std::move(*question)});
}

void Lookahead::finish(std::uint64_t position, std::span<const ChunkId> chunks) {
  ++finished_;
  // No chunk may be copied to this sample any more, because a stand-in may take its slot.
  if (!chunks.empty())
    memory_->decoded_chunks.finish(use_at(position), chunks);
  else if (!source_.storage().arrays.empty())
    memory_->decoded_chunks.finish(use_at(position), chunks_of(source_, fields_, order_->sample_at(position)));
  if (ahead_) ahead_->finish(position);
  if (plan_.open_sample_bytes == 0) return;
  const MutexLock lock(open_mutex_);
  const auto batch = batch_at(position);
  if (batch != open_.end() && ++batch->finished == batch->range.count) tell_open();
}

}  // namespace penstock
