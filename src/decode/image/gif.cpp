// Decodes the first frame of a GIF with giflib, on the canvas that the file describes. As in Pillow,
// uncovered and transparent pixels have the colour that the palette assigns to their index.
#include "decode/image/image_formats.h"

#ifdef PENSTOCK_WITH_GIF
#include <fmt/format.h>
#include <gif_lib.h>

#include <algorithm>
#include <cstring>

#include "decode/image/grey.h"
#include "decode/image/indexed_pixels.h"
#include "decode/interrupted.h"
#endif

namespace penstock {

#ifdef PENSTOCK_WITH_GIF

namespace {

// The tables of giflib and its state of a frame.
constexpr std::uint64_t kGifLibraryBytes = 128 << 10;

struct GifInput {
  ConstBytes bytes;
  std::size_t at = 0;
};

int read_gif(GifFileType* gif, GifByteType* out, int size) {
  auto* input = static_cast<GifInput*>(gif->UserData);
  const std::size_t count = std::min(static_cast<std::size_t>(std::max(size, 0)), input->bytes.size() - input->at);
  if (count > 0) std::memcpy(out, input->bytes.data() + input->at, count);
  input->at += count;
  return static_cast<int>(count);
}

struct GifCloser {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};

class GifCodec final : public ImageCodec {
 public:
  explicit GifCodec(const Limits& limits) : limits_(limits) {}

  Result<ImageHeader> open(ConstBytes encoded) override {
    gif_.reset();
    encoded_ = encoded;
    PENSTOCK_CHECK(open_first_frame());
    const GifImageDesc& frame = gif_->Image;
    if (frame.Left < 0 || frame.Top < 0 || frame.Width <= 0 || frame.Height <= 0)
      return fail(ErrorCode::kCorrupt, "bad GIF (a frame without pixels)");
    // A frame that is larger than the canvas enlarges it.
    width_ = std::max(gif_->SWidth, frame.Left + frame.Width);
    height_ = std::max(gif_->SHeight, frame.Top + frame.Height);
    PENSTOCK_CHECK(check_image_size(static_cast<std::uint64_t>(width_), static_cast<std::uint64_t>(height_),
                                    limits_));
    PENSTOCK_CHECK(check_frame_is_whole());
    read_palette(frame.ColorMap != nullptr ? frame.ColorMap : gif_->SColorMap);
    return ImageHeader{width_, height_, 1, kGifLibraryBytes};
  }

  std::size_t buffer_bytes(const DecodeRequest& request) const override {
    return decoded_region_bytes(request) + static_cast<std::size_t>(gif_->Image.Width);
  }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (buffer_bytes(request) > buffer.size())
      return fail(ErrorCode::kNoMemory, "region larger than its buffer");
    const Rect& region = request.region;
    const std::size_t stride = decoded_row_bytes(request);
    fill_with_background(request, buffer.first(decoded_region_bytes(request)));
    const MutableBytes line = buffer.subspan(decoded_region_bytes(request));
    const GifImageDesc& frame = gif_->Image;
    const int left = std::max(region.x, frame.Left);
    const int right = std::min(region.x + region.width, frame.Left + frame.Width);
    const int last = std::min(region.y + region.height, frame.Top + frame.Height) - 1 - frame.Top;
    for (int i = 0; i < frame.Height; ++i) {
      const int row = frame.Interlace ? interlaced_row(i, frame.Height) : i;
      if (!frame.Interlace && row > last) break;
      PENSTOCK_CHECK(check_decoding_wanted());
      if (DGifGetLine(gif_.get(), reinterpret_cast<GifPixelType*>(line.data()), frame.Width) != GIF_OK)
        return library_error();
      const int y = frame.Top + row - region.y;
      if (y < 0 || y >= region.height || left >= right) continue;
      write_indexed_row(line.data(), 8, left - frame.Left, right - left, palette_, request.format,
                        buffer.data() + stride * static_cast<std::size_t>(y) +
                            static_cast<std::size_t>(left - region.x) * decoded_pixel_bytes(request.format));
    }
    return finish_region(request, buffer);
  }

 private:
  // Rows of an interlaced frame come in four passes.
  static int interlaced_row(int line, int height) {
    constexpr int kFirst[] = {0, 4, 2, 1}, kStep[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4; ++pass) {
      const int rows = (height - kFirst[pass] + kStep[pass] - 1) / kStep[pass];
      if (line < rows) return kFirst[pass] + line * kStep[pass];
      line -= rows;
    }
    return height - 1;
  }

  // Reads to the beginning of the first frame's pixels.
  Status open_first_frame() {
    input_ = {encoded_, 0};
    int code = 0;
    gif_.reset(DGifOpen(&input_, read_gif, &code));
    if (!gif_) return error_of(code);
    transparent_ = NO_TRANSPARENT_COLOR;
    while (true) {
      GifRecordType record = UNDEFINED_RECORD_TYPE;
      if (DGifGetRecordType(gif_.get(), &record) != GIF_OK) return library_error();
      if (record == IMAGE_DESC_RECORD_TYPE) break;
      if (record == TERMINATE_RECORD_TYPE) return fail(ErrorCode::kCorrupt, "bad GIF (it has no frame)");
      if (record == EXTENSION_RECORD_TYPE) PENSTOCK_CHECK(read_extension());
    }
    return DGifGetImageDesc(gif_.get()) == GIF_OK ? Status() : library_error();
  }

  Status read_extension() {
    int code = 0;
    GifByteType* block = nullptr;
    if (DGifGetExtension(gif_.get(), &code, &block) != GIF_OK) return library_error();
    GraphicsControlBlock control;
    if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] == 4 &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
      transparent_ = control.TransparentColor;
    while (block != nullptr)
      if (DGifGetExtensionNext(gif_.get(), &block) != GIF_OK) return library_error();
    return {};
  }

  // Walks the blocks of the frame up to its end, so that a truncated file is noticed even if the wanted rows
  // are complete.
  Status check_frame_is_whole() const {
    for (std::size_t at = input_.at; at < encoded_.size();) {
      const auto length = std::to_integer<std::size_t>(encoded_[at]);
      if (length == 0) return {};
      at += 1 + length;
    }
    return fail(ErrorCode::kTruncated, "truncated GIF");
  }

  void read_palette(const ColorMapObject* colours) {
    const int count = colours == nullptr ? 0 : std::min(colours->ColorCount, 256);
    for (int i = 0; i < count; ++i)
      palette_[static_cast<std::size_t>(i)] = {colours->Colors[i].Red, colours->Colors[i].Green,
                                               colours->Colors[i].Blue, 0xFF};
    fill_up(palette_, static_cast<std::size_t>(count));
  }

  void fill_with_background(const DecodeRequest& request, MutableBytes out) const {
    const auto index = static_cast<std::uint8_t>(transparent_ == NO_TRANSPARENT_COLOR ? 0 : transparent_);
    if (request.format == PixelFormat::kIndex)
      std::ranges::fill(out, std::byte{index});
    else
      for (std::size_t at = 0; at < out.size(); at += 4) std::memcpy(out.data() + at, &palette_[index], 4);
  }

  std::unexpected<Error> error_of(int code) const {
    const char* text = GifErrorString(code);
    const bool is_cut = input_.at >= encoded_.size();
    return fail(is_cut ? ErrorCode::kTruncated : ErrorCode::kCorrupt,
                fmt::format("{} GIF ({})", is_cut ? "truncated" : "bad", text != nullptr ? text : "no reason given"));
  }
  std::unexpected<Error> library_error() const { return error_of(gif_->Error); }

  Limits limits_;
  ConstBytes encoded_;
  GifInput input_;
  std::unique_ptr<GifFileType, GifCloser> gif_;
  int width_ = 0, height_ = 0;
  int transparent_ = NO_TRANSPARENT_COLOR;
  Palette palette_{};
};

}  // namespace

std::unique_ptr<ImageCodec> make_gif_codec(const Limits& limits) {
  return std::make_unique<GifCodec>(limits);
}

#else

std::unique_ptr<ImageCodec> make_gif_codec(const Limits&) { return nullptr; }

#endif

}  // namespace penstock
