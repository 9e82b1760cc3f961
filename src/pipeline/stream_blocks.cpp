#include "pipeline/stream_blocks.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock {
namespace {

// Blocks passed on the way to one that is farther off are not worth keeping.
constexpr std::size_t kWorthKeeping = 64;

}  // namespace

StreamBlocks::StreamBlocks(const Source& source, Ledger& ledger, std::uint64_t area_bytes,
                           std::size_t decoders)
    : source_(source),
      ledger_(ledger),
      area_bytes_(area_bytes),
      most_decoders_(decoders) {}

StreamBlocks::~StreamBlocks() { ledger_.release(held_bytes_); }

std::uint64_t StreamBlocks::bytes_for(const Source& source, std::uint64_t window) {
  std::vector<std::uint64_t> sizes;
  for (const StreamBlock& block : source.blocks()) sizes.push_back(block.end_byte - block.begin_byte);
  std::ranges::sort(sizes, std::greater<>());
  sizes.resize(std::min<std::size_t>(sizes.size(), 2 * window));
  std::uint64_t sum = 0;
  for (const std::uint64_t size : sizes) sum += size;
  return sum;
}

std::shared_ptr<const StreamBlocks::Block> StreamBlocks::find(std::size_t block) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(block);
  if (found == kept_.end()) return nullptr;
  found->second.last_use = ++now_;
  return found->second.block;
}

Result<std::shared_ptr<const StreamBlocks::Block>> StreamBlocks::get(std::size_t block) {
  if (auto found = find(block)) return found;
  const auto decoder = decoder_of(source_.blocks()[block].stream);
  const std::lock_guard reading(decoder->mutex);
  // Another worker may have read it while this one waited for the decoder.
  if (auto found = find(block)) return found;
  PENSTOCK_CHECK(read_up_to(*decoder, block));
  if (auto found = find(block)) return found;
  return fail(ErrorCode::kNoMemory, "no memory left for a block of a compressed shard");
}

std::shared_ptr<StreamBlocks::Decoder> StreamBlocks::decoder_of(std::uint32_t stream) {
  const std::lock_guard lock(mutex_);
  auto& decoder = decoders_[stream];
  if (!decoder) decoder = std::make_shared<Decoder>();
  decoder->last_use = ++now_;
  const auto result = decoder;
  if (decoders_.size() > most_decoders_) {
    const auto oldest =
        std::ranges::min_element(decoders_, {}, [](const auto& entry) { return entry.second->last_use; });
    decoders_.erase(oldest);  // who still reads with it holds it
  }
  return result;
}

std::size_t StreamBlocks::first_block_of(std::uint32_t stream) const {
  const auto first = std::ranges::lower_bound(source_.blocks(), stream, {}, &StreamBlock::stream);
  return static_cast<std::size_t>(first - source_.blocks().begin());
}

Status StreamBlocks::open(Decoder& decoder, std::uint32_t stream) {
  const Stream& indexed = source_.streams()[stream];
  const std::string& path = indexed.object;
  decoder.reader.reset();
  auto object = source_.store().open(path);
  if (!object) return std::unexpected(std::move(object).error());
  if ((*object)->version() != ObjectVersion{indexed.object_bytes, indexed.modified_ns}) {
    source_.forget_kept_index();
    return fail(ErrorCode::kChanged, "compressed shard changed since it was indexed", {path, -1, -1, -1});
  }
  decoder.object = std::move(*object);
  decoder.reader = make_forward_reader(*decoder.object, path, compression_of_name(path));
  decoder.next_block = first_block_of(stream);
  return {};
}

Status StreamBlocks::read_up_to(Decoder& decoder, std::size_t block) {
  const std::uint32_t stream = source_.blocks()[block].stream;
  if (!decoder.reader || decoder.next_block > block) PENSTOCK_CHECK(open(decoder, stream));
  if (block - decoder.next_block > kWorthKeeping) decoder.next_block = block - kWorthKeeping;
  for (; decoder.next_block <= block; ++decoder.next_block) {
    const StreamBlock& wanted = source_.blocks()[decoder.next_block];
    const std::uint64_t size = wanted.end_byte - wanted.begin_byte;
    const auto bytes = decoder.reader->at(wanted.begin_byte, size);
    if (!bytes || bytes->size() != size) {
      decoder.reader.reset();
      if (!bytes) return std::unexpected(bytes.error());
      return fail(ErrorCode::kTruncated, "compressed shard ends before its index says",
                  {source_.streams()[stream].object, static_cast<std::int64_t>(wanted.begin_byte),
                   static_cast<std::int64_t>(size), -1});
    }
    auto made = std::make_shared<Block>();
    made->begin_byte = wanted.begin_byte;
    made->bytes.assign(bytes->begin(), bytes->end());
    PENSTOCK_CHECK(keep(decoder.next_block, std::move(made)));
  }
  return {};
}

Status StreamBlocks::keep(std::size_t number, std::shared_ptr<const Block> block) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = block->bytes.size();
  if (kept_.contains(number)) return {};
  while (!kept_.empty() && (held_bytes_ + bytes > area_bytes_)) {
    const auto oldest =
        std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.last_use; });
    const std::uint64_t freed = oldest->second.block->bytes.size();
    held_bytes_ -= freed;
    ledger_.release(freed);
    kept_.erase(oldest);
  }
  if (held_bytes_ + bytes > area_bytes_ || !ledger_.try_reserve(bytes))
    return fail(
        ErrorCode::kNoMemory,
        fmt::format("a block of {} bytes of a compressed shard does not fit the memory budget", bytes));
  held_bytes_ += bytes;
  kept_.emplace(number, Entry{std::move(block), ++now_});
  return {};
}

}  // namespace penstock
