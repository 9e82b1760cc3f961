#include "fetch/entries/sample_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "fetch/read_ahead.h"
#include "plan/sample_plan.h"
#include "source/chunked_array.h"
#include "source/extent.h"
#include "transform/op.h"

namespace penstock {
namespace {

// Returns a moment, counted in this process, that is later than all moments before.
std::uint32_t next_moment() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

// A server may send neither ETag nor Last-Modified; then versions cannot be compared.
bool is_comparable(const SampleCache::Subject& subject, const EntryHead& head) {
  return !subject.is_remote || head.modified_ns != 0;
}

// The store may be distant, and the loader may be closed before it answers. Asking through `ahead` lets the loader
// cancel the request.
Result<ObjectVersion> version_now(const SampleCache::Subject& subject, ReadAhead* ahead) {
  if (!subject.is_remote || ahead == nullptr) return subject.store.stat(subject.object);
  if (auto taken = ahead->take_version(subject.object)) {
    if (!*taken) return std::unexpected(std::move(*taken).error());
    return (*taken)->version;
  }
  const auto got = ahead->read(subject.store, version_read(subject.object), [](std::size_t) -> Result<MutableBytes> {
    return fail(ErrorCode::kNoMemory, "a version has no bytes");
  });
  if (!got) return std::unexpected(got.error());
  return got->version;
}

// Checks the sizes in the head of an entry, because those of a damaged entry could lead outside its bytes.
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
      is_remote_(source_->storage().reads_ahead() > 0),
      opened_at_(next_moment()),
      epoch_began_at_(opened_at_),
      keys_(std::make_shared<const SampleKeys>(plan, form)),
      wanted_(std::make_shared<WantedSamples>(keys_)) {
  cache_->add_wanted(wanted_);
}

SampleCache::~SampleCache() {
  wanted_->end();
  cache_->look_again();
}

SampleCache::Subject SampleCache::subject(std::size_t field, const Extent& extent) const {
  const bool is_remote = extent.store->reads_ahead() > 0;
  Subject subject{keys_->of(field, extent), *extent.store, extent.object, std::nullopt,
                  extent.shared_object,     is_remote};
  // A file that is one sample may be newer than a saved index. A shard may not, because its samples would be at other
  // offsets.
  if (extent.modified_ns != Extent::kUnknown &&
      (extent.shared_object || is_remote || !source_->storage().index_was_saved))
    subject.indexed = ObjectVersion{extent.object_bytes, extent.modified_ns};
  subject.since = is_remote ? opened_at_ : epoch_began_at_.load(std::memory_order_relaxed);
  return subject;
}

SampleCache::Subject SampleCache::subject(const ChunkId& chunk) const {
  const ChunkedArray& array = *source_->storage().arrays[chunk.array];
  ChunkedArray::Holder holder = array.holder(chunk.number);
  const bool is_remote = array.store().reads_ahead() > 0;
  return {keys_->of(chunk), array.store(), std::move(holder.object), holder.version, true, is_remote,
          is_remote ? opened_at_ : epoch_began_at_.load(std::memory_order_relaxed)};
}

std::optional<ArraySpec> SampleCache::Value::spec() const {
  if (head.has_spec == 0) return std::nullopt;
  return ArraySpec{head.dtype, {head.shape.begin(), head.shape.begin() + head.rank}};
}

// Compares the version in the entry with that in the loader's index. If the index has none, or may be out of date, the
// version is compared with the object itself, unless this process has done so lately.
SampleCache::Freshness SampleCache::freshness(const Subject& subject, const EntryHead& head,
                                              const EntryMark& mark, ReadAhead* ahead) const {
  const ObjectVersion version = version_of(head);
  if (subject.indexed && version != *subject.indexed) return Freshness::kStale;
  if (!revalidates() || mark.moment() >= subject.since) return Freshness::kCurrent;
  if (!is_comparable(subject, head)) {
    note_no_versions();
    return Freshness::kUnknown;
  }
  // The index of objects on a server was made when the loader was opened, so its versions are current.
  if (subject.is_remote && subject.indexed) return Freshness::kCurrent;
  if (!subject.is_shared || !checks_.is_version(subject.object, subject.since, version)) {
    const auto now = version_now(subject, ahead);
    if (!now) return now.error().code == ErrorCode::kNotFound ? Freshness::kStale : Freshness::kUnknown;
    if (subject.is_shared) checks_.note(subject.object, subject.since, *now);
    if (!now->is_exactly(version)) return Freshness::kStale;
  }
  mark.set(subject.since);
  return Freshness::kCurrent;
}

void SampleCache::note_no_versions() const {
  if (has_no_versions_.exchange(true, std::memory_order_relaxed) || !is_on_disk()) return;
  cache_->warn_of_no_version(
      fmt::format("{}: the server says neither ETag nor Last-Modified of its objects, so nobody can tell when one "
                  "changes: they are cached in memory alone, not on disk (give the Cache revalidate=False where "
                  "they never change)",
                  source_->uri()));
}

bool SampleCache::is_usable(const EntryKey& key) const {
  if (!has_no_versions_.load(std::memory_order_relaxed)) return cache_->has(key);
  return cache_->marked_at(key).value_or(0) >= opened_at_;
}

std::optional<ObjectRead> SampleCache::question(const Subject& subject) const {
  if (!revalidates() || !subject.is_remote || subject.indexed) return std::nullopt;
  const auto marked_at = cache_->marked_at(subject.key);
  if (!marked_at || *marked_at >= subject.since) return std::nullopt;
  if (checks_.was_looked_at(subject.object, subject.since)) return std::nullopt;
  return version_read(subject.object);
}

std::optional<ObjectRead> SampleCache::question(const ChunkId& chunk) const {
  return question(subject(chunk));
}

std::vector<ObjectRead> SampleCache::questions(std::uint64_t sample) const {
  std::vector<ObjectRead> all;
  if (!is_remote_ || !revalidates()) return all;
  keys_->every_extent(sample, [&](std::size_t field, const Extent& extent) {
    if (auto one = question(subject(field, extent))) all.push_back(std::move(*one));
  });
  return all;
}

std::optional<SampleCache::Value> SampleCache::find(const Subject& subject, const CacheTier::Allocate& allocate,
                                                    CacheCounters& counters, ReadAhead* ahead) const {
  const Clock::time_point began = Clock::now();
  wanted_->note_looked();
  // Values are made on the host, so an entry that is anywhere else is no use.
  if (auto hit = cache_->find(subject.key, allocate, EntryReader::kHost); hit && hit->found.is_on_host()) {
    const ConstBytes entry = hit->found.bytes;
    Value value;
    if (entry.size() >= sizeof(EntryHead)) std::memcpy(&value.head, entry.data(), sizeof(EntryHead));
    const bool is_entry = is_sound(value.head, subject.key, entry.size());
    const Freshness found = is_entry ? freshness(subject, value.head, hit->found.mark, ahead) : Freshness::kStale;
    if (found == Freshness::kCurrent) {
      value.bytes = entry.subspan(sizeof(EntryHead));
      value.held = std::move(hit->found.held);
      CacheCounters::Tier& tier = counters.tiers[hit->tier];
      tier.hits.add(1);
      tier.bytes.add(value.bytes.size());
      const auto took = cost_since(began);
      tier.saved_nanoseconds.add(value.head.cost_ns - std::min(value.head.cost_ns, took));
      return value;
    }
    if (found == Freshness::kStale) cache_->withdraw(subject.key);
  }
  counters.misses.add(1);
  return std::nullopt;
}

Result<bool> SampleCache::add(const Subject& subject, const ObjectVersion& version, std::uint64_t bytes,
                              const Fill& fill, const CacheTier::Allocate& allocate) const {
  // An object on a server was read after the loader was opened, so its entry is current for this loader. Files are
  // checked again in each epoch.
  TieredCache::Keeping keeping;
  if (subject.is_remote) keeping.moment = opened_at_;
  keeping.stays_in_memory = subject.is_remote && revalidates() && has_no_versions_.load();
  const auto write = [&](MutableBytes entry) -> Status {
    EntryHead head;
    head.key = subject.key;
    head.bytes = bytes;
    set_version(head, version);
    PENSTOCK_CHECK(fill(entry.subspan(sizeof(EntryHead)), head));
    head.stays_in_memory = keeping.stays_in_memory ? 1 : 0;
    if (revalidates() && !keeping.stays_in_memory && !is_comparable(subject, head)) {
      note_no_versions();
      return fail(ErrorCode::kUnsupported, "an entry without a version stays in memory");
    }
    std::memcpy(entry.data(), &head, sizeof(EntryHead));
    return {};
  };
  auto added = cache_->add(subject.key, sizeof(EntryHead) + bytes, write, allocate, keeping);
  if (added && *added) wanted_->note_added();
  return added;
}

void SampleCache::start_epoch(std::uint64_t samples) {
  admission_.start(samples * keys_->pictures_per_sample());
  epoch_began_at_ = next_moment();
  wanted_->start_epoch();
  cache_->look_again();
}

bool SampleCache::wants_pixels(double share, std::uint64_t bytes) const {
  return admission_.admits(share, bytes, cache_->free_bytes());
}

bool SampleCache::has_sample(std::uint64_t sample) const {
  return keys_->every_key(sample, [this](const EntryKey& key) { return is_usable(key); });
}

void SampleCache::expect_sample(std::uint64_t sample) const {
  keys_->every_key(sample, [this](const EntryKey& key) {
    cache_->expect(key);
    return true;
  });
}

CacheTier::Allocate cached_value_allocator(Scratch& scratch) {
  return [&scratch](std::size_t bytes) -> Result<MutableBytes> {
    const auto memory = scratch.get(kScratchCached, bytes);
    if (!memory) return memory;
    return memory->first(bytes);
  };
}

}  // namespace penstock
