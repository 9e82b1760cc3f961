#include "decode/image/image_formats.h"

#include <gtest/gtest.h>

#include <set>

#include "support/text_bytes.h"

namespace penstock {
namespace {

TEST(ImageFormats, every_ending_belongs_to_one_format) {
  std::set<std::string_view> endings;
  for (const ImageFormat& format : image_formats()) {
    EXPECT_FALSE(format.endings.empty()) << format.name;
    for (const std::string_view ending : format.endings) {
      EXPECT_TRUE(endings.insert(ending).second) << ending;
      EXPECT_TRUE(is_image_ending(ending));
      EXPECT_NE(image_endings().find(ending), std::string::npos);
    }
  }
  EXPECT_FALSE(is_image_ending("JPG"));
  EXPECT_FALSE(is_image_ending("txt"));
}

TEST(ImageFormats, the_first_bytes_tell_the_format) {
  const auto name_of_first = [](std::string_view text) -> std::string_view {
    const auto bytes = bytes_of(text);
    const ImageFormat* const format = image_format_of(bytes);
    return format == nullptr ? "" : format->name;
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(name_of_first("\xFF\xD8"sv), "JPEG");
  EXPECT_EQ(name_of_first("\x89PNG\r\n\x1A\n"sv), "PNG");
  EXPECT_EQ(name_of_first("RIFF....WEBP"sv), "WebP");
  EXPECT_EQ(name_of_first("MM\0+"sv), "TIFF");
  EXPECT_EQ(name_of_first("GIF89a"sv), "GIF");
  EXPECT_EQ(name_of_first("P6\n3"sv), "PNM");
  EXPECT_EQ(name_of_first("P6xx"sv), "");
  EXPECT_EQ(name_of_first("qoif"sv), "QOI");
  EXPECT_EQ(name_of_first("qoi"sv), "");
  EXPECT_EQ(name_of_first(""sv), "");
}

}  // namespace
}  // namespace penstock
