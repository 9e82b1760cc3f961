#include "decode/tiff/tiff_axes.h"

#include <gtest/gtest.h>

#include "decode/tiff/ome_xml.h"

namespace penstock {
namespace {

TiffDirectories file_of(std::uint64_t pages, std::string description) {
  TiffDirectories file;
  file.layout.width = 10;
  file.layout.height = 12;
  file.pages = pages;
  file.description = std::move(description);
  return file;
}

std::string axes_of(std::uint64_t pages, const std::string& description) {
  const auto axes = read_tiff_axes(file_of(pages, description), "a.tif");
  return axes ? axes->problem.empty() ? axes->describe() : "problem" : "error";
}

TEST(TiffAxes, imagej) {
  EXPECT_EQ(axes_of(24, "ImageJ=1.5\nimages=24\nchannels=2\nslices=3\nframes=4\n"), "T 4 x Z 3 x C 2");
  EXPECT_EQ(axes_of(24, "ImageJ=1.5\r\nchannels = 2\r\nslices=3\r\nframes=4\r\norder=zct\r\n"), "T 4 x C 2 x Z 3");
  EXPECT_EQ(axes_of(6, "ImageJ=1.5\nimages=6\n"), "");
  EXPECT_EQ(axes_of(6, "ImageJ=1.5\nslices=6"), "Z 6");
  EXPECT_EQ(axes_of(6, "ImageJ=1.5\nslices=-6\n"), "error");
  EXPECT_EQ(axes_of(6, "ImageJ=1.5\nslices=99999999999999999999\n"), "error");
  EXPECT_EQ(axes_of(6, "ImageJ=1.5\nslices=2\nchannels=3\norder=xyz\n"), "Z 2 x C 3");
  EXPECT_EQ(axes_of(6, "NotImageJ=1.5\nslices=2\n"), "");
}

TEST(TiffAxes, shapes_of_tifffile) {
  EXPECT_EQ(axes_of(6, R"({"shape": [3, 2, 12, 10]})"), "Q 3 x Q 2");
  EXPECT_EQ(axes_of(6, R"({"axes": "ZCYX", "shape": [3, 2, 12, 10]})"), "Z 3 x C 2");
  EXPECT_EQ(axes_of(6, R"({"shape": [1, 6, 12, 10]})"), "Q 1 x Q 6");
  EXPECT_EQ(axes_of(6, R"({"shape": [6, 12, 10, 1]})"), "Z 6");
  EXPECT_EQ(axes_of(6, R"({"shape": [12, 10]})"), "");
  for (const char* text : {"{", R"({"shape")", R"({"shape": )", R"({"shape": [)", R"({"shape": [1,)", R"({"shape": [],})",
                           R"({"shape": [-1, 12, 10]})", R"({"shape": ["a"]})", R"({"shape": [5, 5]})"})
    EXPECT_EQ(axes_of(6, text), "") << text;
}

std::string pixels(const std::string& order, const std::string& more = "") {
  return "<OME><Image><Pixels DimensionOrder=\"" + order +
         "\" SizeX='10' SizeY=\"12\" SizeZ = \"3\" SizeC=\"2\" SizeT=\"1\"" + more;
}

TEST(TiffAxes, ome) {
  EXPECT_EQ(axes_of(6, pixels("XYZCT", "/></Image></OME>")), "C 2 x Z 3");
  EXPECT_EQ(axes_of(6, pixels("XYCZT", "><TiffData/></Pixels></Image></OME>")), "Z 3 x C 2");
  EXPECT_EQ(axes_of(6, "\xef\xbb\xbf<?xml version='1.0'?>" + pixels("XYCZT", "/>")), "Z 3 x C 2");
  EXPECT_EQ(axes_of(6, pixels("XYCZT", "/></Image><Image><Pixels/></Image>")), "problem");
  EXPECT_EQ(axes_of(6, pixels("XYCZT", "><TiffData IFD='1'/>")), "problem");
  EXPECT_EQ(axes_of(6, pixels("YXCZT", "/>")), "error");
  EXPECT_EQ(axes_of(6, pixels("XYCZT", "><!DOCTYPE a>")), "error");
  EXPECT_EQ(axes_of(6, "<OME></OME>"), "problem");
  EXPECT_EQ(axes_of(1, "<OME></OME>"), "");
  EXPECT_EQ(axes_of(6, "<svg></svg>"), "");
}

TEST(OmeXml, text_that_ends_anywhere_is_no_danger) {
  const std::string text = "<?xml?><!-- a --><OME a='b'><![CDATA[ <Pixels ]]>" + pixels("XYZCT", "><UUID FileName='c'>u</UUID></Pixels>");
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string part = text.substr(0, length);
    is_ome_xml(part);
    const auto found = read_ome_pixels(part, "a.tif");
    EXPECT_TRUE(found || found.error().where.uri == "a.tif");
  }
  const auto found = read_ome_pixels(text, "a.tif");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->order, "ZCT");
  EXPECT_EQ((*found)->images, 1u);
}

}  // namespace
}  // namespace penstock
