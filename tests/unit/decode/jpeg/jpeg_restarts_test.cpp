#include "decode/jpeg/jpeg_restarts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "penstock/interruption.h"
#include "support/decode_region.h"
#include "support/run_program.h"

namespace penstock {
namespace {

using Random = std::mt19937;

// Everything that libjpeg knows of an image without decoding pixels. The inputs are known to be valid.
struct Contents {
  bool is_progressive = false, is_arithmetic = false;
  int scans = 0;
  unsigned restart_interval = 0, mcus_per_row = 0;
  J_COLOR_SPACE colours = JCS_UNKNOWN;
  std::vector<std::vector<JCOEF>> coefficients;         // of every component
  std::vector<std::vector<UINT16>> quantisation;        // of every component
  std::vector<std::pair<int, std::string>> markers;     // APPn and COM, in their order
};

Contents contents_of(ConstBytes jpeg) {
  Contents out;
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
  jpeg_save_markers(&info, JPEG_COM, 0xFFFF);
  for (int n = 0; n < 16; ++n) jpeg_save_markers(&info, JPEG_APP0 + n, 0xFFFF);
  jpeg_read_header(&info, TRUE);
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&info);
  out.is_progressive = info.progressive_mode;
  out.is_arithmetic = info.arith_code;
  out.scans = info.input_scan_number;
  out.restart_interval = info.restart_interval;
  out.colours = info.jpeg_color_space;
  const unsigned side = DCTSIZE * static_cast<unsigned>(info.num_components == 1 ? 1 : info.max_h_samp_factor);
  out.mcus_per_row = (info.image_width + side - 1) / side;
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info& component = info.comp_info[c];
    auto& coefficients = out.coefficients.emplace_back();
    for (JDIMENSION row = 0; row < component.height_in_blocks; ++row) {
      const JBLOCKARRAY blocks =
          (*info.mem->access_virt_barray)(reinterpret_cast<j_common_ptr>(&info), arrays[c], row, 1, FALSE);
      for (JDIMENSION b = 0; b < component.width_in_blocks; ++b)
        coefficients.insert(coefficients.end(), std::begin(blocks[0][b]), std::end(blocks[0][b]));
    }
    const auto& steps = component.quant_table->quantval;
    out.quantisation.emplace_back(std::begin(steps), std::end(steps));
  }
  for (const jpeg_marker_struct* m = info.marker_list; m != nullptr; m = m->next)
    out.markers.emplace_back(m->marker, std::string(reinterpret_cast<const char*>(m->data), m->data_length));
  jpeg_destroy_decompress(&info);
  return out;
}

Rect random_region(Random& random, int width, int height) {
  const auto below = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  const int w = 1 + below(width), h = 1 + below(height);
  return {below(width - w + 1), below(height - h + 1), w, h};
}

Encoded with_segments(const Encoded& jpeg, const std::vector<std::pair<int, std::string>>& segments) {
  Encoded out(jpeg.begin(), jpeg.begin() + 2);
  for (const auto& [marker, body] : segments) {
    const std::size_t length = body.size() + 2;
    for (const std::size_t byte : {std::size_t{0xFF}, static_cast<std::size_t>(marker), length >> 8, length & 0xFF})
      out.push_back(static_cast<std::byte>(byte));
    for (const char c : body) out.push_back(static_cast<std::byte>(c));
  }
  out.insert(out.end(), jpeg.begin() + 2, jpeg.end());
  return out;
}

struct Case {
  const char* name;
  int channels;
  JpegOptions options;
};

const Case kCases[] = {
    {"s444", 3, {.horizontal = 1, .vertical = 1}},
    {"s422", 3, {.horizontal = 2, .vertical = 1}},
    {"s420", 3, {}},
    {"s440", 3, {.horizontal = 1, .vertical = 2}},
    {"s411", 3, {.horizontal = 4, .vertical = 1}},
    {"s410", 3, {.horizontal = 4, .vertical = 2}},
    {"grey", 1, {}},
    {"cmyk", 4, {.horizontal = 1, .vertical = 1}},
    {"ycck420", 4, {.ycck = true}},
    {"optimised", 3, {.optimised_tables = true}},
    {"optimised_grey", 1, {.optimised_tables = true}},
    {"best_quality", 3, {.quality = 100}},
    {"worst_quality", 3, {.quality = 1, .optimised_tables = true}},
    {"progressive420", 3, {.progressive = true}},
    {"progressive444", 3, {.horizontal = 1, .vertical = 1, .progressive = true}},
    {"progressive_grey", 1, {.progressive = true}},
    {"progressive_cmyk", 4, {.horizontal = 1, .vertical = 1, .progressive = true}},
    {"arithmetic420", 3, {.arithmetic = true}},
    {"restart_rows", 3, {.restart_rows = 3}},
    {"restart_within_rows", 3, {.restart_mcus = 1}},
};

class JpegRestarts : public testing::TestWithParam<Case> {};

TEST_P(JpegRestarts, coefficients_and_markers_are_those_of_the_source) {
  Random random(4);
  for (const auto& [width, height] : {std::pair{1, 1}, {7, 90}, {90, 7}, {64, 48}, {250, 131}}) {
    const Encoded source =
        encode_jpeg(make_picture(width, height, GetParam().channels, random()), GetParam().options);
    const auto rewritten = rewrite_with_restarts(source);
    ASSERT_TRUE(rewritten) << rewritten.error().describe();
    const Contents before = contents_of(source), after = contents_of(*rewritten);
    EXPECT_FALSE(after.is_progressive || after.is_arithmetic);
    EXPECT_EQ(after.scans, 1);
    EXPECT_GE(after.restart_interval, 1u);
    EXPECT_LE(after.restart_interval, after.mcus_per_row);
    EXPECT_EQ(after.colours, before.colours);
    EXPECT_EQ(after.quantisation, before.quantisation);
    EXPECT_EQ(after.markers, before.markers);
    ASSERT_EQ(after.coefficients, before.coefficients) << width << 'x' << height;
  }
}

TEST_P(JpegRestarts, regions_have_the_pixels_of_the_source) {
  Random random(9);
  ImageDecoder decoder, other;
  for (const auto& [width, height] : {std::pair{17, 33}, {120, 75}, {250, 131}}) {
    const Encoded source =
        encode_jpeg(make_picture(width, height, GetParam().channels, random()), GetParam().options);
    const auto rewritten = rewrite_with_restarts(source);
    ASSERT_TRUE(rewritten) << rewritten.error().describe();
    std::vector<std::uint8_t> pixels, rewritten_pixels;
    ASSERT_TRUE(decode_by_libjpeg(source, {}, &pixels) && decode_by_libjpeg(*rewritten, {}, &rewritten_pixels));
    ASSERT_EQ(rewritten_pixels, pixels) << "by libjpeg alone";
    for (int i = 0; i < 60; ++i) {
      const Rect region = random_region(random, width, height);
      const int scale = 1 << random() % 4;
      const PixelFormat format = random() % 4 == 0 ? PixelFormat::kGrey : PixelFormat::kRgbx;
      const auto part = decode_region(decoder, *rewritten, region, format, scale);
      const auto expected = decode_region(other, source, region, format, scale);
      ASSERT_TRUE(part && expected);
      ASSERT_EQ(part->pixels, expected->pixels)
          << width << 'x' << height << " region " << region.x << ',' << region.y << ' ' << region.width << 'x'
          << region.height << " scale " << scale;
    }
  }
}

TEST_P(JpegRestarts, size_grows_by_at_most_one_percent_or_fifteen_if_it_was_progressive) {
  const Encoded source = encode_jpeg(make_picture(500, 375, GetParam().channels, 3), GetParam().options);
  const auto rewritten = rewrite_with_restarts(source);
  ASSERT_TRUE(rewritten);
  if (GetParam().options.quality == 1) return;  // a marker per row is more than 1 % of such a picture
  const double allowed = GetParam().options.progressive ? 1.15 : GetParam().options.arithmetic ? 1.25 : 1.01;
  EXPECT_LE(static_cast<double>(rewritten->size()), static_cast<double>(source.size()) * allowed);
}

TEST_P(JpegRestarts, reserved_memory_covers_the_result) {
  const Encoded source = encode_jpeg(make_picture(90, 70, GetParam().channels, 3), GetParam().options);
  const auto bytes = restart_rewriting_bytes(source);
  const auto rewritten = rewrite_with_restarts(source);
  ASSERT_TRUE(bytes && rewritten);
  EXPECT_GT(*bytes, rewritten->capacity());
}

INSTANTIATE_TEST_SUITE_P(Encodings, JpegRestarts, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST(JpegRestart, exif_icc_comments_and_thumbnails_are_kept_byte_by_byte_and_in_order) {
  std::string jfif_with_thumbnail("JFIF\0\1\2\1\0\x48\0\x48\2\1", 14);
  jfif_with_thumbnail += "RGBrgb";
  const std::string icc(65000, 'i');
  const std::vector<std::pair<int, std::string>> segments = {
      {JPEG_APP0, jfif_with_thumbnail},       {JPEG_APP0 + 2, std::string("ICC_PROFILE\0\1\2", 14) + icc},
      {JPEG_COM, "a comment"},                {JPEG_APP0 + 2, std::string("ICC_PROFILE\0\2\2", 14) + icc},
      {JPEG_APP0 + 1, std::string("Exif\0\0", 6)}, {JPEG_APP0 + 13, "Photoshop 3.0"},
      {JPEG_COM, ""},                         {JPEG_APP0 + 15, "x"},
  };
  for (const bool progressive : {false, true}) {
    const Encoded source = with_segments(
        encode_jpeg(make_picture(64, 48, 3, 1), {.progressive = progressive, .orientation = 6}), segments);
    const auto rewritten = rewrite_with_restarts(source);
    ASSERT_TRUE(rewritten) << rewritten.error().describe();
    const Contents before = contents_of(source), after = contents_of(*rewritten);
    ASSERT_EQ(before.markers.size(), segments.size() + 2);
    EXPECT_EQ(after.markers, before.markers);
    ImageDecoder decoder;
    EXPECT_EQ(decoder.open(*rewritten)->orientation, decoder.open(source)->orientation);
  }
}

TEST(JpegRestart, tables_are_kept_unless_that_costs_more_than_one_percent) {
  const auto table_bytes = [](ConstBytes jpeg) {
    std::vector<std::byte> out;
    for (std::size_t at = 2; jpeg[at + 1] != std::byte{0xDA};) {
      const std::size_t length =
          2 + (std::to_integer<std::size_t>(jpeg[at + 2]) << 8 | std::to_integer<std::size_t>(jpeg[at + 3]));
      if (jpeg[at + 1] == std::byte{0xC4}) out.insert(out.end(), jpeg.begin() + at + 4, jpeg.begin() + at + length);
      at += length;
    }
    return out;
  };
  const Picture picture = make_picture(500, 375, 3, 3);
  const Encoded usual = encode_jpeg(picture), optimised = encode_jpeg(picture, {.optimised_tables = true});
  const auto from_usual = rewrite_with_restarts(usual), from_optimised = rewrite_with_restarts(optimised);
  ASSERT_TRUE(from_usual && from_optimised);
  EXPECT_EQ(table_bytes(*from_usual), table_bytes(usual));
  EXPECT_LE(from_optimised->size(), optimised.size() + optimised.size() / 100);
}

TEST(JpegRestart, result_is_the_same_every_time_and_can_be_rewritten_again) {
  const Encoded source = encode_jpeg(make_picture(250, 131, 3, 1), {.progressive = true});
  const auto once = rewrite_with_restarts(source), twice = rewrite_with_restarts(source);
  ASSERT_TRUE(once && twice);
  EXPECT_EQ(*once, *twice);
  const auto again = rewrite_with_restarts(*once);
  ASSERT_TRUE(again);
  EXPECT_EQ(contents_of(*again).coefficients, contents_of(source).coefficients);
}

TEST(JpegRestart, damaged_files_are_refused_where_the_decoder_refuses_them_and_nowhere_else) {
  Random random(31);
  ImageDecoder decoder(Limits{.image_pixels = 1 << 20});
  int refused = 0, done = 0;
  for (const char* name : {"baseline.jpg", "cmyk.jpg", "exif_3.jpg", "grey.jpg", "progressive.jpg"}) {
    const Encoded whole = golden_bytes(name);
    for (int round = 0; round < 200; ++round) {
      Encoded bytes = whole;
      if (round % 4 == 0) {
        bytes.resize(random() % bytes.size());
      } else {
        for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
          bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
      }
      const auto rewritten = rewrite_with_restarts(bytes, Limits{.image_pixels = 1 << 20});
      const auto pixels = decode_all(decoder, bytes);
      if (!pixels) {
        ASSERT_FALSE(rewritten) << name << " round " << round;
        ++refused;
        continue;
      }
      if (!rewritten) {
        ASSERT_EQ(rewritten.error().code, ErrorCode::kUnsupported) << rewritten.error().describe();
        continue;
      }
      ++done;
      const auto after = decode_all(decoder, *rewritten);
      ASSERT_TRUE(after) << after.error().describe();
      ASSERT_EQ(after->pixels, pixels->pixels) << name << " round " << round;
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(done, 50);
}

TEST(JpegRestart, other_files_and_images_beyond_the_limits_are_refused) {
  EXPECT_EQ(rewrite_with_restarts({}).error().code, ErrorCode::kTruncated);
  EXPECT_FALSE(rewrite_with_restarts(encode_png(make_picture(8, 8, 3, 1))));
  const Encoded source = encode_jpeg(make_picture(64, 48, 3, 1));
  EXPECT_EQ(rewrite_with_restarts(source, Limits{.image_pixels = 64 * 48 - 1}).error().code, ErrorCode::kTooLarge);
  const Encoded many_scans = encode_jpeg(flat_picture(1600, 1600, 1, 77), {.quality = 75, .scans = 499});
  const auto refused = rewrite_with_restarts(many_scans);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("too many scans"), std::string::npos) << refused.error().message;
}

// Arithmetic coding needs next to nothing for a flat picture, Huffman codes at least a bit for each coefficient run.
TEST(JpegRestart, file_that_would_become_more_than_twice_as_large_is_left_to_the_caller) {
  const Encoded source = encode_jpeg(flat_picture(3000, 3000, 3, 77), {.arithmetic = true});
  const auto refused = rewrite_with_restarts(source);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("too large"), std::string::npos) << refused.error().message;
}

TEST(JpegRestart, request_to_stop_is_obeyed) {
  const Encoded source = encode_jpeg(make_picture(64, 48, 3, 1));
  Interruption interruption;
  const Interruption::Scope scope(&interruption);
  ASSERT_TRUE(rewrite_with_restarts(source));
  interruption.request();
  EXPECT_EQ(rewrite_with_restarts(source).error().code, ErrorCode::kStopped);
}

}  // namespace
}  // namespace penstock
