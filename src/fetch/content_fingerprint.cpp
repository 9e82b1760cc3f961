#include "fetch/content_fingerprint.h"

#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "penstock/interruption.h"
#include "fetch/lookahead.h"
#include "source/chunked_array.h"
#include "source/extent.h"
#include "source/records/started_read.h"

namespace penstock {
namespace {

constexpr std::uint64_t kProbes = 16, kProbeBytes = 4096;
constexpr std::uint64_t kBytesPerChecksum = 1 << 20;  // uncompressed bytes of a shard that one checksum covers
constexpr std::uint64_t kNothingStored = 0x6E6F6E65;

// A part of the data that is hashed: bytes that must be read, or a number that is already known.
struct Probe {
  std::uint64_t known = 0;
  const Store* store = nullptr;  // nullptr: nothing is read, and `known` is hashed alone
  ObjectRead read;
};

// Returns point `number` of `count` points between 0 and `last`: the first is 0, the last is `last`, and the others
// divide the range evenly.
std::uint64_t spread(std::uint64_t last, std::uint64_t number, std::uint64_t count) {
  if (count < 2) return last / 2;
  const std::uint64_t steps = count - 1;
  return last / steps * number + last % steps * number / steps;
}

Probe probe_within(const Store& store, std::string object, std::uint64_t offset, std::uint64_t length,
                   std::uint64_t number, std::uint64_t count) {
  const std::uint64_t bytes = std::min(length, kProbeBytes);
  if (bytes == 0) return {kNothingStored, nullptr, {}};
  ObjectRead read;
  read.key = std::move(object);
  read.range = {offset + spread(length - bytes, number, count), bytes};
  read.max_bytes = bytes;
  return {0, &store, std::move(read)};
}

// Joins samples of a few bytes that are stored one after another, so that the probe is not tiny.
Extent with_neighbours(const Source& source, std::size_t field, std::uint64_t sample, Extent extent) {
  while (extent.length < kProbeBytes && ++sample < source.size()) {
    const auto next = source.extent(sample, field);
    if (!next || next->object != extent.object || next->offset != extent.offset + extent.length) break;
    extent.length += next->length;
  }
  return extent;
}

Result<Probe> probe_of_extent(const Source& source, std::size_t field, std::uint64_t sample,
                              std::uint64_t number, std::uint64_t count) {
  auto found = source.extent(sample, field);
  if (!found) return std::unexpected(std::move(found).error());
  Extent extent = std::move(*found);
  if (extent.block >= 0) {
    const StreamBlock& block = source.storage().blocks[static_cast<std::size_t>(extent.block)];
    const auto checksums = source.storage().streams[block.stream].checksums;
    const std::uint64_t at = extent.offset / kBytesPerChecksum;
    return Probe{at < checksums.size() ? checksums[at] : kNothingStored, nullptr, {}};
  }
  if (source.fields()[field].form == FieldForm::kElements)
    extent = with_neighbours(source, field, sample, std::move(extent));
  if (extent.modified_ns == Extent::kUnknown && !extent.shared_object) {
    const auto version = extent.store->stat(extent.object);
    if (!version) return std::unexpected(version.error());
    extent.length = version->size;
  }
  return probe_within(*extent.store, extent.object, extent.offset, extent.length, number, count);
}

Result<Probe> probe_of_chunk(const Source& source, std::size_t field, std::uint64_t sample,
                             std::uint64_t number, std::uint64_t count) {
  const std::vector<ChunkId> chunks = chunks_of(source, std::span(&field, 1), sample);
  if (chunks.empty()) return Probe{kNothingStored, nullptr, {}};
  const ChunkId chunk = chunks[spread(chunks.size() - 1, number, count)];
  const ChunkedArray& array = *source.storage().arrays[chunk.array];
  const auto location = array.location(chunk.number);
  if (!location) return std::unexpected(location.error());
  if (location->is_missing) return Probe{kNothingStored, nullptr, {}};
  ByteRange range = location->read.range;
  if (range.length == ByteRange::kToTheEnd || range.from_end) {
    const auto version = array.store().stat(location->read.key);
    if (!version && version.error().code == ErrorCode::kNotFound) return Probe{kNothingStored, nullptr, {}};
    if (!version) return std::unexpected(version.error());
    if (range.from_end) range.offset = version->size - std::min(version->size, range.length);
    range.length = version->size - std::min(version->size, range.offset);
  }
  return probe_within(array.store(), location->read.key, range.offset, range.length, number, count);
}

std::uint64_t hash_numbers(const IndexValue& value, std::uint64_t hash) {
  const auto of_bytes = [&](const void* data, std::size_t bytes) {
    return hash_text({static_cast<const char*>(data), bytes}, hash);
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return of_bytes(integer, sizeof *integer);
  if (const auto* real = std::get_if<double>(&value)) return of_bytes(real, sizeof *real);
  if (const auto* short_real = std::get_if<float>(&value)) return of_bytes(short_real, sizeof *short_real);
  if (const auto* several = std::get_if<std::vector<std::int64_t>>(&value))
    return of_bytes(several->data(), several->size() * sizeof(std::int64_t));
  return hash;  // texts are not hashed, because they may be paths
}

// Returns a probe of one field of the sample. The number of the probe selects the field, so that all fields have their
// turn; a field that this sample lacks is passed over.
Result<Probe> choose_probe(const Source& source, std::span<const std::size_t> stored, std::uint64_t sample,
                           std::uint64_t number, std::uint64_t count) {
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::size_t field = stored[(number + i) % stored.size()];
    const bool is_chunked = source.fields()[field].form == FieldForm::kChunks;
    auto probe = is_chunked ? probe_of_chunk(source, field, sample, number, count)
                            : probe_of_extent(source, field, sample, number, count);
    const bool lacks_field = !probe && probe.error().code == ErrorCode::kNotFound &&
                             !source.fields()[field].is_everywhere;
    if (!lacks_field) return probe;
  }
  return Probe{kNothingStored, nullptr, {}};
}

}  // namespace

Result<std::uint64_t> content_fingerprint(const Source& source) {
  std::vector<std::size_t> stored, indexed;
  for (std::size_t field = 0; field < source.fields().size(); ++field)
    (source.fields()[field].form == FieldForm::kIndex ? indexed : stored).push_back(field);
  const std::uint64_t count = std::min(source.size(), kProbes);
  std::uint64_t hash = mix64(count);
  std::vector<Probe> probes;
  for (std::uint64_t number = 0; number < count; ++number) {
    PENSTOCK_CHECK(check_interruption(source.uri()));
    const std::uint64_t sample = spread(source.size() - 1, number, count);
    for (const std::size_t field : indexed) hash = hash_numbers(source.value(sample, field), hash);
    auto probe = choose_probe(source, stored, sample, number, count);
    if (!probe) return std::unexpected(std::move(probe).error());
    probes.push_back(std::move(*probe));
  }
  std::vector<std::unique_ptr<StartedRead>> reads;
  for (const Probe& probe : probes)
    reads.push_back(probe.store ? std::make_unique<StartedRead>(*probe.store, probe.read) : nullptr);
  for (std::size_t i = 0; i < probes.size(); ++i) {
    hash = mix64(hash ^ probes[i].known);
    if (!reads[i]) continue;
    const auto bytes = reads[i]->wait();
    if (!bytes) return std::unexpected(bytes.error());
    hash = hash_text({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, hash);
  }
  return std::max<std::uint64_t>(hash, 1);
}

}  // namespace penstock
