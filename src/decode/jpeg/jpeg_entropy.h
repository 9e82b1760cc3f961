// A faster Huffman decoder for baseline JPEGs, put in the place of libjpeg-turbo's own.
//
// Why: at the quality of photographs most of the time goes into Huffman decoding, and
// libjpeg-turbo's has several unpredictable branches a coefficient. This one finds run, size and
// total length in one look-up, computes the number without a branch, and refills eight bytes at a
// time. Everything after
// the coefficients (dequantisation, IDCT, upsampling, colour) stays libjpeg-turbo's, so pixels are
// the same. See docs/decisions/0004.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

namespace penstock {

// Belongs to one decompression at a time; keeps its tables between images, since most images of
// a data set share them.
class JpegEntropyDecoder {
 public:
  // Call after jpeg_start_decompress, with the whole image in memory. False, and nothing changed,
  // where the image is not a baseline one in a single scan. Uses info.client_data. Damage is
  // reported through info.err as a warning that libjpeg knows (emit_message with level -1), which
  // must not return. Calls info.progress, where there is one, every few thousand MCUs.
  bool attach(jpeg_decompress_struct& info);

  // Call when the last MCU is decoded: libjpeg then reads on at the marker that follows. False, and nothing
  // changed, where bytes of data stand before that marker.
  bool finish(jpeg_decompress_struct& info) const;

 private:
  static constexpr int kLookupBits = 10;

  // For the next kLookupBits bits: run << 16 | code length << 12 | size of the number that follows
  // the code << 8 | length of both. 0: a longer code, or a number too long for one step. The
  // length stands lowest because the next look-up waits for it.
  struct Table {
    JHUFF_TBL built_from;  // to see whether it is still the same
    bool is_built = false;
    std::array<std::uint32_t, 1 << kLookupBits> lookup;
    std::array<std::int32_t, 17> last_code;  // of each length; -1: none
    std::array<std::int32_t, 17> value_offset;
    void build(const JHUFF_TBL& from);
  };

  // The bits not yet read. What is rare takes and returns a reader by value: one whose address is
  // never taken stays in registers.
  struct BitReader {
    const std::uint8_t* at = nullptr;
    const std::uint8_t* end = nullptr;
    std::uint64_t bits = 0;  // the next ones, from the top
    int count = 0;           // how many of them are there
    int made_up = 0;         // how many of those are zeros after the data's end

    void refill();  // to at least 56 bits
    static BitReader refilled_slowly(BitReader reader);
    void drop(int length) {
      bits <<= length;
      count -= length;
    }
    int take_number(int size);  // as JPEG stores signed numbers; size >= 1
  };

  // The same code twice: shifts by a variable amount are what it mostly does, and processors with
  // BMI2 have better ones.
  static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
  static boolean decode_mcu_with_bmi2(j_decompress_ptr info, JBLOCKROW* blocks);
  static boolean decode_next_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
  struct LongSymbol;
  static LongSymbol find_long_symbol(BitReader reader, const Table& table);
  template <bool kStore>
  static bool decode_block(BitReader& shared_reader, const Table& dc, const Table& ac, int& last_dc,
                           JCOEF* out);
  bool restart();

  static constexpr unsigned kMcusPerProgress = 4096;
  std::array<Table, NUM_HUFF_TBLS> dc_, ac_;
  std::array<int, MAX_COMPS_IN_SCAN> last_dc_{};
  BitReader reader_;
  unsigned until_restart_ = 0, restart_interval_ = 0, next_restart_ = 0;
  unsigned until_progress_ = kMcusPerProgress;
};

// Does replacing the decoder work with the libjpeg that this process runs with? Found out once, by
// decoding a small image both ways.
bool jpeg_entropy_decoder_fits();

}  // namespace penstock
