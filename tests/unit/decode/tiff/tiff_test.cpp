#include "decode/tiff/tiff.h"

#include <gtest/gtest.h>

#include <cstring>

#include "decode/tiff/tiff_predictor.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

class Worker {
 public:
  CodecWorker codec{scratch_, 0};

 private:
  Ledger ledger_{16 << 20};
  ScratchBudget budget_{ledger_, 16 << 20, 0};
  Scratch scratch_{budget_};
};

TiffLayout layout_of(TiffCompression compression) {
  TiffLayout layout;
  layout.width = layout.segment_width = 8;
  layout.height = 5;
  layout.segment_rows = 2;
  layout.compression = compression;
  return layout;
}

TEST(TiffDecoder, packed_bits_are_exact) {
  const auto decoder = TiffDecoder::make(layout_of(TiffCompression::kPackBits));
  ASSERT_TRUE(decoder) << decoder.error().describe();
  Worker worker;
  std::vector<std::byte> out(16);
  const auto decode = [&](std::string_view text) {
    return decoder->decode(2, bytes_of(text), out, worker.codec);
  };
  ASSERT_TRUE(
      decode("\xf9"
             "a"
             "\x07"
             "12345678"));
  EXPECT_EQ(std::memcmp(out.data(), "aaaaaaaa12345678", 16), 0);
  EXPECT_EQ(decode("\xf9"
                   "a"
                   "\x07"
                   "1234567")
                .error()
                .code,
            ErrorCode::kCorrupt)
      << "too short";
  EXPECT_EQ(decode("\xf9"
                   "a")
                .error()
                .code,
            ErrorCode::kCorrupt);
  EXPECT_EQ(decode("\xf0"
                   "a")
                .error()
                .code,
            ErrorCode::kCorrupt)
      << "17 bytes";
  EXPECT_EQ(decode("").error().code, ErrorCode::kTruncated);
  out.resize(15);
  EXPECT_EQ(decode("\xf9"
                   "a"
                   "\x07"
                   "12345678")
                .error()
                .code,
            ErrorCode::kInvalidArgument);
}

TEST(TiffDecoder, what_is_no_lzw_deflate_or_zstd_is_an_error) {
  for (const auto compression : {TiffCompression::kLzw, TiffCompression::kDeflate,
                                 TiffCompression::kAdobeDeflate, TiffCompression::kZstd}) {
    const auto decoder = TiffDecoder::make(layout_of(compression));
    ASSERT_TRUE(decoder) << decoder.error().describe();
    Worker worker;
    std::vector<std::byte> out(16);
    for (const std::string_view text : {"x", "what stands here is text", "\xff\xff\xff\xff\xff\xff\xff\xff"})
      EXPECT_FALSE(decoder->decode(2, bytes_of(text), out, worker.codec)) << static_cast<int>(compression);
  }
}

TEST(TiffDecoder, segments_of_more_than_2_gib_are_refused) {
  TiffLayout layout = layout_of(TiffCompression::kLzw);
  layout.width = layout.segment_width = 1 << 20;
  layout.height = layout.segment_rows = 2047;
  EXPECT_TRUE(TiffDecoder::make(layout));
  layout.height = layout.segment_rows = 2048;
  EXPECT_EQ(TiffDecoder::make(layout).error().code, ErrorCode::kTooLarge);
}

TEST(TiffPredictor, differences_are_summed_along_rows_and_channels) {
  std::vector<std::uint8_t> rows = {250, 10, 0, 5, 1, 1, 1, 1};
  undo_tiff_differences(std::as_writable_bytes(std::span(rows)), 4, 1, 1, false);
  EXPECT_EQ(rows, (std::vector<std::uint8_t>{250, 4, 4, 9, 1, 2, 3, 4}));
  rows = {1, 100, 2, 200, 3, 50};
  undo_tiff_differences(std::as_writable_bytes(std::span(rows)), 6, 1, 2, false);
  EXPECT_EQ(rows, (std::vector<std::uint8_t>{1, 100, 3, 44, 6, 94}));
  std::vector<std::uint16_t> wide = {0x0100, 0x00ff, 0x0200};  // 1, 0xff00, 2 in big-endian
  undo_tiff_differences(std::as_writable_bytes(std::span(wide)), 6, 2, 1, true);
  EXPECT_EQ(wide, (std::vector<std::uint16_t>{1, 0xff01, 0xff03}));
}

}  // namespace
}  // namespace penstock
