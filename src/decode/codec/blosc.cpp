#include "decode/codec/blosc.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/byte_reader.h"

#ifdef PENSTOCK_WITH_BLOSC
#include <blosc.h>
#endif

namespace penstock {

#ifndef PENSTOCK_WITH_BLOSC

namespace {
std::unexpected<Error> not_built() { return fail(ErrorCode::kUnsupported, "this build reads no blosc"); }
}  // namespace

bool reads_blosc() { return false; }
Result<BloscFrame> BloscFrame::open(ConstBytes) { return not_built(); }
std::uint64_t BloscFrame::library_bytes() const { return 0; }
Status BloscFrame::decode(MutableBytes) const { return not_built(); }
Status BloscFrame::decode_items(std::size_t, MutableBytes) const { return not_built(); }

#else

namespace {

// Names and layouts are those of c-blosc's README_CHUNK_FORMAT.rst.
constexpr std::size_t kHeaderBytes = BLOSC_MIN_HEADER_LENGTH;
constexpr std::uint8_t kCopied = BLOSC_MEMCPYED, kFromTheFuture = 0x08, kNotSplit = 0x10;
constexpr int kFormatShift = 5;
constexpr std::uint8_t kBloscLz = 0, kSnappy = 2;
constexpr std::uint8_t kInnerVersion = 1;  // version of all five inner formats
// A block whose items have at most kMaxSplits bytes is split into one piece per byte of the item, if each
// piece has at least kMinSplitBytes.
constexpr std::size_t kMaxSplits = 16, kMinSplitBytes = 128;
// Upper bound for the memory that zlib and Zstandard allocate inside the library.
constexpr std::uint64_t kInnerBytes = 256 << 10;

std::unexpected<Error> fail_in_frame(ErrorCode code, std::string_view what, std::size_t offset) {
  return fail(code, fmt::format("blosc: {}", what), {"", static_cast<std::int64_t>(offset), -1, -1});
}
std::unexpected<Error> corrupt_frame(std::string_view what, std::size_t offset) {
  return fail_in_frame(ErrorCode::kCorrupt, what, offset);
}

std::uint8_t format_of(std::uint8_t flags) { return static_cast<std::uint8_t>(flags >> kFormatShift); }

// Returns whether the library was built with the compressor of the frame.
bool reads_format(std::uint8_t format) {
  // LZ4 and LZ4HC are two compressors with one format, so the numbers of compressors and formats differ.
  constexpr std::array kCompressors = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_SNAPPY, BLOSC_ZLIB, BLOSC_ZSTD};
  const char* name = nullptr;
  return format < kCompressors.size() && blosc_compcode_to_compname(kCompressors[format], &name) >= 0;
}

}  // namespace

bool reads_blosc() { return true; }

Result<BloscFrame> BloscFrame::open(ConstBytes bytes) {
  if (bytes.size() < kHeaderBytes)
    return fail_in_frame(ErrorCode::kTruncated,
                   fmt::format("{} bytes, a header has {}", bytes.size(), kHeaderBytes), 0);
  ByteReader reader(bytes);
  const auto version = reader.read<std::uint8_t>(), inner_version = reader.read<std::uint8_t>();
  BloscFrame frame;
  frame.bytes_ = bytes;
  frame.flags_ = reader.read<std::uint8_t>();
  frame.item_bytes_ = reader.read<std::uint8_t>();
  frame.decoded_bytes_ = reader.read<std::uint32_t>();
  frame.block_bytes_ = reader.read<std::uint32_t>();
  const std::size_t frame_bytes = reader.read<std::uint32_t>();
  if (version != BLOSC_VERSION_FORMAT || frame.flags_ & kFromTheFuture)
    return fail_in_frame(ErrorCode::kUnsupported, fmt::format("a frame of format {}", version), 0);
  if (frame_bytes != bytes.size())
    return fail_in_frame(frame_bytes > bytes.size() ? ErrorCode::kTruncated : ErrorCode::kCorrupt,
                   fmt::format("{} bytes, the header says {}", bytes.size(), frame_bytes), 12);
  std::size_t library_decoded_bytes = 0;
  if (frame.decoded_bytes_ > BLOSC_MAX_BUFFERSIZE ||
      blosc_cbuffer_validate(bytes.data(), bytes.size(), &library_decoded_bytes) < 0 ||
      library_decoded_bytes != frame.decoded_bytes_)
    return corrupt_frame("bad header", 4);
  if (frame.item_bytes_ == 0) return corrupt_frame("items of no bytes", 3);
  if (frame.decoded_bytes_ == 0) {
    frame.block_bytes_ = 1;  // an empty frame has no blocks, whatever it says
    return frame;
  }
  if (frame.block_bytes_ == 0 || frame.block_bytes_ > frame.decoded_bytes_ ||
      frame.block_bytes_ > BLOSC_MAX_BLOCKSIZE)
    return corrupt_frame(fmt::format("blocks of {} bytes", frame.block_bytes_), 8);
  if (frame.flags_ & kCopied) {
    if (frame.decoded_bytes_ + kHeaderBytes != bytes.size()) return corrupt_frame("sizes contradict each other", 4);
    return frame;
  }
  if (!reads_format(format_of(frame.flags_)) || inner_version != kInnerVersion)
    return fail_in_frame(ErrorCode::kUnsupported,
                   fmt::format("inner format {}.{}", format_of(frame.flags_), inner_version), 1);
  if (frame.block_count() > (bytes.size() - kHeaderBytes) / sizeof(std::uint32_t))
    return corrupt_frame("too short for the offsets of its blocks", 8);
  return frame;
}

std::uint64_t BloscFrame::library_bytes() const {
  return std::uint64_t{3} * block_bytes_ + sizeof(std::int32_t) * item_bytes_ + kInnerBytes;
}

Status BloscFrame::check_piece(std::size_t offset, std::size_t length, std::size_t decoded_length) const {
  // A writer stores a piece that does not shrink uncompressed; only Snappy's pieces may grow.
  const std::size_t most = decoded_length + (format_of(flags_) == kSnappy ? decoded_length / 6 + 32 : 0);
  if (length > most)
    return corrupt_frame(fmt::format("{} bytes for {} decoded ones", length, decoded_length), offset);
  // The length of a match is a sum of bytes, which continues as long as the bytes are 255. This many of them
  // in a row (they cannot be literals, which are interrupted every 32 bytes) overflow the library's sum, and
  // it then writes past the end.
  constexpr std::size_t kOverflowingRun = 0x7fffffff / 255;
  if (format_of(flags_) != kBloscLz || length < kOverflowingRun) return {};
  std::size_t run = 0;
  for (const std::byte byte : bytes_.subspan(offset, length)) {
    run = byte == std::byte{255} ? run + 1 : 0;
    if (run >= kOverflowingRun) return corrupt_frame("a match without end", offset);
  }
  return {};
}

Status BloscFrame::check_block(std::size_t block) const {
  const std::size_t first_data = kHeaderBytes + sizeof(std::uint32_t) * block_count();
  const std::size_t entry = kHeaderBytes + sizeof(std::uint32_t) * block;
  const std::size_t begin = ByteReader(bytes_.subspan(entry)).read<std::uint32_t>();
  if (begin < first_data || begin > bytes_.size())
    return corrupt_frame(fmt::format("block {} begins at {}", block, begin), entry);
  const std::size_t block_bytes = std::min(block_bytes_, decoded_bytes_ - block * block_bytes_);
  const bool split = !(flags_ & kNotSplit) && item_bytes_ <= kMaxSplits &&
                     block_bytes / item_bytes_ >= kMinSplitBytes && block_bytes == block_bytes_;
  const std::size_t pieces = split ? item_bytes_ : 1;
  // The library would leave the rest of the block uninitialised.
  if (block_bytes % pieces != 0)
    return corrupt_frame(fmt::format("blocks of {} bytes for items of {}", block_bytes, item_bytes_), 8);
  ByteReader reader(bytes_.subspan(begin));
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t length = reader.read<std::uint32_t>();
    const std::size_t offset = begin + reader.offset();
    reader.take(length);
    if (!reader.ok())
      return fail_in_frame(ErrorCode::kTruncated, fmt::format("block {} goes beyond the frame", block), begin);
    PENSTOCK_CHECK(check_piece(offset, length, block_bytes / pieces));
  }
  return {};
}

Status BloscFrame::decode(MutableBytes out) const {
  if (out.size() != decoded_bytes_)
    return fail(ErrorCode::kInvalidArgument, "blosc: the output does not have the size of the decoded frame");
  if (out.empty()) return {};
  if (!(flags_ & kCopied))
    for (std::size_t block = 0; block < block_count(); ++block) PENSTOCK_CHECK(check_block(block));
  const int found = blosc_decompress_ctx(bytes_.data(), out.data(), out.size(), 1);
  if (found < 0 || static_cast<std::size_t>(found) != out.size())
    return corrupt_frame("damaged block", kHeaderBytes);
  return {};
}

Status BloscFrame::decode_items(std::size_t first_item, MutableBytes out) const {
  const std::size_t item_count = out.size() / item_bytes_, max_items = decoded_bytes_ / item_bytes_;
  if (out.size() % item_bytes_ != 0 || first_item > max_items || item_count > max_items - first_item)
    return fail(ErrorCode::kInvalidArgument, "blosc: no such items");
  if (out.empty()) return {};
  const std::size_t first_byte = first_item * item_bytes_;
  const std::size_t last_block = (first_byte + out.size() - 1) / block_bytes_;
  if (!(flags_ & kCopied))
    for (std::size_t block = first_byte / block_bytes_; block <= last_block; ++block)
      PENSTOCK_CHECK(check_block(block));
  const int found =
      blosc_getitem(bytes_.data(), static_cast<int>(first_item), static_cast<int>(item_count), out.data());
  if (found < 0 || static_cast<std::size_t>(found) != out.size())
    return corrupt_frame("damaged block", kHeaderBytes);
  return {};
}

#endif

}  // namespace penstock
