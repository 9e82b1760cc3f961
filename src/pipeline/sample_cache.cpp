#include "pipeline/sample_cache.h"

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "pipeline/sample_worker.h"
#include "source/chunked_array.h"
#include "transform/op.h"

namespace penstock {
namespace {

std::uint32_t next_mark() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

// What a damaged entry says of itself must not lead outside its bytes.
bool is_sound(const EntryHead& head, const EntryKey& key, std::uint64_t entry_bytes) {
  if (head.key != key || head.bytes != entry_bytes - sizeof(EntryHead)) return false;
  if (head.has_spec == 0) return true;
  if (head.rank > head.shape.size() || head.dtype > DType::kComplex128) return false;
  std::optional<std::uint64_t> bytes = size_of(head.dtype);
  for (std::size_t axis = 0; axis < head.rank && bytes; ++axis)
    bytes = head.shape[axis] < 0 ? std::nullopt
                                 : checked_multiply(*bytes, static_cast<std::uint64_t>(head.shape[axis]));
  return bytes == head.bytes;
}

}  // namespace

SampleCache::SampleCache(std::shared_ptr<const TieredCache> cache, const SamplePlan& plan, CacheForm form)
    : cache_(std::move(cache)),
      source_(plan.source),
      form_(form),
      own_mark_(next_mark()),
      keys_(std::make_shared<const SampleKeys>(plan, form)),
      wanted_(std::make_shared<WantedSamples>(keys_)) {
  cache_->add_wanted(wanted_);
}

SampleCache::~SampleCache() {
  wanted_->end();
  cache_->look_again();
}

SampleCache::Subject SampleCache::subject(std::size_t field, const Extent& extent) const {
  const Store& store = source_->store();
  Subject subject{keys_->of(field, extent), store, extent.object, std::nullopt, false};
  if (extent.modified_ns != Extent::kUnknown)
    subject.indexed = ObjectVersion{extent.object_bytes, extent.modified_ns};
  // A server is not asked about every object: the index of its shards was compared when it was opened.
  subject.is_asked_for = store.reads_ahead() == 0 && (source_->index_was_kept() || !subject.indexed);
  return subject;
}

SampleCache::Subject SampleCache::subject(const ChunkId& chunk, const std::string& object) const {
  const Store& store = source_->chunked_arrays()[chunk.array]->store();
  return {keys_->of(chunk), store, object, std::nullopt, store.reads_ahead() == 0};
}

std::optional<ArraySpec> SampleCache::Value::spec() const {
  if (head.has_spec == 0) return std::nullopt;
  return ArraySpec{head.dtype, {head.shape.begin(), head.shape.begin() + head.rank}};
}

bool SampleCache::is_current(const Subject& subject, const EntryHead& head,
                             std::atomic<std::uint32_t>& checked) const {
  const ObjectVersion made_from{head.object_bytes, head.modified_ns};
  if (!subject.is_asked_for) return !subject.indexed || made_from == *subject.indexed;
  if (checked.load(std::memory_order_relaxed) == own_mark_) return true;
  const auto now = subject.store.stat(subject.object);
  if (!now || *now != made_from) return false;
  checked.store(own_mark_, std::memory_order_relaxed);
  return true;
}

std::optional<SampleCache::Value> SampleCache::find(const Subject& subject, const CacheTier::Room& room,
                                                    CacheCounters& counters) const {
  const Clock::time_point began = Clock::now();
  wanted_->note_looked();
  if (auto hit = cache_->find(subject.key, room)) {
    const ConstBytes entry = hit->found.bytes;
    Value value;
    if (entry.size() >= sizeof(EntryHead)) std::memcpy(&value.head, entry.data(), sizeof(EntryHead));
    if (is_sound(value.head, subject.key, entry.size()) &&
        is_current(subject, value.head, *hit->found.checked)) {
      value.bytes = entry.subspan(sizeof(EntryHead));
      value.held = std::move(hit->found.held);
      CacheCounters::Tier& tier = counters.tiers[hit->tier];
      tier.hits.add(1);
      tier.bytes.add(value.bytes.size());
      const auto took = cost_since(began);
      tier.saved_nanoseconds.add(value.head.cost_ns - std::min(value.head.cost_ns, took));
      return value;
    }
    cache_->withdraw(subject.key);
  }
  counters.misses.add(1);
  return std::nullopt;
}

Result<bool> SampleCache::add(const Subject& subject, const ObjectVersion& version, std::uint64_t bytes,
                              const Fill& fill, const CacheTier::Room& room) const {
  const auto write = [&](MutableBytes entry) -> Status {
    EntryHead head;
    head.key = subject.key;
    head.bytes = bytes;
    head.object_bytes = version.size;
    head.modified_ns = version.modified_ns;
    PENSTOCK_CHECK(fill(entry.subspan(sizeof(EntryHead)), head));
    std::memcpy(entry.data(), &head, sizeof(EntryHead));
    return {};
  };
  auto added = cache_->add(subject.key, sizeof(EntryHead) + bytes, write, room);
  if (added && *added) wanted_->note_added();
  return added;
}

void SampleCache::start_epoch(std::uint64_t samples) {
  admission_.start(samples * keys_->pictures_per_sample());
  wanted_->start_epoch();
  cache_->look_again();
}

bool SampleCache::wants_pixels(double share, std::uint64_t bytes) const {
  return admission_.lets_in(share, bytes, cache_->free_bytes());
}

bool SampleCache::has_sample(std::uint64_t sample) const {
  return keys_->every_key(sample, [this](const EntryKey& key) { return cache_->has(key); });
}

void SampleCache::expect_sample(std::uint64_t sample) const {
  keys_->every_key(sample, [this](const EntryKey& key) {
    cache_->expect(key);
    return true;
  });
}

CacheTier::Room room_for_kept(Scratch& scratch) {
  return [&scratch](std::size_t bytes) -> Result<MutableBytes> {
    const auto memory = scratch.get(kScratchCached, bytes);
    if (!memory) return memory;
    return memory->first(bytes);
  };
}

}  // namespace penstock
