#include "source/records/record_source.h"

#include <algorithm>
#include <deque>

#include "base/limits.h"
#include "source/records/started_read.h"

namespace penstock {
namespace {

// The minimum size of a run of samples that is read, or must be decompressed, as a whole. It determines the order
// of a windowed shuffle, so changing it changes that order.
constexpr std::uint64_t kRecordUnitBytes = 4 << 20;
// For samples that opening examines; a single one may be larger.
constexpr std::uint64_t kRecordAheadBytes = 32 << 20;
constexpr std::uint64_t kPieceBytes = 256 << 10;  // decompressed at a time
constexpr std::string_view kExaminingSample = "looking at a sample to find out its fields";

Status check_size(const Extent& extent) {
  if (extent.length <= Limits{}.encoded_bytes) return {};
  return fail(ErrorCode::kTooLarge, "larger than a sample may be", where_of(extent));
}

// Divides the samples of every shard into runs of at least kRecordUnitBytes. Calls the function with the shard and
// [first, last).
template <typename Function>
void for_each_run(const RecordIndex& index, Function function) {
  for (std::size_t shard = 0; shard < index.shards().size(); ++shard) {
    const std::uint64_t begin = index.shards()[shard].first_sample,
                        end = begin + index.samples_of_shard(shard);
    std::uint64_t first = begin, from = 0;
    for (std::uint64_t sample = begin; sample < end; ++sample) {
      const auto head = index.member(sample, 0);
      const auto tail = index.member(sample, index.member_count(sample) - 1);
      if (sample == first) from = head.offset;
      if (tail.offset + tail.length - from < kRecordUnitBytes && sample + 1 < end) continue;
      function(shard, first, sample + 1, from, tail.offset + tail.length);
      first = sample + 1;
    }
  }
}

}  // namespace

RecordSource::RecordSource(std::shared_ptr<const Store> store, std::string uri, OpenedIndex opened, bool verify)
    : index_(std::move(opened.index)),
      packed_(std::move(opened.packed)),
      store_(std::move(store)),
      uri_(std::move(uri)),
      verify_index_(verify) {
  for (const ShardInfo& shard : index_.shards())
    compressed_ = compressed_ || compression_of_name(shard.path) != Compression::kNone;
  storage_.stores = {store_};
  storage_.stored_bytes = index_.stored_bytes();
  storage_.index_was_saved = opened.was_saved;
  storage_.shares_units = compressed_;
  cut_into_units();
}

// If one shard is compressed, all of them become streams, because an order cannot treat some samples differently.
void RecordSource::cut_into_units() {
  if (compressed_)
    for (const ShardInfo& shard : index_.shards())
      storage_.streams.push_back(
          {shard.path, shard.version.modified_ns, shard.version.size, shard.checksums, store_.get()});
  auto units = std::make_shared<StorageUnits>();
  for_each_run(index_, [&](std::size_t shard, std::uint64_t first, std::uint64_t last, std::uint64_t begin_byte,
                           std::uint64_t end_byte) {
    units->first_sample.push_back(first);
    if (!compressed_) return;
    const auto stream = static_cast<std::uint32_t>(shard);
    units->stream.push_back(stream);
    storage_.blocks.push_back({stream, begin_byte, end_byte});
    block_ends_.push_back(last);
  });
  units->first_sample.push_back(size());
  storage_.units = std::move(units);
}

std::uint64_t RecordSource::stored_bytes_of(std::uint64_t sample) const {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < index_.member_count(sample); ++i) sum += index_.member(sample, i).length;
  return sum;
}

Extent RecordSource::extent_of(std::uint64_t sample, std::uint64_t number) const {
  const RecordIndex::Member member = index_.member(sample, number);
  const ShardInfo& shard = index_.shards()[index_.shard_of(sample)];
  std::int64_t block = -1;
  if (compressed_) block = std::ranges::upper_bound(block_ends_, sample) - block_ends_.begin();
  return {shard.path,         member.offset, member.length, shard.version.modified_ns,
          shard.version.size, true,          block,         store_.get(),
          verify_index_ ? index_.checksum(sample, number) : std::nullopt};
}

Result<RecordSource::ReadBytes> RecordSource::read(const Extent& extent) const {
  PENSTOCK_CHECK(check_size(extent));
  const Compression compression = compression_of_name(extent.object);
  ReadBytes read;
  PENSTOCK_CHECK(read.reservation.add(extent.length + memory_of_reader(compression), kExaminingSample, where_of(extent)));
  auto object = store_->open(extent.object);
  if (!object) return std::unexpected(std::move(object).error());
  if (compression == Compression::kNone) {
    read.bytes.resize(extent.length);
    PENSTOCK_CHECK((*object)->read_at(extent.offset, read.bytes));
    return read;
  }
  const auto reader = make_forward_reader(**object, extent.object, compression);
  read.bytes.reserve(extent.length);
  while (read.bytes.size() < extent.length) {
    const std::uint64_t at = read.bytes.size();
    const auto piece = reader->at(extent.offset + at, std::min(kPieceBytes, extent.length - at));
    if (!piece) return std::unexpected(piece.error());
    if (piece->empty()) return fail(ErrorCode::kTruncated, "shard ends within a sample", where_of(extent));
    read.bytes.insert(read.bytes.end(), piece->begin(), piece->end());
  }
  return read;
}

void RecordSource::read_each(const std::vector<Extent>& extents,
                             const std::function<void(std::size_t, Result<ConstBytes>)>& look) const {
  const bool alone = compressed_ || store_->reads_ahead() == 0;
  struct UnderWay {
    UnderWay(OpeningReservation reserved, const Store& store, ObjectRead wanted)
        : reservation(std::move(reserved)),
          read(store, std::move(wanted)) {}
    OpeningReservation reservation;  // is released after the read has ended
    StartedRead read;
  };
  const std::uint64_t max_ahead = std::min(kRecordAheadBytes, OpeningMemory::at_most(UINT64_MAX) / 4);
  std::deque<UnderWay> under_way;
  std::uint64_t held_bytes = 0;
  std::size_t next = 0;
  const auto start_next = [&]() -> Status {
    const Extent& e = extents[next];
    PENSTOCK_CHECK(check_size(e));
    OpeningReservation reservation;
    PENSTOCK_CHECK(reservation.add(e.length, kExaminingSample, where_of(e)));
    under_way.emplace_back(
        std::move(reservation), *store_,
        ObjectRead{
            e.object, {e.offset, e.length, false}, e.length, ObjectVersion{e.object_bytes, e.modified_ns}});
    held_bytes += e.length;
    ++next;
    return {};
  };
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (alone) {
      const auto bytes = read(extents[i]);
      look(i, bytes ? Result<ConstBytes>(bytes->bytes) : std::unexpected(bytes.error()));
      continue;
    }
    if (under_way.empty())
      if (const Status started = start_next(); !started) {
        look(i, std::unexpected(started.error()));
        ++next;
        continue;
      }
    while (next < extents.size() && held_bytes + extents[next].length <= max_ahead && start_next()) {
    }
    look(i, under_way.front().read.wait());
    under_way.pop_front();
    held_bytes -= extents[i].length;
  }
}

}  // namespace penstock
