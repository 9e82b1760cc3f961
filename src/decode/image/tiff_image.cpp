// Decodes the first page of a TIFF file with libtiff, and only the rows or tiles of the region.
//
// Two checks bound the memory that a malicious file can cost: tags may not claim more data than the file has
// (libtiff keeps the data of every tag, and many tags can claim the same bytes), and only compressions whose
// decoders need little memory are supported. tiff.h reads volumes and stacks.
#include "decode/image/image_formats.h"

#ifdef PENSTOCK_WITH_TIFF
#include <tiffio.h>
#endif

// Before 4.5, libtiff reported messages only through handlers that the whole process shares.
#if defined(PENSTOCK_WITH_TIFF) && TIFFLIB_VERSION >= 20221213
#define PENSTOCK_READS_TIFF_IMAGES

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "decode/image/grey.h"
#include "decode/interrupted.h"
#include "decode/jpeg/jpeg_memory.h"
#include "decode/tiff/tiff_pixels.h"
#include "decode/tiff/tiff_reader.h"
#include "store/store.h"
#endif

namespace penstock {

#ifdef PENSTOCK_READS_TIFF_IMAGES

namespace {

constexpr std::uint64_t kTiffLibraryBytes = 1 << 20;              // tables of the decompressors
constexpr std::uint64_t kMaxJpegBytes = 100 << 20;           // the limit of libtiff itself
constexpr std::size_t kMaxJpegComponents = 10;
constexpr std::array<std::uint16_t, 9> kCompressionsRead = {
    COMPRESSION_NONE, COMPRESSION_CCITTRLE, COMPRESSION_CCITTFAX3,     COMPRESSION_CCITTFAX4, COMPRESSION_LZW,
    COMPRESSION_JPEG, COMPRESSION_PACKBITS, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE};

struct MemoryFile {
  ConstBytes bytes;
  toff_t at = 0;
  char error[160] = {}, warning[160] = {};
};

tmsize_t read_image(thandle_t handle, void* out, tmsize_t wanted) {
  auto* file = static_cast<MemoryFile*>(handle);
  if (wanted <= 0 || file->at >= file->bytes.size()) return 0;
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(wanted), file->bytes.size() - file->at);
  std::memcpy(out, file->bytes.data() + file->at, count);
  file->at += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t write_image(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek_image(thandle_t handle, toff_t offset, int whence) {
  auto* file = static_cast<MemoryFile*>(handle);
  file->at = (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->at : file->bytes.size()) + offset;
  return file->at;
}

toff_t size_of_image(thandle_t handle) { return static_cast<MemoryFile*>(handle)->bytes.size(); }
int close_image(thandle_t) { return 0; }

// Lets libtiff read compressed data in place. It does not write to them; the pointer is not const only
// because writers use the same interface.
int map_file(thandle_t handle, void** base, toff_t* size) {
  auto* file = static_cast<MemoryFile*>(handle);
  *base = const_cast<std::byte*>(file->bytes.data());
  *size = file->bytes.size();
  return 1;
}
void unmap_file(thandle_t, void*, toff_t) {}

// Both keep the first message, and tell libtiff not to print it.
int on_image_error(TIFF*, void* data, const char*, const char* format, va_list arguments) {
  auto* file = static_cast<MemoryFile*>(data);
  if (file->error[0] == 0) std::vsnprintf(file->error, sizeof file->error, format, arguments);
  return 1;
}
int on_image_warning(TIFF*, void* data, const char*, const char* format, va_list arguments) {
  auto* file = static_cast<MemoryFile*>(data);
  if (file->warning[0] == 0) std::vsnprintf(file->warning, sizeof file->warning, format, arguments);
  return 1;
}

struct ImageCloser {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

// Presents bytes in memory as an object of a store, for TiffReader.
class BorrowedObject final : public Object {
 public:
  explicit BorrowedObject(ConstBytes bytes) : Object({bytes.size(), 0}), bytes_(bytes) {}
  Status read_at(std::uint64_t offset, std::span<const MutableBytes> parts) override {
    for (const MutableBytes part : parts) {
      if (offset > bytes_.size() || part.size() > bytes_.size() - offset)
        return fail(ErrorCode::kTruncated, "truncated TIFF");
      std::memcpy(part.data(), bytes_.data() + offset, part.size());
      offset += part.size();
    }
    return {};
  }

 private:
  ConstBytes bytes_;
};

// Refuses overlapping tags, which would make libtiff allocate the same bytes many times, and tags that
// libtiff cannot read, which it ignores with a warning: without its palette, a picture would have other
// colours.
Status check_directory(ConstBytes encoded) {
  BorrowedObject object(encoded);
  const std::string uri;
  TiffReader reader(object, uri);
  const auto first = reader.read_header();
  if (!first) return std::unexpected(first.error());
  const auto directory = reader.directory(*first);
  if (!directory) return std::unexpected(directory.error());
  std::uint64_t left = encoded.size();
  bool wants_palette = false, has_palette = false;
  for (std::uint64_t i = 0; i < directory->entries; ++i) {
    const auto entry = reader.entry(*directory, i);
    if (!entry) return std::unexpected(entry.error());
    if (entry->table_bytes > left)
      return fail(ErrorCode::kCorrupt, fmt::format("bad TIFF (tag {} claims more data than the file holds)", entry->tag));
    left -= entry->table_bytes;
    if (entry->value_at > encoded.size() || entry->table_bytes > encoded.size() - entry->value_at)
      return fail(ErrorCode::kTruncated, "truncated TIFF");
    if (entry->tag == TIFFTAG_PHOTOMETRIC) {
      const auto meaning = reader.value(*entry, 0);
      wants_palette = meaning && *meaning == PHOTOMETRIC_PALETTE;
    }
    has_palette = has_palette || entry->tag == TIFFTAG_COLORMAP;
  }
  if (wants_palette && !has_palette) return fail(ErrorCode::kCorrupt, "bad TIFF (its palette is missing)");
  return {};
}

class TiffCodec final : public ImageCodec {
 public:
  explicit TiffCodec(const Limits& limits) : limits_(limits) {}

  Result<ImageHeader> open(ConstBytes encoded) override {
    tiff_.reset();
    PENSTOCK_CHECK(check_directory(encoded));
    file_ = MemoryFile{encoded};
    PENSTOCK_CHECK(open_library(encoded.size()));
    std::uint32_t width = 0, height = 0;
    if (!TIFFGetField(tiff_.get(), TIFFTAG_IMAGEWIDTH, &width) ||
        !TIFFGetField(tiff_.get(), TIFFTAG_IMAGELENGTH, &height))
      return fail(ErrorCode::kCorrupt, "bad TIFF (its size is missing)");
    PENSTOCK_CHECK(check_image_size(width, height, limits_));
    width_ = static_cast<int>(width);
    height_ = static_cast<int>(height);
    compression_ = number(TIFFTAG_COMPRESSION);
    if (std::ranges::find(kCompressionsRead, compression_) == kCompressionsRead.end() ||
        !TIFFIsCODECConfigured(compression_))
      return fail(ErrorCode::kUnsupported, fmt::format("TIFF compression {} is not read", compression_));
    PENSTOCK_CHECK(read_meaning());
    PENSTOCK_CHECK(read_segments());
    ImageHeader header{width_, height_, 1, working_bytes(encoded.size())};
    const std::uint16_t orientation = number(TIFFTAG_ORIENTATION);
    header.orientation = orientation >= 1 && orientation <= 8 ? orientation : 1;
    header.always_oriented = true;
    return header;
  }

  std::size_t buffer_bytes(const DecodeRequest& request) const override {
    return decoded_region_bytes(request) + segment_bytes_;
  }

  Result<PixelView> decode(const DecodeRequest& request, MutableBytes buffer) override {
    if (request.format == PixelFormat::kIndex && !pixels_.has_indices())
      return fail(ErrorCode::kUnsupported, "a mask must be grey or have a palette, of at most 8 bits");
    if (buffer_bytes(request) > buffer.size())
      return fail(ErrorCode::kNoMemory, "region larger than its buffer");
    file_.error[0] = file_.warning[0] = 0;
    for (int plane = 0; plane < pixels_.planes(); ++plane)
      PENSTOCK_CHECK(is_tiled_ ? read_tiles(request, plane, buffer) : read_rows(request, plane, buffer));
    // For these compressions, libtiff only warns about invalid data and invents the rest.
    if (file_.warning[0] != 0 && (compression_ == COMPRESSION_JPEG || compression_ == COMPRESSION_PACKBITS))
      return fail(ErrorCode::kCorrupt, fmt::format("bad TIFF ({})", file_.warning));
    const Rect& region = request.region;
    for (int y = 0; y < region.height; ++y)
      pixels_.finish_row(region.width, request.format, row_of(request, buffer, y));
    return finish_region(request, buffer);
  }

 private:
  static std::byte* row_of(const DecodeRequest& request, MutableBytes buffer, int y) {
    return buffer.data() + decoded_row_bytes(request) * static_cast<std::size_t>(y);
  }

  Status open_library(std::size_t file_bytes) {
    const std::unique_ptr<TIFFOpenOptions, ImageCloser> options(TIFFOpenOptionsAlloc());
    if (!options) return fail(ErrorCode::kNoMemory, "libtiff has no memory");
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_image_error, &file_);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_image_warning, &file_);
    // Offsets of strips may have 2 bytes in the file and have 8 in memory.
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(),
                                        static_cast<tmsize_t>(4 * file_bytes + kTiffLibraryBytes));
    // "c": strips as they are stored, not cut into smaller ones.
    tiff_.reset(TIFFClientOpenExt("image", "rc", &file_, read_image, write_image, seek_image, close_image,
                                  size_of_image, map_file, unmap_file, options.get()));
    return tiff_ ? Status() : library_error();
  }

  std::uint16_t number(std::uint32_t tag) const {
    std::uint16_t value = 0;
    return TIFFGetFieldDefaulted(tiff_.get(), tag, &value) ? value : std::uint16_t{0};
  }

  Status read_meaning() {
    TiffPixels::Tags tags;
    tags.bits = number(TIFFTAG_BITSPERSAMPLE);
    tags.samples = number(TIFFTAG_SAMPLESPERPIXEL);
    tags.sample_format = number(TIFFTAG_SAMPLEFORMAT);
    tags.photometric = number(TIFFTAG_PHOTOMETRIC);
    tags.separate_planes = number(TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
    tags.is_jpeg = compression_ == COMPRESSION_JPEG;
    std::uint16_t extra_count = 0;
    const std::uint16_t* extra = nullptr;
    if (TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_EXTRASAMPLES, &extra_count, &extra) && extra_count > 0)
      tags.alpha = extra[0];
    std::uint16_t* colours[3] = {};
    if (TIFFGetField(tiff_.get(), TIFFTAG_COLORMAP, &colours[0], &colours[1], &colours[2]))
      std::ranges::copy(colours, tags.colours);
    auto pixels = TiffPixels::make(tags);
    if (!pixels) return std::unexpected(std::move(pixels).error());
    pixels_ = std::move(*pixels);
    samples_ = tags.samples;
    if (tags.is_jpeg && tags.photometric == PHOTOMETRIC_YCBCR &&
        !TIFFSetField(tiff_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB))
      return library_error();
    return {};
  }

  Status read_segments() {
    is_tiled_ = TIFFIsTiled(tiff_.get()) != 0;
    std::uint32_t columns = static_cast<std::uint32_t>(width_), rows = static_cast<std::uint32_t>(height_);
    if (is_tiled_) {
      if (!TIFFGetField(tiff_.get(), TIFFTAG_TILEWIDTH, &columns) ||
          !TIFFGetField(tiff_.get(), TIFFTAG_TILELENGTH, &rows))
        return fail(ErrorCode::kCorrupt, "bad TIFF (the size of its tiles is missing)");
      PENSTOCK_CHECK(check_image_size(columns, rows, limits_));
    } else if (!TIFFGetField(tiff_.get(), TIFFTAG_ROWSPERSTRIP, &rows) ||
               rows > static_cast<std::uint32_t>(height_)) {
      rows = static_cast<std::uint32_t>(height_);
    }
    if (columns == 0 || rows == 0) return fail(ErrorCode::kCorrupt, "bad TIFF (strips without rows)");
    segment_columns_ = static_cast<int>(columns);
    segment_rows_ = static_cast<int>(rows);
    segment_bytes_ = is_tiled_ ? TIFFTileSize64(tiff_.get()) : TIFFScanlineSize64(tiff_.get());
    segment_row_bytes_ = is_tiled_ ? TIFFTileRowSize64(tiff_.get()) : segment_bytes_;
    const std::uint64_t needed =
        (std::uint64_t{columns} * number(TIFFTAG_BITSPERSAMPLE) * (pixels_.planes() > 1 ? 1 : samples_) + 7) / 8;
    if (segment_row_bytes_ < needed || segment_bytes_ < segment_row_bytes_)
      return fail(ErrorCode::kCorrupt, "bad TIFF (its rows have no size)");
    return {};
  }

  // Memory that libtiff allocates: a copy of data with reversed bits, and the coefficients of a progressive
  // JPEG.
  std::uint64_t working_bytes(std::size_t file_bytes) const {
    std::uint64_t bytes = kTiffLibraryBytes;
    if (number(TIFFTAG_FILLORDER) != FILLORDER_MSB2LSB) bytes += file_bytes;
    if (compression_ == COMPRESSION_JPEG) bytes += std::min(jpeg_bytes(), kMaxJpegBytes);
    return bytes;
  }

  // It is unknown before reading whether a strip is progressive. libtiff refuses strips whose sampling
  // factors differ from those of the directory.
  std::uint64_t jpeg_bytes() const {
    std::array<JpegSampling, kMaxJpegComponents> sampling;
    std::uint16_t across = 1, down = 1;
    if (number(TIFFTAG_PHOTOMETRIC) == PHOTOMETRIC_YCBCR &&
        TIFFGetFieldDefaulted(tiff_.get(), TIFFTAG_YCBCRSUBSAMPLING, &across, &down))
      sampling[0] = {across, down};
    const std::size_t components = pixels_.planes() > 1 ? 1 : std::min<std::size_t>(samples_, sampling.size());
    return jpeg_working_bytes(static_cast<unsigned>(segment_columns_), static_cast<unsigned>(segment_rows_),
                              std::span(sampling).first(components), true);
  }

  // A strip can be read only from its first row on.
  Status read_rows(const DecodeRequest& request, int plane, MutableBytes buffer) {
    const Rect& region = request.region;
    std::byte* row = buffer.data() + decoded_region_bytes(request);
    for (int y = region.y - region.y % segment_rows_; y < region.y + region.height; ++y) {
      PENSTOCK_CHECK(check_decoding_wanted());
      if (TIFFReadScanline(tiff_.get(), row, static_cast<std::uint32_t>(y), static_cast<std::uint16_t>(plane)) < 0)
        return library_error();
      if (y >= region.y)
        pixels_.write_row(row, region.x, region.width, plane, request.format,
                          row_of(request, buffer, y - region.y));
    }
    return {};
  }

  Status read_tiles(const DecodeRequest& request, int plane, MutableBytes buffer) {
    const Rect& region = request.region;
    const MutableBytes tile = buffer.subspan(decoded_region_bytes(request), segment_bytes_);
    const int bottom = region.y + region.height, right = region.x + region.width;
    for (int top = region.y - region.y % segment_rows_; top < bottom; top += segment_rows_)
      for (int left = region.x - region.x % segment_columns_; left < right; left += segment_columns_) {
        PENSTOCK_CHECK(check_decoding_wanted());
        const std::uint32_t number_of_tile =
            TIFFComputeTile(tiff_.get(), static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(top), 0,
                            static_cast<std::uint16_t>(plane));
        const tmsize_t got = TIFFReadEncodedTile(tiff_.get(), number_of_tile, tile.data(),
                                                 static_cast<tmsize_t>(tile.size()));
        if (got < 0) return library_error();
        if (static_cast<std::size_t>(got) < tile.size()) return fail(ErrorCode::kTruncated, "truncated TIFF");
        const int x = std::max(left, region.x), end = std::min(left + segment_columns_, right);
        for (int y = std::max(top, region.y); y < std::min(top + segment_rows_, bottom); ++y)
          pixels_.write_row(tile.data() + static_cast<std::size_t>(y - top) * segment_row_bytes_, x - left, end - x,
                            plane, request.format,
                            row_of(request, buffer, y - region.y) +
                                static_cast<std::size_t>(x - region.x) * decoded_pixel_bytes(request.format));
      }
    return {};
  }

  std::unexpected<Error> library_error() const {
    return fail(ErrorCode::kCorrupt, fmt::format("bad or cut TIFF ({})", file_.error));
  }

  Limits limits_;
  MemoryFile file_;
  std::unique_ptr<TIFF, ImageCloser> tiff_;
  TiffPixels pixels_;
  int width_ = 0, height_ = 0;
  std::uint16_t compression_ = 0, samples_ = 1;
  bool is_tiled_ = false;
  int segment_columns_ = 0, segment_rows_ = 0;                  // of a tile or strip
  std::uint64_t segment_bytes_ = 0, segment_row_bytes_ = 0;     // of a tile, or of one row of a strip
};

}  // namespace

std::unique_ptr<ImageCodec> make_tiff_codec(const Limits& limits) {
  return std::make_unique<TiffCodec>(limits);
}

#else

std::unique_ptr<ImageCodec> make_tiff_codec(const Limits&) { return nullptr; }

#endif

}  // namespace penstock
