#include "decode/codec/codec_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"
#include "base/crc32c.h"
#include "decode/codec/blosc.h"
#include "decode/codec/byte_shuffle.h"
#include "decode/codec/decoded_size.h"
#include "decode/codec/deflate.h"
#include "decode/codec/element_filters.h"
#include "decode/codec/lz4_block.h"
#include "decode/codec/zstd_frames.h"

namespace penstock {

struct CodecWorker::Tools {
  Inflater inflater;
  ZstdFrames zstd;
};

CodecWorker::CodecWorker(Scratch& scratch, int first_buffer)
    : scratch_(scratch),
      first_buffer_(first_buffer),
      tools_(std::make_unique<Tools>()) {}

CodecWorker::~CodecWorker() = default;

Status CodecWorker::charge_at_least(std::uint64_t bytes) {
  if (bytes <= charged_) return {};
  PENSTOCK_CHECK(scratch_.charge(bytes - charged_));
  charged_ = bytes;
  return {};
}

namespace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

// The usual memory of the Blosc library: three blocks, which could be as large as the chunk but seldom are.
constexpr std::uint64_t kUsualBloscBlock = 2 << 20, kUsualBloscTables = 512 << 10;

Status check_input(std::string_view codec, std::size_t found, std::uint64_t expected) {
  if (found == expected) return {};
  return fail(found < expected ? ErrorCode::kTruncated : ErrorCode::kCorrupt,
              fmt::format("{}: {} encoded bytes, {} are expected", codec, found, expected));
}

Result<ConstBytes> without_crc32c(ConstBytes encoded) {
  constexpr std::size_t kSumBytes = 4;
  if (encoded.size() < kSumBytes)
    return fail(ErrorCode::kTruncated, fmt::format("crc32c: {} bytes are too few for a checksum", encoded.size()));
  const ConstBytes content = encoded.first(encoded.size() - kSumBytes);
  if (ByteReader(encoded.last(kSumBytes)).read<std::uint32_t>() != crc32c(content))
    return fail(ErrorCode::kCorrupt, "crc32c: the content does not match its checksum");
  return content;
}

bool within(std::size_t first_byte, std::size_t size, std::size_t all) {
  return first_byte <= all && size <= all - first_byte;
}

}  // namespace

// Undoes one step. The result lies in `out`, or in `encoded` if nothing had to be moved.
Result<ConstBytes> CodecChain::undo(const Step& step, ConstBytes encoded, MutableBytes out,
                                    CodecWorker& worker) const {
  const auto came_out = [&](std::string_view name, Result<std::size_t> size) -> Result<ConstBytes> {
    if (!size) return std::unexpected(std::move(size).error());
    if (step.exact) PENSTOCK_CHECK(check_decoded_size(name, *size, step.decoded_bytes));
    return out.first(*size);
  };
  const auto filter = [&](std::string_view name, const auto& codec) -> Result<ConstBytes> {
    const std::size_t count = out.size() / size_of(codec.decoded.dtype);
    PENSTOCK_CHECK(check_input(name, encoded.size(), count * size_of(codec.encoded.dtype)));
    undo_filter(codec, encoded, out);
    return out;
  };
  const auto blosc = [&]() -> Result<std::size_t> {
    const auto frame = BloscFrame::open(encoded);
    if (!frame) return std::unexpected(frame.error());
    if (frame->decoded_bytes() > out.size())
      PENSTOCK_CHECK(check_decoded_size("blosc", frame->decoded_bytes(), out.size()));
    PENSTOCK_CHECK(worker.charge_at_least(frame->library_bytes()));
    PENSTOCK_CHECK(frame->decode(out.first(frame->decoded_bytes())));
    return frame->decoded_bytes();
  };
  const auto shuffle = [&](std::size_t element_bytes) -> Result<ConstBytes> {
    if (encoded.size() > out.size() || encoded.size() % element_bytes != 0)
      return fail(ErrorCode::kCorrupt,
                  fmt::format("shuffle: {} bytes of elements of {}", encoded.size(), element_bytes));
    undo_byte_shuffle(encoded, element_bytes, out.first(encoded.size()));
    return came_out("shuffle", encoded.size());
  };
  auto& tools = *worker.tools_;
  return std::visit(
      Overloaded{
          [&](const GzipCodec&) { return came_out("gzip", tools.inflater.decode_gzip(encoded, out)); },
          [&](const ZlibCodec&) { return came_out("zlib", tools.inflater.decode_zlib(encoded, out)); },
          [&](const ZstdCodec&) { return came_out("zstd", tools.zstd.decode(encoded, out)); },
          [&](const Lz4Codec&) { return came_out("lz4", decode_lz4(encoded, out)); },
          [&](const BloscCodec&) { return came_out("blosc", blosc()); },
          [&](const Crc32cCodec&) { return without_crc32c(encoded); },
          [&](const ShuffleCodec& codec) { return shuffle(codec.element_bytes); },
          [&](const DeltaCodec& codec) { return filter("delta", codec); },
          [&](const FixedScaleOffsetCodec& codec) { return filter("fixedscaleoffset", codec); },
          [&](const QuantizeCodec& codec) { return filter("quantize", codec); },
          // The reader of the elements handles it, so it is never a step.
          [&](const TransposeCodec&) -> Result<ConstBytes> { return encoded; },
          [&](const BytesCodec&) -> Result<ConstBytes> { return encoded; },
      },
      step.codec);
}

std::uint64_t CodecChain::bytes_between() const {
  std::uint64_t of_buffer[2] = {0, 0};
  std::uint64_t of_blosc = 0;
  for (const Step& step : steps_)
    if (std::holds_alternative<BloscCodec>(step.codec))
      of_blosc = 3 * std::min(step.decoded_bytes, kUsualBloscBlock) + kUsualBloscTables;
  int buffer = 0;
  for (std::size_t i = steps_.size(); i-- > in_place_ + 1;) {
    if (std::holds_alternative<Crc32cCodec>(steps_[i].codec)) continue;
    of_buffer[buffer] = std::max(of_buffer[buffer], steps_[i].decoded_bytes);
    buffer = 1 - buffer;
  }
  return of_buffer[0] + of_buffer[1] + of_blosc;
}

Result<ConstBytes> CodecChain::undo_all(ConstBytes encoded, MutableBytes out, CodecWorker& worker) const {
  ConstBytes now = encoded;
  int buffer = 0;
  for (std::size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    MutableBytes into = out;
    const bool moves_nothing = std::holds_alternative<Crc32cCodec>(step.codec);
    if (i > in_place_ && !moves_nothing) {
      const auto between = worker.scratch_.get(worker.first_buffer_ + buffer, step.decoded_bytes);
      if (!between) return std::unexpected(between.error());
      into = *between;
      buffer = 1 - buffer;
    }
    auto came_out = undo(step, now, into, worker);
    if (!came_out) {
      // An offset into an intermediate result would mislead.
      if (now.data() != encoded.data()) came_out.error().where.offset = -1;
      return came_out;
    }
    now = *came_out;
  }
  return now;
}

Status CodecChain::decode(ConstBytes encoded, MutableBytes out, CodecWorker& worker) const {
  if (out.size() != decoded_bytes_)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the output has {} bytes, the decoded chunk {}", out.size(), decoded_bytes_));
  if (encoded.size() > max_encoded_bytes_)
    return fail(ErrorCode::kCorrupt, fmt::format("a chunk of {} encoded bytes, at most {} are expected",
                                                 encoded.size(), max_encoded_bytes_));
  const auto elements = undo_all(encoded, out, worker);
  if (!elements) return std::unexpected(elements.error());
  PENSTOCK_CHECK(check_input("chunk", elements->size(), decoded_bytes_));
  if (elements->data() != out.data() && !out.empty()) std::memcpy(out.data(), elements->data(), out.size());
  return {};
}

Status CodecChain::decode_part(ConstBytes encoded, std::size_t first_byte, MutableBytes out,
                               CodecWorker& worker) const {
  if (!decodes_parts_) return fail(ErrorCode::kInvalidArgument, "these codecs give the whole chunk only");
  if (!within(first_byte, out.size(), decoded_bytes_))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("bytes {}+{} of a chunk of {}", first_byte, out.size(), decoded_bytes_));
  if (out.size() == decoded_bytes_) return decode(encoded, out, worker);
  if (steps_.empty()) {
    PENSTOCK_CHECK(check_input("chunk", encoded.size(), decoded_bytes_));
    std::ranges::copy(encoded.subspan(first_byte, out.size()), out.begin());
    return {};
  }
  const auto frame = BloscFrame::open(encoded);
  if (!frame) return std::unexpected(frame.error());
  PENSTOCK_CHECK(check_decoded_size("blosc", frame->decoded_bytes(), decoded_bytes_));
  PENSTOCK_CHECK(worker.charge_at_least(frame->library_bytes()));
  const std::size_t item_bytes = frame->item_bytes(), end_byte = first_byte + out.size();
  if (first_byte % item_bytes == 0 && out.size() % item_bytes == 0)
    return frame->decode_items(first_byte / item_bytes, out);
  // The items of the writer may be wider than our elements: decode the items around the range, unless the
  // last one is not whole.
  const std::size_t first_item = first_byte / item_bytes;
  const std::size_t end_item = (end_byte + item_bytes - 1) / item_bytes;
  const bool whole_items = end_item * item_bytes <= decoded_bytes_;
  const std::size_t around_begin = whole_items ? first_item * item_bytes : 0;
  const std::size_t around_end = whole_items ? end_item * item_bytes : decoded_bytes_;
  const auto around = worker.scratch_.get(worker.first_buffer_, around_end - around_begin);
  if (!around) return std::unexpected(around.error());
  PENSTOCK_CHECK(whole_items ? frame->decode_items(first_item, *around) : frame->decode(*around));
  std::ranges::copy(around->subspan(first_byte - around_begin, out.size()), out.begin());
  return {};
}

}  // namespace penstock
