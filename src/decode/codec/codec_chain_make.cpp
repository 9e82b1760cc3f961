// Checks which codecs fit together, and computes the largest size of each intermediate result.
#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <numeric>

#include "base/checked_math.h"
#include "decode/codec/blosc.h"
#include "decode/codec/codec_chain.h"
#include "decode/codec/deflate.h"
#include "decode/codec/element_filters.h"
#include "decode/codec/lz4_block.h"
#include "decode/codec/zstd_frames.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxCodecs = 32;
constexpr int kMaxCompressors = 4;  // each may enlarge its input by a quarter
constexpr std::uint64_t kMaxChunkBytes = std::uint64_t{1} << 40;  // so that sums below cannot overflow

// An upper bound for the output of any compressor.
std::uint64_t max_compressed(std::uint64_t bytes) { return bytes + bytes / 4 + (1 << 20); }

std::unexpected<Error> senseless(std::string message) {
  return fail(ErrorCode::kInvalidArgument, std::move(message));
}

template <typename T>
concept ElementFilter =
    std::same_as<T, DeltaCodec> || std::same_as<T, FixedScaleOffsetCodec> || std::same_as<T, QuantizeCodec>;

Status check_built(bool built, std::string_view name) {
  if (built) return {};
  return fail(ErrorCode::kUnsupported, fmt::format("this build reads no {}", name));
}

Status check_built(const Codec& codec) {
  if (std::holds_alternative<GzipCodec>(codec)) return check_built(reads_deflate(), "gzip");
  if (std::holds_alternative<ZlibCodec>(codec)) return check_built(reads_deflate(), "zlib");
  if (std::holds_alternative<ZstdCodec>(codec)) return check_built(reads_zstd(), "zstd");
  if (std::holds_alternative<Lz4Codec>(codec)) return check_built(reads_lz4(), "lz4");
  if (std::holds_alternative<BloscCodec>(codec)) return check_built(reads_blosc(), "blosc");
  return {};
}

// True for a change of types between two equal types.
bool changes_nothing(const Codec& codec) {
  const auto* quantize = std::get_if<QuantizeCodec>(&codec);
  return quantize && quantize->decoded.dtype == quantize->encoded.dtype &&
         quantize->decoded.big_endian == quantize->encoded.big_endian;
}

bool works_in_place(const Codec& codec) {
  return std::visit(
      []<typename T>(const T& filter) {
        if constexpr (ElementFilter<T>)
          return size_of(filter.decoded.dtype) == size_of(filter.encoded.dtype);
        else
          return false;
      },
      codec);
}

Result<std::uint64_t> checked_count(const ArraySpec& chunk) {
  std::uint64_t count = 1;
  for (const std::int64_t side : chunk.shape) {
    if (side < 0) return senseless(fmt::format("a chunk of side {}", side));
    const auto product = checked_multiply(count, static_cast<std::uint64_t>(side));
    if (!product || *product > kMaxChunkBytes / 16)  // 16 bytes: the widest element
      return fail(ErrorCode::kTooLarge, "a chunk of more elements than anyone could hold");
    count = *product;
  }
  return count;
}

}  // namespace

// Receives the codecs in the order of encoding.
class CodecChain::Builder {
 public:
  Builder(const ArraySpec& chunk, std::uint64_t count)
      : count_(count),
        element_bytes_(size_of(chunk.dtype)),
        bytes_(count * element_bytes_) {
    chain_.decoded_bytes_ = bytes_;
    chain_.axes_.resize(chunk.shape.size());
    std::iota(chain_.axes_.begin(), chain_.axes_.end(), 0);
  }

  Status add(const TransposeCodec& codec) {
    if (in_bytes_) return senseless("transpose behind a codec of bytes");
    std::vector<int> sorted = codec.order;
    std::ranges::sort(sorted);
    std::vector<int> each(chain_.axes_.size());
    std::iota(each.begin(), each.end(), 0);
    if (sorted != each) return senseless(fmt::format("transpose: no order of {} axes", each.size()));
    // Differences depend on the order of the elements, and the order of axes is undone only later.
    if (has_delta_ && !std::ranges::is_sorted(codec.order))
      return fail(ErrorCode::kUnsupported, "transpose behind delta");
    std::vector<int> axes;
    for (const int axis : codec.order) axes.push_back(chain_.axes_[static_cast<std::size_t>(axis)]);
    chain_.axes_ = std::move(axes);
    return {};
  }

  Status add(const BytesCodec& codec) {
    if (in_bytes_ || has_order_) return senseless("a second codec from elements to bytes");
    has_order_ = true;
    if (chain_.steps_.empty()) {
      chain_.swap_bytes_ = codec.big_endian && element_bytes_ > 1;
      return {};
    }
    order_behind_filters_ = true;
    std::visit(
        [&]<typename T>(T& filter) {
          if constexpr (ElementFilter<T>) filter.encoded.big_endian = codec.big_endian;
        },
        chain_.steps_.back().codec);
    return {};
  }

  template <ElementFilter Filter>
  Status add(const Filter& filter) {
    if (in_bytes_ || order_behind_filters_) return senseless("a filter of elements behind a codec of bytes");
    PENSTOCK_CHECK(check_filter(filter));
    if (size_of(filter.decoded.dtype) != element_bytes_)
      return senseless(fmt::format("a filter of {} on elements of {} bytes", name_of(filter.decoded.dtype),
                                   element_bytes_));
    if (chain_.steps_.empty() && !has_order_)
      chain_.swap_bytes_ = filter.decoded.big_endian && element_bytes_ > 1;
    has_delta_ = has_delta_ || std::same_as<Filter, DeltaCodec>;
    chain_.steps_.push_back({filter, bytes_, true});
    element_bytes_ = size_of(filter.encoded.dtype);
    bytes_ = count_ * element_bytes_;
    return {};
  }

  Status add(const ShuffleCodec& codec) {
    in_bytes_ = true;
    if (codec.element_bytes <= 1) return {};  // as numcodecs has it
    if (exact_ && bytes_ % codec.element_bytes != 0)
      return senseless(fmt::format("shuffle: {} bytes of elements of {}", bytes_, codec.element_bytes));
    chain_.steps_.push_back({codec, bytes_, exact_});
    return {};
  }

  Status add(const Crc32cCodec& codec) {
    in_bytes_ = true;
    chain_.steps_.push_back({codec, bytes_, exact_});
    bytes_ += 4;
    return {};
  }

  template <typename Compressor>
  Status add(const Compressor& codec) {
    in_bytes_ = true;
    PENSTOCK_CHECK(check_built(codec));
    if (++compressors_ > kMaxCompressors)
      return fail(ErrorCode::kUnsupported, fmt::format("more than {} compressors", kMaxCompressors));
    chain_.steps_.push_back({codec, bytes_, exact_});
    bytes_ = max_compressed(bytes_);
    exact_ = false;
    return {};
  }

  CodecChain finish() && {
    auto& steps = chain_.steps_;
    std::erase_if(steps, [](const Step& step) { return changes_nothing(step.codec); });
    chain_.max_encoded_bytes_ = bytes_;
    chain_.decodes_parts_ =
        steps.empty() || (steps.size() == 1 && std::holds_alternative<BloscCodec>(steps.front().codec));
    while (chain_.in_place_ < steps.size() && works_in_place(steps[chain_.in_place_].codec))
      ++chain_.in_place_;
    return std::move(chain_);
  }

 private:
  CodecChain chain_;
  const std::uint64_t count_;
  std::size_t element_bytes_;  // as encoded so far
  std::uint64_t bytes_;        // total size; an upper bound if not exact
  bool exact_ = true;
  int compressors_ = 0;
  bool in_bytes_ = false;   // a codec has turned the elements into opaque bytes
  bool has_order_ = false;  // a BytesCodec was there
  bool order_behind_filters_ = false;
  bool has_delta_ = false;
};

Result<CodecChain> CodecChain::make(std::vector<Codec> codecs, const ArraySpec& chunk) {
  if (codecs.size() > kMaxCodecs)
    return fail(ErrorCode::kTooLarge,
                fmt::format("{} codecs, at most {} allowed", codecs.size(), kMaxCodecs));
  const auto count = checked_count(chunk);
  if (!count) return std::unexpected(count.error());
  Builder builder(chunk, *count);
  for (const Codec& codec : codecs)
    PENSTOCK_CHECK(std::visit([&](const auto& one) { return builder.add(one); }, codec));
  return std::move(builder).finish();
}

}  // namespace penstock
