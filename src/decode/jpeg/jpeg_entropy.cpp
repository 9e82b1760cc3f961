#include "decode/jpeg/jpeg_entropy.h"

#include <jerror.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "decode/jpeg/jpeg_marker.h"

namespace penstock {
namespace {

// The first members of libjpeg's private jpeg_entropy_decoder, which have not changed since the first
// release. jpeg_entropy_decoder_fits() checks this for the library in use.
struct EntropyInterface {
  void (*start_pass)(j_decompress_ptr);
  boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW*);
};

constexpr unsigned kLargestNumber = 10;  // bits of a coefficient of eight-bit samples

// The index in a block of coefficient k of the bit stream. A run past the end leads to the last coefficient.
constexpr std::array<std::uint8_t, 64 + 16> kNaturalOrder = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
    40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
    29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

bool has_bmi2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

void warn(j_decompress_ptr info, int code) {
  info->err->msg_code = code;
  (*info->err->emit_message)(reinterpret_cast<j_common_ptr>(info), -1);
}

}  // namespace

struct JpegEntropyDecoder::LongSymbol {
  BitReader after;
  int symbol;  // -1: no code fits
};

void JpegEntropyDecoder::Table::build(const JHUFF_TBL& from) {
  if (is_built && std::memcmp(from.bits, built_from.bits, sizeof from.bits) == 0 &&
      std::memcmp(from.huffval, built_from.huffval, sizeof from.huffval) == 0)
    return;
  built_from = from;
  is_built = true;
  lookup.fill(0);
  // libjpeg has already refused tables whose codes overflow, but the bounds below do not rely on that.
  std::uint32_t code = 0;
  std::size_t index = 0;
  for (unsigned length = 1; length <= 16; ++length) {
    value_offset[length] = static_cast<std::int32_t>(index) - static_cast<std::int32_t>(code);
    for (unsigned i = 0; i < from.bits[length] && index < 256; ++i, ++code, ++index) {
      const unsigned run = from.huffval[index] >> 4, size = from.huffval[index] & 15;
      if (length > kLookupBits || size > kLargestNumber) continue;
      const unsigned rest = kLookupBits - length;
      const std::size_t first = std::size_t{code} << rest, many = std::size_t{1} << rest;
      for (std::size_t k = first; k < first + many && k < lookup.size(); ++k)
        lookup[k] = run << 16 | length << 12 | size << 8 | (length + size);
    }
    last_code[length] = from.bits[length] > 0 ? static_cast<std::int32_t>(code) - 1 : -1;
    code <<= 1;
  }
}

bool JpegEntropyDecoder::attach(jpeg_decompress_struct& info) {
  if (info.progressive_mode || info.arith_code || info.data_precision != 8 ||
      info.comps_in_scan != info.num_components)
    return false;
  for (int c = 0; c < info.comps_in_scan; ++c) {
    const jpeg_component_info& component = *info.cur_comp_info[c];
    const JHUFF_TBL* dc = info.dc_huff_tbl_ptrs[component.dc_tbl_no];
    const JHUFF_TBL* ac = info.ac_huff_tbl_ptrs[component.ac_tbl_no];
    if (dc == nullptr || ac == nullptr) return false;
    dc_[static_cast<std::size_t>(component.dc_tbl_no)].build(*dc);
    ac_[static_cast<std::size_t>(component.ac_tbl_no)].build(*ac);
  }
  reader_ = {info.src->next_input_byte, info.src->next_input_byte + info.src->bytes_in_buffer};
  last_dc_.fill(0);
  until_restart_ = restart_interval_ = info.restart_interval;
  restarts_ = 0;
  until_row_ends_ = kNever;
  until_progress_ = kMcusPerProgress;
  info.client_data = this;
  reinterpret_cast<EntropyInterface*>(info.entropy)->decode_mcu =
      has_bmi2() ? decode_mcu_with_bmi2 : decode_mcu;
  return true;
}

bool JpegEntropyDecoder::attach_to_window(jpeg_decompress_struct& info, const JpegWindow& window,
                                          ConstBytes scan) {
  if (info.restart_interval == 0 || !attach(info)) return false;
  const auto* const first = reinterpret_cast<const std::uint8_t*>(scan.data());
  reader_ = {first, first + scan.size()};
  until_row_ends_ = 0;
  image_columns_ = window.image_columns;
  image_mcus_ = std::uint64_t{window.image_columns} * window.image_rows;
  next_row_ = std::uint64_t{window.first_row} * window.image_columns + window.first_column;
  return true;
}

bool JpegEntropyDecoder::finish(jpeg_decompress_struct& info) const {
  const std::uint8_t* const at = next_marker();
  if (at == nullptr) return false;
  info.src->next_input_byte = at;
  info.src->bytes_in_buffer = static_cast<std::size_t>(reader_.end - at);
  return true;
}

// Returns the marker, or the end of the data, that follows the last MCU; nullptr if data come before it.
const std::uint8_t* JpegEntropyDecoder::next_marker() const {
  const bool byte_left = reader_.count - reader_.made_up >= 8;
  const std::uint8_t* at = reader_.at;
  while (reader_.end - at >= 2 && at[0] == 0xFF && at[1] == 0xFF) ++at;
  const bool at_marker = reader_.end - at < 2 || (at[0] == 0xFF && at[1] != 0);
  return byte_left || !at_marker ? nullptr : at;
}

// Called by libjpeg for each MCU; `blocks` is null where it only skips.
[[gnu::always_inline]] inline boolean JpegEntropyDecoder::decode_next_mcu(j_decompress_ptr info,
                                                                          JBLOCKROW* blocks) {
  auto& self = *static_cast<JpegEntropyDecoder*>(info->client_data);
  if (--self.until_progress_ == 0) {
    self.until_progress_ = kMcusPerProgress;
    if (info->progress != nullptr)
      (*info->progress->progress_monitor)(reinterpret_cast<j_common_ptr>(info));
  }
  if (self.until_row_ends_-- == 0) [[unlikely]]
    enter_next_row(info);
  if (self.restart_interval_ != 0) {
    if (self.until_restart_ == 0 && !self.restart()) warn(info, JWRN_MUST_RESYNC);
    --self.until_restart_;
  }
  BitReader reader = self.reader_;  // a copy, which stays in registers
  for (int b = 0; b < info->blocks_in_MCU; ++b) {
    const auto member = static_cast<std::size_t>(info->MCU_membership[b]);
    const jpeg_component_info& component = *info->cur_comp_info[member];
    const Table& dc = self.dc_[static_cast<std::size_t>(component.dc_tbl_no)];
    const Table& ac = self.ac_[static_cast<std::size_t>(component.ac_tbl_no)];
    const bool good = blocks != nullptr
                          ? decode_block<true>(reader, dc, ac, self.last_dc_[member], blocks[b][0])
                          : decode_block<false>(reader, dc, ac, self.last_dc_[member], nullptr);
    if (!good) warn(info, JWRN_HUFF_BAD_CODE);
  }
  if (reader.count < reader.made_up) warn(info, JWRN_HIT_MARKER);
  self.reader_ = reader;
  return TRUE;
}

// Decodes two coefficients per refill: 56 bits hold two of the longest codes and numbers in the lookup table.
template <bool kStore>
[[gnu::always_inline]] inline bool JpegEntropyDecoder::decode_block(BitReader& shared_reader, const Table& dc,
                                                                    const Table& ac, int& last_dc,
                                                                    JCOEF* out) {
  BitReader reader = shared_reader;
  reader.refill();
  const std::uint32_t first = dc.lookup[reader.bits >> (64 - kLookupBits)];
  int symbol;
  if (first != 0) [[likely]] {
    symbol = static_cast<int>((first >> 16) << 4 | (first >> 8 & 15));
    reader.drop(static_cast<int>(first >> 12 & 15));
  } else {
    const LongSymbol found = find_long_symbol(reader, dc);
    reader = found.after;
    symbol = found.symbol;
  }
  if (symbol < 0 || symbol > 15) return false;
  if (symbol > 0)
    last_dc =
        static_cast<int>(static_cast<unsigned>(last_dc) + static_cast<unsigned>(reader.take_number(symbol)));
  if constexpr (kStore) out[0] = static_cast<JCOEF>(last_dc);

  unsigned k = 1;
  do {
    reader.refill();
    for (int step = 0; step < 2; ++step) {
      const std::uint32_t entry = ac.lookup[reader.bits >> (64 - kLookupBits)];
      const unsigned size = entry >> 8 & 15;
      const int length = static_cast<int>(entry & 63);
      if (size != 0) [[likely]] {
        k += entry >> 16;
        if constexpr (kStore) {
          // The number is in the last `size` of `length` bits. If its top bit is 0, it is negative: smaller
          // by 2^size - 1.
          const auto mask = static_cast<std::uint32_t>((1u << size) - 1);
          const auto raw = static_cast<std::uint32_t>(reader.bits >> (64 - length)) & mask;
          const std::uint32_t below = mask & ((raw >> (size - 1)) - 1);
          out[kNaturalOrder[k]] = static_cast<JCOEF>(raw - below);
        }
        reader.drop(length);
      } else if (entry != 0) {
        reader.drop(length);
        if (entry >> 16 != 15) {  // the rest of the block is zero
          shared_reader = reader;
          return true;
        }
        k += 15;
      } else {
        reader.refill();
        const LongSymbol found = find_long_symbol(reader, ac);
        reader = found.after;
        if (found.symbol < 0) return false;
        const int number_size = found.symbol & 15;
        k += static_cast<unsigned>(found.symbol) >> 4;
        if (number_size != 0) {
          const int number = reader.take_number(number_size);
          if constexpr (kStore) out[kNaturalOrder[k]] = static_cast<JCOEF>(number);
        } else if (found.symbol != 0xF0) {
          shared_reader = reader;
          return true;
        }
        reader.refill();
      }
      if (++k >= 64) break;
    }
  } while (k < 64);
  shared_reader = reader;
  return k == 64;
}

[[gnu::always_inline]] inline int JpegEntropyDecoder::BitReader::take_number(int size) {
  const int raw = static_cast<int>(bits >> (64 - size));
  drop(size);
  return raw < (1 << (size - 1)) ? raw - (1 << size) + 1 : raw;
}

JpegEntropyDecoder::LongSymbol JpegEntropyDecoder::find_long_symbol(BitReader reader, const Table& table) {
  for (int length = 1; length <= 16; ++length) {
    const auto code = static_cast<std::int32_t>(reader.bits >> (64 - length));
    if (code > table.last_code[static_cast<std::size_t>(length)]) continue;
    const std::int32_t index = code + table.value_offset[static_cast<std::size_t>(length)];
    reader.drop(length);
    return {reader, index >= 0 && index < 256 ? table.built_from.huffval[index] : -1};
  }
  return {reader, -1};
}

[[gnu::always_inline]] inline void JpegEntropyDecoder::BitReader::refill() {
  if (end - at >= 8) [[likely]] {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    // If one of the eight bytes is FF (stuffed, or a marker), the slow path is taken.
    if (((~word - 0x0101010101010101u) & word & 0x8080808080808080u) == 0) [[likely]] {
      // Bits of a partly counted byte are read again, with the same values, by the next refill.
      bits |= __builtin_bswap64(word) >> count;
      at += (63 - count) >> 3;
      count |= 56;
      return;
    }
  }
  *this = refilled_slowly(*this);
}

JpegEntropyDecoder::BitReader JpegEntropyDecoder::BitReader::refilled_slowly(BitReader reader) {
  reader.bits &= reader.count == 0 ? 0 : ~std::uint64_t{0} << (64 - reader.count);
  while (reader.count < 56) {
    unsigned byte = 0;
    if (reader.at < reader.end && *reader.at != 0xFF) {
      byte = *reader.at++;
    } else if (reader.end - reader.at >= 2 && reader.at[1] == 0) {
      byte = 0xFF;
      reader.at += 2;
    } else {
      reader.made_up += 8;  // a marker or the end: zeros, which a valid file does not use
    }
    reader.bits |= std::uint64_t{byte} << (56 - reader.count);
    reader.count += 8;
  }
  return reader;
}

// Returns false if the next marker is not the expected restart marker.
bool JpegEntropyDecoder::restart() {
  const std::uint8_t* const at = next_marker();
  if (at == nullptr || reader_.end - at < 2 || at[1] != 0xD0 + (restarts_ & 7)) return false;
  begin_interval(at + 2, restarts_ + 1);
  return true;
}

void JpegEntropyDecoder::begin_interval(const std::uint8_t* at, std::uint64_t interval) {
  reader_ = {at, reader_.end};
  restarts_ = interval;
  until_restart_ = restart_interval_;
  last_dc_.fill(0);
}

void JpegEntropyDecoder::skip_mcus(j_decompress_ptr info, std::uint64_t count) {
  until_row_ends_ = kNever;
  for (; count > 0; --count)
    (*reinterpret_cast<EntropyInterface*>(info->entropy)->decode_mcu)(info, nullptr);
}

// Makes the first MCU of a later interval the next one. Returns false if another marker is on the way.
bool JpegEntropyDecoder::skip_to_interval(std::uint64_t interval) {
  const std::uint8_t* at = reader_.at;
  for (std::uint64_t number = restarts_; number < interval; ++number) {
    at = find_jpeg_marker(at, reader_.end);
    if (reader_.end - at < 2 || at[1] != 0xD0 + (number & 7)) return false;
    at += 2;
  }
  begin_interval(at, interval);
  return true;
}

void JpegEntropyDecoder::enter_next_row(j_decompress_ptr info) {
  auto& self = *static_cast<JpegEntropyDecoder*>(info->client_data);
  const std::uint64_t interval = self.next_row_ / self.restart_interval_;
  if (interval > self.restarts_) {
    // An interval is decoded to its end once it was begun, because most damage shows only there.
    const bool was_begun = self.until_restart_ < self.restart_interval_;
    if (was_begun) self.skip_mcus(info, self.until_restart_);
    if ((was_begun && !self.restart()) || !self.skip_to_interval(interval)) warn(info, JWRN_MUST_RESYNC);
  }
  self.skip_mcus(info, self.next_row_ - self.passed_mcus());
  self.until_row_ends_ = info->MCUs_per_row - 1;
  self.next_row_ += self.image_columns_;
}

bool JpegEntropyDecoder::finish_window(jpeg_decompress_struct& info) {
  skip_mcus(&info, std::min<std::uint64_t>(until_restart_, image_mcus_ - passed_mcus()));
  return next_marker() != nullptr;
}

std::uint64_t JpegEntropyDecoder::passed_mcus() const {
  return restarts_ * restart_interval_ + (restart_interval_ - until_restart_);
}

boolean JpegEntropyDecoder::decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
  return decode_next_mcu(info, blocks);
}

#if defined(__x86_64__)
[[gnu::target("bmi2")]]
#endif
boolean JpegEntropyDecoder::decode_mcu_with_bmi2(j_decompress_ptr info, JBLOCKROW* blocks) {
  return decode_next_mcu(info, blocks);
}

}  // namespace penstock
