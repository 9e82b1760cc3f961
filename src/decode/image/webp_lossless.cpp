#include "decode/image/webp_lossless.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <span>
#include <vector>

#include "decode/interrupted.h"

namespace penstock {
namespace {

constexpr unsigned kLongestCode = 15;
constexpr std::uint32_t kLengthCodes = 24, kDistanceCodes = 40;
constexpr std::uint32_t kMaxDistance = 1 << 20;  // the largest distance of a copy
constexpr std::uint32_t kMaxGroups = 1 << 16;
// libwebp's tables of one group, and the group itself. A colour cache adds symbols to one of the five codes.
constexpr std::uint64_t kGroupBytes = 13 << 10;
constexpr std::uint64_t kBytesPerCacheSymbol = 8;
// Above this many groups, libwebp keeps only the groups that are used.
constexpr std::uint32_t kMaxUnfilteredGroups = 1000;

// Reads bits from the lowest one of each byte on. After the end it returns zeros, and is_over() is true.
class LowBitsFirst {
 public:
  explicit LowBitsFirst(ConstBytes bytes) : bytes_(bytes) {}

  std::uint32_t bit() {
    if (at_ >= 8 * bytes_.size()) {
      is_over_ = true;
      return 0;
    }
    const auto byte = std::to_integer<std::uint32_t>(bytes_[at_ / 8]);
    return byte >> (at_++ % 8) & 1;
  }
  std::uint32_t bits(unsigned count) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i) value |= bit() << i;
    return value;
  }
  bool is_over() const { return is_over_; }

 private:
  ConstBytes bytes_;
  std::size_t at_ = 0;  // in bits
  bool is_over_ = false;
};

// A canonical Huffman code. One that has a single symbol takes no bits.
class HuffmanCode {
 public:
  bool build(std::span<const std::uint8_t> lengths) {
    counts_.fill(0);
    symbols_.clear();
    for (const std::uint8_t length : lengths) ++counts_[length];
    counts_[0] = 0;
    std::uint32_t unused = 1;  // unused codes of this length
    for (unsigned length = 1; length <= kLongestCode; ++length) {
      unused = unused * 2;
      if (counts_[length] > unused) return false;
      unused -= counts_[length];
      for (std::uint32_t symbol = 0; symbol < lengths.size(); ++symbol)
        if (lengths[symbol] == length) symbols_.push_back(symbol);
    }
    return symbols_.size() == 1 || (unused == 0 && !symbols_.empty());
  }

  std::uint32_t read(LowBitsFirst& stream) const {
    if (symbols_.size() == 1) return symbols_[0];
    std::uint32_t code = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= kLongestCode; ++length) {
      code = code << 1 | stream.bit();
      first <<= 1;
      if (code - first < counts_[length]) return symbols_[index + (code - first)];
      index += counts_[length];
      first += counts_[length];
    }
    return 0;  // not reached: the code is complete
  }

 private:
  std::array<std::uint32_t, kLongestCode + 1> counts_{};
  std::vector<std::uint32_t> symbols_;
};

class LosslessReader {
 public:
  explicit LosslessReader(ConstBytes bytes) : stream_(bytes) {}

  Result<std::uint64_t> run(std::uint32_t width, std::uint32_t height) {
    PENSTOCK_CHECK(skip_transforms(width, height));
    std::uint32_t cache_bits = 0;
    PENSTOCK_CHECK(read_cache_bits(cache_bits));
    std::uint32_t groups = 1;
    if (stream_.bit() == 1) {
      const unsigned precision = stream_.bits(3) + 2;
      used_.emplace();
      PENSTOCK_CHECK(read_small_image(divided(width, precision), divided(height, precision)));
      groups = max_group_ + 1;
      if (groups > kMaxUnfilteredGroups || groups > std::uint64_t{width} * height)
        groups = static_cast<std::uint32_t>(used_->count());
    }
    if (stream_.is_over()) return damaged();
    return groups * (kGroupBytes + (cache_bits > 0 ? kBytesPerCacheSymbol << cache_bits : 0));
  }

 private:
  std::unexpected<Error> damaged() const {
    return stream_.is_over() ? fail(ErrorCode::kTruncated, "truncated WebP")
                             : fail(ErrorCode::kCorrupt, "bad WebP data");
  }

  static std::uint32_t divided(std::uint32_t size, unsigned bits) { return (size + (1u << bits) - 1) >> bits; }

  Status skip_transforms(std::uint32_t& width, std::uint32_t height) {
    enum : std::uint32_t { kPredictor, kCrossColour, kSubtractGreen, kColourIndexing };
    std::bitset<4> seen;
    while (stream_.bit() == 1) {
      const std::uint32_t type = stream_.bits(2);
      if (seen[type]) return damaged();
      seen.set(type);
      if (type == kPredictor || type == kCrossColour) {
        const unsigned precision = stream_.bits(3) + 2;
        PENSTOCK_CHECK(read_small_image(divided(width, precision), divided(height, precision)));
      } else if (type == kColourIndexing) {
        const std::uint32_t colours = stream_.bits(8) + 1;
        PENSTOCK_CHECK(read_small_image(colours, 1));
        // Several indexes are packed into one pixel.
        width = divided(width, colours > 16 ? 0 : colours > 4 ? 1 : colours > 2 ? 2 : 3);
      }
    }
    return {};
  }

  Status read_cache_bits(std::uint32_t& bits) {
    bits = stream_.bit() == 1 ? stream_.bits(4) : 0;
    return bits <= 11 ? Status() : damaged();
  }

  // Reads an image without groups of its own. Its pixels name groups if `used_` is set.
  Status read_small_image(std::uint32_t width, std::uint32_t height) {
    std::uint32_t cache_bits = 0;
    PENSTOCK_CHECK(read_cache_bits(cache_bits));
    const std::uint32_t cache_size = cache_bits > 0 ? 1u << cache_bits : 0;
    const std::array<std::uint32_t, 5> symbols = {256 + kLengthCodes + cache_size, 256, 256, 256, kDistanceCodes};
    for (std::size_t i = 0; i < symbols.size(); ++i) PENSTOCK_CHECK(read_code(symbols[i], codes_[i]));
    cache_.assign(cache_size, 0);
    const std::uint64_t pixels = std::uint64_t{width} * height;
    window_.assign(std::min<std::uint64_t>(pixels, kMaxDistance), 0);
    for (std::uint64_t at = 0; at < pixels;) {
      if (stream_.is_over()) return damaged();
      if (at % (1 << 16) == 0) PENSTOCK_CHECK(check_decoding_wanted());
      const std::uint32_t symbol = codes_[0].read(stream_);
      if (symbol < 256) {
        const std::uint32_t red = codes_[1].read(stream_), blue = codes_[2].read(stream_);
        const std::uint32_t alpha = codes_[3].read(stream_);
        put(at++, alpha << 24 | red << 16 | symbol << 8 | blue, cache_bits);
      } else if (symbol < 256 + kLengthCodes) {
        const std::uint32_t length = prefixed(symbol - 256);
        const std::uint64_t distance = distance_of(prefixed(codes_[4].read(stream_)), width);
        if (distance > at || length > pixels - at) return damaged();
        for (std::uint32_t i = 0; i < length; ++i, ++at)
          put(at, window_[(at - distance) % window_.size()], cache_bits);
      } else {
        put(at++, cache_[symbol - 256 - kLengthCodes], cache_bits);
      }
    }
    return {};
  }

  void put(std::uint64_t at, std::uint32_t pixel, std::uint32_t cache_bits) {
    window_[at % window_.size()] = pixel;
    if (cache_bits > 0) cache_[0x1E35A7BDu * pixel >> (32 - cache_bits)] = pixel;
    if (!used_) return;
    const std::uint32_t group = pixel >> 8 & 0xFFFF;
    used_->set(group);
    max_group_ = std::max(max_group_, group);
  }

  // Lengths and distances: a symbol for the magnitude, then bits.
  std::uint32_t prefixed(std::uint32_t symbol) {
    if (symbol < 4) return symbol + 1;
    const unsigned extra = (symbol - 2) >> 1;
    return ((2 + (symbol & 1)) << extra) + stream_.bits(extra) + 1;
  }

  // The first 120 distances mean pixels nearby, in the rows above: (8 - low nibble) columns, high nibble
  // rows.
  static std::uint64_t distance_of(std::uint32_t code, std::uint32_t width) {
    constexpr std::array<std::uint8_t, 120> kNearby = {
        0x18, 0x07, 0x17, 0x19, 0x28, 0x06, 0x27, 0x29, 0x16, 0x1a, 0x26, 0x2a, 0x38, 0x05, 0x37, 0x39, 0x15, 0x1b,
        0x36, 0x3a, 0x25, 0x2b, 0x48, 0x04, 0x47, 0x49, 0x14, 0x1c, 0x35, 0x3b, 0x46, 0x4a, 0x24, 0x2c, 0x58, 0x45,
        0x4b, 0x34, 0x3c, 0x03, 0x57, 0x59, 0x13, 0x1d, 0x56, 0x5a, 0x23, 0x2d, 0x44, 0x4c, 0x55, 0x5b, 0x33, 0x3d,
        0x68, 0x02, 0x67, 0x69, 0x12, 0x1e, 0x66, 0x6a, 0x22, 0x2e, 0x54, 0x5c, 0x43, 0x4d, 0x65, 0x6b, 0x32, 0x3e,
        0x78, 0x01, 0x77, 0x79, 0x53, 0x5d, 0x11, 0x1f, 0x64, 0x6c, 0x42, 0x4e, 0x76, 0x7a, 0x21, 0x2f, 0x75, 0x7b,
        0x31, 0x3f, 0x63, 0x6d, 0x52, 0x5e, 0x00, 0x74, 0x7c, 0x41, 0x4f, 0x10, 0x20, 0x62, 0x6e, 0x30, 0x73, 0x7d,
        0x51, 0x5f, 0x40, 0x72, 0x7e, 0x61, 0x6f, 0x50, 0x71, 0x7f, 0x60, 0x70};
    if (code > kNearby.size()) return code - kNearby.size();
    const std::uint8_t place = kNearby[code - 1];
    const std::int64_t distance = static_cast<std::int64_t>(place >> 4) * width + 8 - (place & 15);
    return distance >= 1 ? static_cast<std::uint64_t>(distance) : 1;
  }

  Status read_code(std::uint32_t symbols, HuffmanCode& out) {
    lengths_.assign(symbols, 0);
    if (stream_.bit() == 1) {
      const bool has_two = stream_.bit() == 1;
      const std::uint32_t first = stream_.bits(stream_.bit() == 1 ? 8 : 1);
      const std::uint32_t second = has_two ? stream_.bits(8) : first;
      if (first >= symbols || second >= symbols) return damaged();
      lengths_[first] = lengths_[second] = 1;
    } else {
      PENSTOCK_CHECK(read_lengths(symbols));
    }
    return out.build(lengths_) ? Status() : damaged();
  }

  Status read_lengths(std::uint32_t symbols) {
    constexpr std::array<std::uint8_t, 19> kOrder = {17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    std::array<std::uint8_t, 19> lengths{};
    const std::uint32_t count = stream_.bits(4) + 4;
    if (count > kOrder.size()) return damaged();
    for (std::uint32_t i = 0; i < count; ++i) lengths[kOrder[i]] = static_cast<std::uint8_t>(stream_.bits(3));
    HuffmanCode code;
    if (!code.build(lengths)) return damaged();
    std::uint32_t left = symbols;
    if (stream_.bit() == 1) left = 2 + stream_.bits(2 + 2 * stream_.bits(3));
    std::uint8_t before = 8;
    for (std::uint32_t symbol = 0; symbol < symbols && left > 0; --left) {
      const std::uint32_t length = code.read(stream_);
      if (length < 16) {
        lengths_[symbol++] = static_cast<std::uint8_t>(length);
        if (length > 0) before = static_cast<std::uint8_t>(length);
        continue;
      }
      const std::uint32_t repeat = length == 16   ? 3 + stream_.bits(2)
                                   : length == 17 ? 3 + stream_.bits(3)
                                                  : 11 + stream_.bits(7);
      if (repeat > symbols - symbol) return damaged();
      if (length == 16) std::fill_n(lengths_.begin() + symbol, repeat, before);
      symbol += repeat;
    }
    return {};
  }

  LowBitsFirst stream_;
  std::array<HuffmanCode, 5> codes_;
  std::vector<std::uint8_t> lengths_;
  std::vector<std::uint32_t> window_, cache_;
  std::optional<std::bitset<kMaxGroups>> used_;  // the groups that are used; set while the image that names them is read
  std::uint32_t max_group_ = 0;
};

}  // namespace

Result<std::uint64_t> webp_huffman_bytes(ConstBytes stream, std::uint32_t width, std::uint32_t height) {
  return LosslessReader(stream).run(width, height);
}

}  // namespace penstock
