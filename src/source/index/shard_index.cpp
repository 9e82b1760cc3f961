#include "source/index/shard_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <optional>
#include <thread>

#include "base/guarded.h"
#include "base/machine.h"
#include "base/memory/opening_memory.h"
#include "penstock/interruption.h"
#include "source/index/saved_index.h"
#include "source/packed/read_portable_index.h"
#include "source/records/ahead_object.h"
#include "store/key_path.h"

namespace penstock {
namespace {

constexpr auto kShardProgressEvery = std::chrono::milliseconds(100);
constexpr std::uint64_t kAheadBytes = 64 << 20;  // read ahead from remote shards, shared by all scans

// The number of concurrent scans that fit into half of the memory budget of opening.
unsigned concurrent_scans(const ShardSet& set) {
  std::uint64_t each = 0;
  for (const std::string& path : set.paths) each = std::max(each, memory_of_reader(compression_of_name(path)));
  const std::uint64_t fit = std::max<std::uint64_t>(1, OpeningMemory::at_most(UINT64_MAX) / 2 / each);
  return static_cast<unsigned>(std::min<std::uint64_t>(
      {std::clamp(usable_cpus() * 2, 2u, 16u), std::max<std::uint64_t>(1, set.paths.size()), fit}));
}

// Without this check, a compressed shard with a plain name would be reported as damaged.
Status check_named_by_compression(ForwardReader& reader, const std::string& path) {
  constexpr std::array kGzip{std::byte{0x1F}, std::byte{0x8B}};
  constexpr std::array kZstd{std::byte{0x28}, std::byte{0xB5}, std::byte{0x2F}, std::byte{0xFD}};
  if (compression_of_name(path) != Compression::kNone) return {};
  const auto magic = reader.at(0, kZstd.size());
  if (!magic) return std::unexpected(magic.error());
  const bool gzip = magic->size() == kZstd.size() && std::ranges::equal(magic->first(kGzip.size()), kGzip);
  if (!gzip && !std::ranges::equal(*magic, kZstd)) return {};
  return fail(ErrorCode::kUnsupported,
              fmt::format("compressed, though its name does not say so; name it {}", gzip ? ".gz" : ".zst"),
              {path, 0, static_cast<std::int64_t>(magic->size()), -1});
}

// Reads a compressed stream to its end, which verifies its own checksum and completes ours.
Status read_rest(ForwardReader& reader) {
  for (std::uint64_t at = reader.end();; at = reader.end()) {
    const auto rest = reader.at(at, 1);
    if (!rest) return std::unexpected(rest.error());
    if (rest->empty()) return {};
  }
}

// Scans several shards concurrently, because a scan is a long sequence of short reads.
class ShardScans {
 public:
  // `has_indexes`: indexes may lie beside the shards.
  ShardScans(const Store& store, const ShardSet& set, const ScanShard& scan, bool has_indexes)
      : store_(store),
        set_(set),
        scan_(scan),
        has_indexes_(has_indexes),
        threads_(concurrent_scans(set)),
        ahead_bytes_(std::min(kAheadBytes, OpeningMemory::at_most(UINT64_MAX) / 4) / threads_),
        contents(set.paths.size()),
        versions(set.paths.size()),
        errors(set.paths.size()) {}

  Status run(const OpenOptions& options) {
    std::vector<std::jthread> pool;
    for (unsigned t = 0; t < threads_; ++t)
      pool.emplace_back([this, &options, memory = OpeningMemory::current()] {
        const Interruption::Scope scope(&stop_scans_);
        const OpeningMemory::Scope memory_scope(memory);
        work(!options.on_bad_shard);
      });
    while (!finishes_within(kShardProgressEvery)) {
      if (Interruption::is_requested() ||
          (options.progress && !options.progress(seen_.load(std::memory_order_relaxed)))) {
        stop_ = stopped_ = true;
        stop_scans_.request();
      }
    }
    if (stopped_) return fail(ErrorCode::kStopped, "stopped while indexing", {set_.uri, -1, -1, -1});
    return {};
  }

 private:
  // Waits for the threads, and returns whether all of them have finished.
  bool finishes_within(std::chrono::milliseconds patience) PENSTOCK_EXCLUDES(mutex_) {
    const auto deadline = ConditionVariable::Clock::now() + patience;
    const MutexLock lock(mutex_);
    while (running_ > 0 && finished_.wait_until(mutex_, deadline)) {
    }
    return running_ == 0;
  }

  void work(bool stop_at_error) PENSTOCK_EXCLUDES(mutex_) {
    while (!stop_) {
      const std::size_t shard = next_++;
      if (shard >= set_.paths.size()) break;
      Status status;
      try {
        status = scan_one(shard);
      } catch (const std::bad_alloc&) {
        status =
            fail(ErrorCode::kNoMemory, "no memory left to index the shard", {set_.paths[shard], 0, 0, -1});
      }
      if (!status) {
        errors[shard] = std::move(status).error();
        if (stop_at_error) stop_ = true;
      }
      seen_.fetch_add(contents[shard].samples(), std::memory_order_relaxed);
    }
    const MutexLock lock(mutex_);
    if (--running_ == 0) finished_.notify_all();
  }

  Status scan_one(std::size_t shard) {
    const std::string& path = set_.paths[shard];
    OpeningReservation reservation;
    PENSTOCK_CHECK(reservation.add(memory_of_reader(compression_of_name(path)), "reading a shard",
                                   {path, -1, -1, -1}));
    const bool is_declared = !set_.declared.empty();
    auto object = open_ahead(store_, path, is_declared ? std::min(ahead_bytes_, set_.declared[shard].table_bytes) : ahead_bytes_);
    if (!object) return std::unexpected(std::move(object).error());
    versions[shard] = (*object)->version();
    contents[shard].growth = IndexGrowth(path, versions[shard].size);
    if (has_indexes_) {
      auto index = set_.description.empty() ? read_portable_index(store_, path, versions[shard])
                                            : read_index_of_pack(store_, path, versions[shard], set_.description);
      if (!index) return std::unexpected(std::move(index).error());
      if (*index) return take_contents(std::move(**index), contents[shard]);
    }
    if (is_declared) PENSTOCK_CHECK(check_size(shard));
    const auto reader = make_forward_reader(**object, path, compression_of_name(path));
    if (!is_declared) PENSTOCK_CHECK(check_named_by_compression(*reader, path));
    PENSTOCK_CHECK(scan_(*reader, path, contents[shard]));
    if (!is_declared) {
      PENSTOCK_CHECK(read_rest(*reader));
      contents[shard].checksums = reader->checksums();
    }
    const auto now = (*object)->version_now();
    if (now && *now != versions[shard])
      return fail(ErrorCode::kChanged, "shard changed while it was indexed",
                  {path, 0, static_cast<std::int64_t>(now->size), -1});
    return {};
  }

  Status check_size(std::size_t shard) const {
    const std::uint64_t size = versions[shard].size, declared = set_.declared[shard].size_bytes;
    if (size == declared) return {};
    return fail(size < declared ? ErrorCode::kTruncated : ErrorCode::kCorrupt,
                fmt::format("shard of {} bytes, its index says {}", size, declared),
                {set_.paths[shard], static_cast<std::int64_t>(std::min(size, declared)), 0, -1});
  }

  const Store& store_;
  const ShardSet& set_;
  const ScanShard& scan_;
  const bool has_indexes_;
  const unsigned threads_;
  const std::uint64_t ahead_bytes_;  // per scan
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> seen_{0};
  std::atomic<bool> stop_{false}, stopped_{false};
  Interruption stop_scans_;  // stops the threads, which may be in the middle of a shard
  Mutex mutex_;
  ConditionVariable finished_;
  unsigned running_ PENSTOCK_GUARDED_BY(mutex_) = threads_;

 public:
  std::vector<ShardContents> contents;  // one per shard
  std::vector<ObjectVersion> versions;
  std::vector<std::optional<Error>> errors;
};

// What the indexes beside the shards say in common; nullptr unless all shards are of one packed data set. Shards without
// samples count as well, so that a data set that was packed of few samples is whole.
std::shared_ptr<const PackedShards> find_packed(const std::vector<ShardContents>& contents,
                                                const std::vector<std::string>& paths) {
  if (contents.empty() || contents.front().description.empty()) return nullptr;
  const std::string& text = contents.front().description;
  if (!std::ranges::all_of(contents, [&](const ShardContents& shard) { return shard.description == text; })) return nullptr;
  auto description = PackDescription::parse(text, portable_index_of(paths.front()));
  if (!description) return nullptr;
  auto packed = std::make_shared<PackedShards>();
  packed->description = std::move(*description);
  std::vector<std::string> names;  // in the order in which RecordIndex::build() numbers them
  for (const ShardContents& shard : contents)
    for (std::size_t i = 0; i < shard.field_names.size(); ++i) {
      const auto found = std::ranges::find(names, shard.field_names[i]);
      const bool is_new = found == names.end();
      const std::uint32_t field = shard.packed_fields[i];
      if (field != PortableIndex::kAllFields && field >= packed->description.fields.size()) return nullptr;
      if (!is_new && packed->field_of_name[static_cast<std::size_t>(found - names.begin())] != field) return nullptr;
      if (!is_new) continue;
      names.push_back(shard.field_names[i]);
      packed->field_of_name.push_back(field);
    }
  return packed;
}

enum class Fit : std::uint8_t { kSame, kOtherShards, kChanged };

Fit fit_of(const Store& store, const ShardSet& set, const RecordIndex& index) {
  if (!std::ranges::equal(index.shards(), set.paths, {}, &ShardInfo::path)) return Fit::kOtherShards;
  const bool same = std::ranges::all_of(index.shards(), [&](const ShardInfo& shard) {
    if (Interruption::is_requested()) return false;
    const auto version = store.stat(shard.path);
    return version && *version == shard.version;
  });
  return same ? Fit::kSame : Fit::kChanged;
}

// Whether the shard equals the one of the old index except that samples are missing at its end.
std::optional<Error> lost_tail(const RecordIndex& old, const std::string& path, const ShardContents& now,
                               const ObjectVersion& version, const std::string& saved_index_path) {
  const auto known = std::ranges::find(old.shards(), path, &ShardInfo::path);
  if (known == old.shards().end() || version.size >= known->version.size) return std::nullopt;
  const auto shard = static_cast<std::size_t>(known - old.shards().begin());
  const std::uint64_t count = old.samples_of_shard(shard);
  if (now.samples() >= count) return std::nullopt;
  std::uint64_t member_number = 0;
  for (std::uint64_t sample = 0; sample < now.samples(); ++sample)
    for (std::uint64_t i = 0; i < old.member_count(known->first_sample + sample); ++i, ++member_number) {
      const auto member = old.member(known->first_sample + sample, i);
      if (member_number >= now.offsets.size() || member.offset != now.offsets[member_number] ||
          member.length != now.lengths[member_number])
        return std::nullopt;
    }
  return Error{ErrorCode::kTruncated,
               fmt::format("shard ends after {} samples, its index knows {}: it was cut (if it was meant to "
                           "be, remove {})",
                           now.samples(), count, saved_index_path),
               {path, static_cast<std::int64_t>(version.size),
                static_cast<std::int64_t>(known->version.size - version.size),
                static_cast<std::int64_t>(known->first_sample + now.samples())},
               false};
}

}  // namespace

ShardSet shard_set(const OpenRequest& request, std::string kind) {
  ShardSet shards{request.uri, request.identity, std::move(kind), {}, request.description};
  for (const std::string& path : request.paths) shards.paths.push_back(absolute_key(path));
  return shards;
}

Result<OpenedIndex> open_shard_index(const Store& store, const ShardSet& set, const OpenOptions& options,
                                     const ScanShard& scan) {
  OpenedIndex opened;
  // The first shard decides, so that shards without indexes cost one question and not one each.
  const auto has_indexes = !set.description.empty() ? Result<bool>(true)
                           : set.paths.empty() || compression_of_name(set.paths.front()) != Compression::kNone
                               ? Result<bool>(false)
                               : has_portable_index(store, set.paths.front());
  if (!has_indexes) return std::unexpected(has_indexes.error());
  // An index that lies beside its shard is not saved once more. It has checksums, which a saved index may lack.
  if (options.keep_index && !*has_indexes) opened.saved_index_path = saved_index_path(options.cache_dir, set.identity, set.kind);
  std::optional<RecordIndex> old;
  if (!opened.saved_index_path.empty())
    if (auto bytes = read_saved_index(opened.saved_index_path)) {
      auto saved = RecordIndex::parse(std::move(*bytes));
      const Fit fit = saved ? fit_of(store, set, *saved) : Fit::kChanged;
      PENSTOCK_CHECK(check_interruption(set.uri));
      if (fit == Fit::kSame) {
        opened.index = std::move(*saved);
        opened.was_saved = true;
        return opened;
      }
      if (options.warn)
        options.warn(
            fmt::format("{}: {}", set.uri,
                        !saved ? fmt::format("the saved index {} is damaged and is made anew", opened.saved_index_path)
                        : fit == Fit::kOtherShards
                            ? "there are other shards than when it was indexed; it is indexed anew"
                            : "shards have changed since they were indexed; they are indexed anew"));
      if (saved) old = std::move(*saved);
    }
  ShardScans scans(store, set, scan, *has_indexes);
  PENSTOCK_CHECK(scans.run(options));
  bool whole = true;
  for (std::size_t shard = 0; shard < set.paths.size(); ++shard) {
    std::optional<Error>& error = scans.errors[shard];
    if (!error && old)
      error =
          lost_tail(*old, set.paths[shard], scans.contents[shard], scans.versions[shard], opened.saved_index_path);
    if (!error) continue;
    if (!options.on_bad_shard) return std::unexpected(*error);
    whole = false;
    options.on_bad_shard(*error);
  }
  PENSTOCK_CHECK(check_interruption(set.uri));
  if (*has_indexes && whole) opened.packed = find_packed(scans.contents, set.paths);
  auto index = RecordIndex::build(set.paths, scans.versions, std::move(scans.contents));
  if (!index) {
    index.error().where = {set.uri, 0, 0, -1};
    return std::unexpected(std::move(index).error());
  }
  opened.index = std::move(*index);
  PENSTOCK_CHECK(check_interruption(set.uri));
  if (whole && !opened.saved_index_path.empty()) save_index(opened.saved_index_path, opened.index.bytes());
  return opened;
}

}  // namespace penstock
