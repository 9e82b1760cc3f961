#include "fetch/stream_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text/byte_units.h"
#include "penstock/interruption.h"
#include "source/records/ahead_object.h"

namespace penstock {
namespace {

constexpr std::uint64_t kPieceBytes = 256 << 10;  // decompressed at a time; readers have a buffer of this size
constexpr std::uint64_t kDefaultPrefetch = 16;    // batches
constexpr std::uint64_t kReadAheadBytes = 8 * kMiB;  // compressed bytes read ahead per decoder, from distant stores
constexpr auto kMemoryPatience = std::chrono::milliseconds(10);
// A decoder on its way to a block caches at most this many blocks before it. It passes over earlier ones.
constexpr std::size_t kMaxBlocksBefore = 64;

std::vector<std::uint64_t> sizes_of(const Source& source) {
  std::vector<std::uint64_t> sizes;
  for (const StreamBlock& block : source.storage().blocks) sizes.push_back(block.end_byte - block.begin_byte);
  std::ranges::sort(sizes, std::greater<>());
  return sizes;
}

}  // namespace

Result<StreamPlan> plan_streams(const Source& source, const StreamRequest& request) {
  const std::vector<std::uint64_t> sizes = sizes_of(source);
  const bool zstd = std::ranges::any_of(source.storage().streams, [](const Stream& stream) {
    return compression_of_name(stream.object) == Compression::kZstd;
  });
  StreamPlan plan;
  // A decoder is closed at the end of its shard, so two more than a window has suffice where two windows meet.
  const std::uint64_t window = std::max<std::uint64_t>(request.window_units, 1);
  plan.decoders = std::min<std::size_t>(source.storage().streams.size(), window + 2);
  plan.decoder_bytes = plan.decoders * (memory_of_reader(zstd ? Compression::kZstd : Compression::kGzip) +
                                        (source.storage().reads_ahead() > 0 ? kReadAheadBytes : 0));
  // A subset reads only the blocks that have samples of it.
  const auto units = source.storage().units;
  const std::size_t touched = units ? units->first_sample.size() - 1 : sizes.size();
  const double samples_per_block =
      std::max(1.0, static_cast<double>(source.size()) / static_cast<double>(touched));
  const double samples_per_window = samples_per_block * static_cast<double>(window);
  const auto bytes_with = [&](std::uint64_t prefetch) {
    // Counts all windows that samples of this many batches can belong to.
    const double reach = static_cast<double>((prefetch + 1) * request.batch_samples);
    const auto windows = static_cast<std::uint64_t>(reach / samples_per_window) + 2;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(windows * window, sizes.size()); ++i) sum += sizes[i];
    return sum;
  };
  plan.prefetch = request.prefetch ? request.prefetch : kDefaultPrefetch;
  const auto fits = [&] { return plan.decoder_bytes + bytes_with(plan.prefetch) <= request.max_bytes; };
  while (plan.prefetch > 1 && !fits()) plan.prefetch /= 2;
  plan.block_bytes = bytes_with(plan.prefetch);
  if (!fits())
    return fail(
        ErrorCode::kNoMemory,
        fmt::format(
            "compressed shards need {} MiB to be read in this order, memory= leaves {} MiB for it; give "
            "memory= at least {} MiB, or a smaller shuffle_window or batch_size",
            plan.bytes() / kMiB + 1, request.max_bytes / kMiB, 2 * (plan.bytes() / kMiB + 1)),
        {source.uri(), -1, -1, -1});
  return plan;
}

StreamBlocks::StreamBlocks(const Source& source, std::shared_ptr<Area> area, const StreamPlan& plan)
    : source_(source),
      area_(std::move(area)),
      plan_(plan),
      max_bytes_(plan.block_bytes) {}

StreamBlocks::~StreamBlocks() {
  kept_.clear();
  area_->release(decoder_bytes_);
}

void StreamBlocks::limit(const StreamPlan& plan) {
  {
    const MutexLock lock(memory_mutex_);
    max_bytes_ = plan.block_bytes;
  }
  while (holds_too_much() && give_up_oldest()) {
  }
}

bool StreamBlocks::holds_too_much() {
  const MutexLock lock(memory_mutex_);
  return live_bytes_ > max_bytes_;
}

void StreamBlocks::interrupt() {
  std::stop_source stop;
  {
    const MutexLock lock(mutex_);
    stop = stop_;
  }
  stop.request_stop();
}

void StreamBlocks::start() {
  const MutexLock lock(mutex_);
  ++epochs_;
  if (!stop_.stop_requested()) return;
  stop_ = std::stop_source();
  decoders_.clear();
}

StreamBlocks::BlockPtr StreamBlocks::find(std::size_t block) {
  const MutexLock lock(mutex_);
  const auto found = kept_.find(block);
  if (found == kept_.end()) return nullptr;
  found->second.last_use = ++now_;
  return found->second.block;
}

// Drops the blocks of an earlier epoch if the file has changed since. Objects on servers are not checked: a loader uses
// the version that it indexed when it was opened, or fails.
void StreamBlocks::forget_if_changed(std::uint32_t stream) {
  std::vector<BlockPtr> forgotten;  // blocks are destroyed, and their memory released, after the lock
  const MutexLock lock(mutex_);
  const auto opened = opened_.find(stream);
  if (opened == opened_.end() || std::exchange(opened->second.looked_at, epochs_) == epochs_) return;
  const Stream& indexed = source_.storage().streams[stream];
  const auto now = indexed.store->stat(indexed.object);
  if (now && now->is_exactly(opened->second.version)) return;
  for (auto entry = kept_.begin(); entry != kept_.end();) {
    const bool is_stale = source_.storage().blocks[entry->first].stream == stream;
    if (is_stale) forgotten.push_back(std::move(entry->second.block));
    entry = is_stale ? kept_.erase(entry) : std::next(entry);
  }
  decoders_.erase(stream);
  damaged_.erase(stream);
  opened_.erase(opened);
}

Result<StreamBlocks::BlockPtr> StreamBlocks::get(std::size_t block) {
  forget_if_changed(source_.storage().blocks[block].stream);
  if (auto found = find(block)) return found;
  const auto decoder = decoder_of(source_.storage().blocks[block].stream);
  const MutexLock reading(decoder->mutex);
  // Another worker may have read it while this one waited for the decoder.
  if (auto found = find(block)) return found;
  return read_up_to(*decoder, block);
}

std::shared_ptr<StreamBlocks::Decoder> StreamBlocks::decoder_of(std::uint32_t stream) {
  const MutexLock lock(mutex_);
  OpenDecoder& open = decoders_[stream];
  if (!open.decoder) open.decoder = std::make_shared<Decoder>();
  open.last_use = ++now_;
  const auto result = open.decoder;
  if (decoders_.size() > plan_.decoders) {
    const auto oldest =
        std::ranges::min_element(decoders_, {}, [](const auto& entry) { return entry.second.last_use; });
    decoders_.erase(oldest);  // a worker that still reads with it shares ownership
  }
  return result;
}

std::size_t StreamBlocks::first_block_of(std::uint32_t stream) const {
  const auto first = std::ranges::lower_bound(source_.storage().blocks, stream, {}, &StreamBlock::stream);
  return static_cast<std::size_t>(first - source_.storage().blocks.begin());
}

Status StreamBlocks::open(Decoder& decoder, std::uint32_t stream) {
  const Stream& indexed = source_.storage().streams[stream];
  const std::string& path = indexed.object;
  decoder.reader.reset();
  const ObjectVersion version{indexed.object_bytes, indexed.modified_ns};
  if (const Store& store = *indexed.store; store.reads_ahead() > 0) {
    const MutexLock lock(mutex_);
    decoder.object = make_ahead_object(store, path, version, kReadAheadBytes, stop_.get_token());
  } else {
    auto object = store.open(path);
    if (!object) return std::unexpected(std::move(object).error());
    if ((*object)->version() != version)
      return fail(ErrorCode::kChanged, "compressed shard changed since it was indexed",
                  {path, 0, static_cast<std::int64_t>((*object)->version().size), -1});
    decoder.object = std::move(*object);
    const MutexLock lock(mutex_);
    opened_[stream] = {decoder.object->version(), epochs_};
  }
  decoder.reader = make_forward_reader(*decoder.object, path, compression_of_name(path));
  decoder.reader->expect(indexed.checksums);
  decoder.next_block = first_block_of(stream);
  return {};
}

// Also caches the blocks that the decoder passes on the way, because other samples of the window need them.
Result<StreamBlocks::BlockPtr> StreamBlocks::read_up_to(Decoder& decoder, std::size_t block) {
  const std::vector<StreamBlock>& blocks = source_.storage().blocks;
  const std::uint32_t stream = blocks[block].stream;
  {
    const MutexLock lock(mutex_);
    if (const auto bad = damaged_.find(stream); bad != damaged_.end() && bad->second.first_block <= block)
      return std::unexpected(bad->second.error);
  }
  if (!decoder.reader || decoder.next_block > block) PENSTOCK_CHECK(open(decoder, stream));
  if (block - decoder.next_block > kMaxBlocksBefore) decoder.next_block = block - kMaxBlocksBefore;
  while (true) {
    const std::size_t number = decoder.next_block;
    auto made = read(decoder, number);
    if (!made) {
      decoder.reader.reset();
      const ErrorCode code = made.error().code;
      const MutexLock lock(mutex_);
      if (code == ErrorCode::kCorrupt || code == ErrorCode::kTruncated)
        damaged_.try_emplace(stream, number, made.error());
      return made;
    }
    ++decoder.next_block;
    if (decoder.next_block == blocks.size() || blocks[decoder.next_block].stream != stream) {
      decoder.reader.reset();
      decoder.object.reset();
    }
    {
      const MutexLock lock(mutex_);
      kept_.insert_or_assign(number, Entry{*made, ++now_});
    }
    if (number == block) return made;
    // `made` is released here: a worker must not hold a block while it asks for the memory of the next.
  }
}

Result<StreamBlocks::BlockPtr> StreamBlocks::read(Decoder& decoder, std::size_t number) {
  const StreamBlock& wanted = source_.storage().blocks[number];
  const std::uint64_t size = wanted.end_byte - wanted.begin_byte;
  const Where where{source_.storage().streams[wanted.stream].object, static_cast<std::int64_t>(wanted.begin_byte),
                    static_cast<std::int64_t>(size), -1};
  if (auto taken = take_memory(size); !taken) {
    taken.error().where = where;
    return std::unexpected(std::move(taken).error());
  }
  // The destructor of the block releases the memory.
  auto block = std::make_shared<Block>(*this, number, wanted.begin_byte, size, decoder.object->version());
  if (block->memory.size() < size) return fail(ErrorCode::kNoMemory, "the system has no memory left", where);
  for (std::uint64_t at = 0; at < size;) {
    const auto piece = decoder.reader->at(wanted.begin_byte + at, std::min(kPieceBytes, size - at));
    if (!piece) return std::unexpected(piece.error());
    if (piece->empty())
      return fail(ErrorCode::kTruncated, "compressed shard ends before its index says", where);
    std::memcpy(block->memory.data() + at, piece->data(), piece->size());
    at += piece->size();
  }
  return block;
}

Status StreamBlocks::take_memory(std::uint64_t bytes) {
  std::uint64_t most = 0;
  {
    const MutexLock lock(memory_mutex_);
    most = max_bytes_;
  }
  if (bytes > most)
    return fail(
        ErrorCode::kNoMemory,
        fmt::format("a block of {} bytes of a compressed shard does not fit the memory budget", bytes));
  while (!try_take_memory(bytes)) {
    if (give_up_oldest()) continue;  // the block is destroyed here, which releases its memory
    PENSTOCK_CHECK(check_interruption(source_.uri()));
    const MutexLock lock(memory_mutex_);
    memory_came_back_.wait_until(memory_mutex_, ConditionVariable::Clock::now() + kMemoryPatience);
  }
  return {};
}

bool StreamBlocks::try_take_memory(std::uint64_t bytes) {
  const MutexLock lock(memory_mutex_);
  // The decoders' memory is reserved here and not in the constructor, because an epoch that was given up may still hold
  // it for a moment.
  if (decoder_bytes_ < plan_.decoder_bytes) {
    if (!area_->try_reserve(plan_.decoder_bytes)) return false;
    decoder_bytes_ = plan_.decoder_bytes;
  }
  if (live_bytes_ + bytes > max_bytes_ || !area_->try_reserve(bytes)) return false;
  live_bytes_ += bytes;
  return true;
}

// Evicts the least recently used block that no worker holds, and returns it. Returns nullptr if all are held.
StreamBlocks::BlockPtr StreamBlocks::give_up_oldest() {
  const MutexLock lock(mutex_);
  auto oldest = kept_.end();
  for (auto entry = kept_.begin(); entry != kept_.end(); ++entry)
    if (entry->second.block.use_count() == 1 &&
        (oldest == kept_.end() || entry->second.last_use < oldest->second.last_use))
      oldest = entry;
  if (oldest == kept_.end()) return nullptr;
  BlockPtr block = std::move(oldest->second.block);
  kept_.erase(oldest);
  return block;
}

void StreamBlocks::give_back(std::uint64_t bytes) {
  {
    const MutexLock lock(memory_mutex_);
    live_bytes_ -= bytes;
    area_->release(bytes);
  }
  memory_came_back_.notify_all();
}

}  // namespace penstock
