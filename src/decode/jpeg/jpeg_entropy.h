// A faster Huffman decoder for baseline JPEGs, which replaces that of libjpeg-turbo.
//
// Why: for photographs, most of the time is spent in Huffman decoding, and libjpeg-turbo's decoder has
// several unpredictable branches per coefficient. This one finds run, size and total length in one lookup,
// computes the number without a branch, and refills eight bytes at a time. libjpeg-turbo still does
// everything after the coefficients (dequantisation, IDCT, upsampling, colour), so the pixels are the same.
// See docs/decisions/0004.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include "base/bytes.h"
#include "decode/jpeg/jpeg_window.h"

namespace penstock {

// Serves one decompression at a time. It keeps its tables between images, because most images of a data set
// share them.
class JpegEntropyDecoder {
 public:
  // Call it after jpeg_start_decompress, with the whole image in memory. Returns false, and changes nothing,
  // unless the image is baseline with a single scan. Uses info.client_data. Reports damage through info.err
  // as a warning of libjpeg (emit_message with level -1), which must not return. Calls info.progress, if set,
  // every few thousand MCUs.
  bool attach(jpeg_decompress_struct& info);

  // The same where `info` has read the header of a part of the image (write_window_header), and `scan` begins with the
  // first MCU of the whole image, which must have restart markers. What lies above and beside the part is passed over
  // from marker to marker; damage there is noticed only if it hides a marker or looks like one.
  bool attach_to_window(jpeg_decompress_struct& info, const JpegWindow& window, ConstBytes scan);
  // Call it after the last row of a window: decodes to the end of the interval, where damage shows. Returns false
  // if data are left there.
  bool finish_window(jpeg_decompress_struct& info);

  // Call it after the last MCU of the image: libjpeg then continues at the marker that follows. Returns false, and
  // changes nothing, if there are bytes of data before that marker.
  bool finish(jpeg_decompress_struct& info) const;

 private:
  static constexpr int kLookupBits = 10;

  // The lookup table is indexed by the next kLookupBits bits: run << 16 | code length << 12 | size of the
  // number that follows the code << 8 | length of both. 0 means a longer code, or a number that is too long
  // for one step. The length has the lowest bits, because the next lookup waits for it.
  struct Table {
    JHUFF_TBL built_from;  // tells whether the table is still valid
    bool is_built = false;
    std::array<std::uint32_t, 1 << kLookupBits> lookup;
    std::array<std::int32_t, 17> last_code;  // of each length; -1: none
    std::array<std::int32_t, 17> value_offset;
    void build(const JHUFF_TBL& from);
  };

  // The unread bits. Functions for rare cases take and return a reader by value, because a reader whose
  // address is never taken stays in registers.
  struct BitReader {
    const std::uint8_t* at = nullptr;
    const std::uint8_t* end = nullptr;
    std::uint64_t bits = 0;  // the next bits, from the top
    int count = 0;           // number of valid bits
    int made_up = 0;         // how many of them are zeros after the end of the data

    void refill();  // to at least 56 bits
    static BitReader refilled_slowly(BitReader reader);
    void drop(int length) {
      bits <<= length;
      count -= length;
    }
    int take_number(int size);  // as JPEG stores signed numbers; size >= 1
  };

  // The same code, compiled twice: it mostly shifts by variable amounts, for which BMI2 has faster
  // instructions.
  static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
  static boolean decode_mcu_with_bmi2(j_decompress_ptr info, JBLOCKROW* blocks);
  static boolean decode_next_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
  struct LongSymbol;
  static LongSymbol find_long_symbol(BitReader reader, const Table& table);
  template <bool kStore>
  static bool decode_block(BitReader& shared_reader, const Table& dc, const Table& ac, int& last_dc,
                           JCOEF* out);
  const std::uint8_t* next_marker() const;
  bool restart();
  void begin_interval(const std::uint8_t* at, std::uint64_t interval);
  std::uint64_t passed_mcus() const;
  void skip_mcus(j_decompress_ptr info, std::uint64_t count);
  bool skip_to_interval(std::uint64_t interval);
  static void enter_next_row(j_decompress_ptr info);

  static constexpr unsigned kMcusPerProgress = 4096;
  std::array<Table, NUM_HUFF_TBLS> dc_, ac_;
  std::array<int, MAX_COMPS_IN_SCAN> last_dc_{};
  BitReader reader_;
  unsigned until_restart_ = 0, restart_interval_ = 0;
  unsigned until_progress_ = kMcusPerProgress;
  std::uint64_t restarts_ = 0;  // number of restart markers so far

  // For a window: the number of MCUs up to the end of its row, and the numbers of MCUs in the image. A row of a whole
  // image never ends, because its rows follow each other.
  static constexpr unsigned kNever = ~0u;
  unsigned until_row_ends_ = kNever;
  unsigned image_columns_ = 0;
  std::uint64_t image_mcus_ = 0;
  std::uint64_t next_row_ = 0;  // the first MCU of the next row of the window
};

// Returns whether the decoder works with the libjpeg of this process. It is determined once, by decoding a
// small image both ways. Thread-safe.
bool jpeg_entropy_decoder_fits();

}  // namespace penstock
