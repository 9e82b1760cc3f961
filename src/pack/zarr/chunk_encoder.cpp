#include "pack/zarr/chunk_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/crc32c.h"
#include "transform/view.h"
#include "transform/write_slot.h"

#ifdef PENSTOCK_WITH_ZSTD
#define ZSTD_STATIC_LINKING_ONLY  // for the estimate of memory
#include <zstd.h>
#endif

namespace penstock {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

#ifdef PENSTOCK_WITH_ZSTD

struct ChunkEncoder::Compressor {
  Compressor() : context(ZSTD_createCCtx()) {}
  Compressor(const Compressor&) = delete;
  ~Compressor() { ZSTD_freeCCtx(context); }

  Result<std::size_t> compress(ConstBytes elements, MutableBytes out) const {
    const std::size_t size =
        ZSTD_compress2(context, out.data(), out.size(), elements.data(), elements.size());
    if (ZSTD_isError(size)) return fail(ErrorCode::kNoMemory, fmt::format("zstd: {}", ZSTD_getErrorName(size)));
    return size;
  }

  ZSTD_CCtx* const context;
};

namespace {

std::size_t encoded_bound(const PackedArray& array) { return ZSTD_compressBound(array.chunk_bytes()) + 4; }

}  // namespace

std::uint64_t ChunkEncoder::memory_bytes(const PackedArray& array) {
  const auto parameters = ZSTD_getCParams(array.level, array.chunk_bytes(), 0);
  return array.chunk_bytes() + encoded_bound(array) + ZSTD_estimateCCtxSize_usingCParams(parameters);
}

Result<std::unique_ptr<ChunkEncoder>> ChunkEncoder::make(const PackedArray& array) {
  auto encoder = std::unique_ptr<ChunkEncoder>(new ChunkEncoder(array));
  encoder->compressor_ = std::make_unique<Compressor>();
  encoder->elements_ = MemoryBlock::allocate(array.chunk_bytes());
  encoder->encoded_ = MemoryBlock::allocate(encoded_bound(array));
  if (encoder->compressor_->context == nullptr || encoder->elements_.data() == nullptr ||
      encoder->encoded_.data() == nullptr)
    return fail(ErrorCode::kNoMemory, "no memory to encode chunks");
  const std::size_t answer =
      ZSTD_CCtx_setParameter(encoder->compressor_->context, ZSTD_c_compressionLevel, array.level);
  if (ZSTD_isError(answer))
    return fail(ErrorCode::kInvalidArgument, fmt::format("level {}: {}", array.level, ZSTD_getErrorName(answer)));
  return encoder;
}

#else

struct ChunkEncoder::Compressor {
  Result<std::size_t> compress(ConstBytes, MutableBytes) const {
    return fail(ErrorCode::kUnsupported, "this build writes no zstd");
  }
};

std::uint64_t ChunkEncoder::memory_bytes(const PackedArray& array) { return 2 * array.chunk_bytes(); }

Result<std::unique_ptr<ChunkEncoder>> ChunkEncoder::make(const PackedArray&) {
  return fail(ErrorCode::kUnsupported, "this build writes no zstd, which Zarr is packed with");
}

#endif

ChunkEncoder::ChunkEncoder(const PackedArray& array) : array_(array) {}
ChunkEncoder::~ChunkEncoder() = default;

Result<ConstBytes> ChunkEncoder::encode(std::uint64_t chunk, const ArrayBlock& block) {
  const ConstBytes elements = elements_of(chunk, block);
  if (is_fill(elements)) return ConstBytes();
  const MutableBytes out(encoded_.data(), encoded_.size());
  const auto size = compressor_->compress(elements, out.first(out.size() - 4));
  if (!size) return std::unexpected(size.error());
  const std::uint32_t checksum = crc32c(out.first(*size));
  std::memcpy(out.data() + *size, &checksum, sizeof checksum);
  return ConstBytes(out.first(*size + sizeof checksum));
}

// The elements of the chunk in C order. Chunks at the far edges extend beyond the array, where they have the fill value.
ConstBytes ChunkEncoder::elements_of(std::uint64_t chunk, const ArrayBlock& block) {
  const Shape grid = array_.chunks_of_shard(), &extents = array_.sample.shape;
  const std::size_t rank = grid.size(), item = size_of(array_.sample.dtype);
  View from = view_of_array(block.memory, {array_.sample.dtype, [&] {
                                             Shape shape{static_cast<std::int64_t>(block.samples)};
                                             shape.insert(shape.end(), extents.begin(), extents.end());
                                             return shape;
                                           }()});
  View to = view_of_array(elements_.data(), {array_.sample.dtype, array_.chunk});
  bool is_whole = true, is_contiguous = true;
  for (std::size_t d = rank; d-- > 0;) {
    const auto position = static_cast<std::int64_t>(chunk % static_cast<std::uint64_t>(grid[d]));
    chunk /= static_cast<std::uint64_t>(grid[d]);
    const std::int64_t begin =
        position * array_.chunk[d] - (d == 0 ? static_cast<std::int64_t>(block.first_sample) : 0);
    const std::int64_t count = std::min(array_.chunk[d], from.shape[d] - begin);
    from.data += begin * from.stride[d];
    is_contiguous = is_contiguous && (d == 0 || count == from.shape[d]);
    is_whole = is_whole && count == array_.chunk[d];
    from.shape[d] = to.shape[d] = count;
  }
  const std::size_t bytes = array_.chunk_bytes();
  if (is_whole && is_contiguous) return {from.data, bytes};
  if (!is_whole)
    for (std::size_t at = 0; at < bytes; at += item) std::memcpy(elements_.data() + at, array_.fill.data(), item);
  copy_view(from, elements_.data(), to);
  return {elements_.data(), bytes};
}

bool ChunkEncoder::is_fill(ConstBytes elements) const {
  const std::size_t item = size_of(array_.sample.dtype);
  if (std::memcmp(elements.data(), array_.fill.data(), item) != 0) return false;
  // Equal to itself one element later.
  return std::memcmp(elements.data(), elements.data() + item, elements.size() - item) == 0;
}

}  // namespace penstock
