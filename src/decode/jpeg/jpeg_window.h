// The part of a JPEG that a region needs, seen as a JPEG of its own.
//
// Why: an image with restart markers can be entered at any of them. libjpeg cannot do that, but it can be given a
// header that claims only the part, and our Huffman decoder supplies the MCUs of the part from wherever they are. So
// libjpeg allocates, transforms and converts no more than the part. See docs/decisions/0038.
#pragma once

#include <cstdio>  // jpeglib.h needs FILE
#include <vector>

#include <jpeglib.h>

#include "base/bytes.h"
#include "decode/image/image.h"

namespace penstock {

struct JpegWindow {
  Rect pixels;  // whole MCUs, except at the right and bottom edge of the image
  // In MCUs:
  unsigned first_column = 0, first_row = 0;
  unsigned image_columns = 0, image_rows = 0;
  bool is_whole_image = false;
  bool has_last_mcu = false;  // of the image
};

// The smallest window in which the pixels of `region`, scaled down by `scale_denominator`, are those of the whole
// image. `image` must have one scan, and its header must have been read.
JpegWindow jpeg_window(const jpeg_decompress_struct& image, const Rect& region, int scale_denominator);

// Replaces `out` by the header of an image of this size with the tables and colours of another, whose `header` reaches
// to the first byte of its scan. EXIF, ICC profiles and the like are left out. Returns false if the header has anything
// unexpected in it.
bool write_window_header(ConstBytes header, const Rect& window, std::vector<std::byte>& out);

}  // namespace penstock
