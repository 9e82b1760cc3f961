#include "decode/tiff/tiff.h"

#include <fmt/format.h>

#ifdef PENSTOCK_WITH_TIFF
#include <tiffio.h>
#endif

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "decode/tiff/tiff_predictor.h"

namespace penstock {
namespace {

// Before 4.5, libtiff reported messages only through handlers that the whole process shares.
#if defined(PENSTOCK_WITH_TIFF) && TIFFLIB_VERSION >= 20221213

bool libtiff_reads(TiffCompression compression) {
  return TIFFIsCODECConfigured(static_cast<std::uint16_t>(compression)) != 0;
}

constexpr std::size_t kEntries = 8;
constexpr std::size_t kFileBytes = 8 + 2 + kEntries * 12 + 4;

// A TIFF file of one row of bytes, without the data.
class SmallFile {
 public:
  SmallFile(TiffCompression compression, std::uint32_t encoded_bytes, std::uint32_t decoded_bytes) {
    size = kFileBytes + encoded_bytes;
    put(0x4949, 2);
    put(42, 2);
    put(8, 4);
    put(kEntries, 2);
    put_entry(TIFFTAG_IMAGEWIDTH, decoded_bytes);
    put_entry(TIFFTAG_IMAGELENGTH, 1);
    put_entry(TIFFTAG_BITSPERSAMPLE, 8);
    put_entry(TIFFTAG_COMPRESSION, static_cast<std::uint32_t>(compression));
    put_entry(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    put_entry(TIFFTAG_STRIPOFFSETS, kFileBytes);
    put_entry(TIFFTAG_ROWSPERSTRIP, 1);
    put_entry(TIFFTAG_STRIPBYTECOUNTS, encoded_bytes);
    put(0, 4);
  }

  std::array<std::byte, kFileBytes> bytes{};
  toff_t at = 0;  // of libtiff's next read
  toff_t size = 0;
  char error[160] = {}, warning[160] = {};

 private:
  void put(std::uint32_t value, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) bytes[written_++] = static_cast<std::byte>(value >> 8 * i);
  }
  void put_entry(std::uint16_t tag, std::uint32_t value) {
    put(tag, 2);
    put(TIFF_LONG, 2);
    put(1, 4);
    put(value, 4);
  }

  std::size_t written_ = 0;
};

tmsize_t read_file(thandle_t handle, void* out, tmsize_t wanted) {
  auto* file = static_cast<SmallFile*>(handle);
  if (wanted <= 0 || file->at >= file->bytes.size()) return 0;
  const auto count = std::min<std::size_t>(static_cast<std::size_t>(wanted), file->bytes.size() - file->at);
  std::memcpy(out, file->bytes.data() + file->at, count);
  file->at += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t write_file(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek_file(thandle_t handle, toff_t offset, int whence) {
  auto* file = static_cast<SmallFile*>(handle);
  file->at = (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? file->at : file->size) + offset;
  return file->at;
}

toff_t size_of_file(thandle_t handle) { return static_cast<SmallFile*>(handle)->size; }

int close_file(thandle_t) { return 0; }

// Both keep the first message, and tell libtiff not to print it.
int on_strip_error(TIFF*, void* data, const char*, const char* format, va_list arguments) {
  auto* file = static_cast<SmallFile*>(data);
  if (file->error[0] == 0) std::vsnprintf(file->error, sizeof file->error, format, arguments);
  return 1;
}

int on_strip_warning(TIFF*, void* data, const char*, const char* format, va_list arguments) {
  auto* file = static_cast<SmallFile*>(data);
  if (file->warning[0] == 0) std::vsnprintf(file->warning, sizeof file->warning, format, arguments);
  return 1;
}

struct Closer {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

Status decompress_with_libtiff(TiffCompression compression, ConstBytes encoded, MutableBytes out) {
  SmallFile file(compression, static_cast<std::uint32_t>(encoded.size()),
                 static_cast<std::uint32_t>(out.size()));
  const std::unique_ptr<TIFFOpenOptions, Closer> options(TIFFOpenOptionsAlloc());
  if (!options) return fail(ErrorCode::kNoMemory, "libtiff has no memory");
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_strip_error, &file);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_strip_warning, &file);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), 1 << 20);  // more than the tables of LZW take
  const std::unique_ptr<TIFF, Closer> tiff(TIFFClientOpenExt("strip", "rm", &file, read_file, write_file,
                                                             seek_file, close_file, size_of_file, nullptr,
                                                             nullptr, options.get()));
  if (!tiff) return fail(ErrorCode::kUnsupported, fmt::format("libtiff cannot read it ({})", file.error));
  file.warning[0] = 0;  // earlier warnings concern the directory that we wrote
  // libtiff would write to it only to reverse bits, which this directory does not ask for.
  auto* stored = const_cast<std::byte*>(encoded.data());
  const int read = TIFFReadFromUserBuffer(tiff.get(), 0, stored, static_cast<tmsize_t>(encoded.size()),
                                          out.data(), static_cast<tmsize_t>(out.size()));
  if (read == 0) return fail(ErrorCode::kCorrupt, fmt::format("damaged or cut short ({})", file.error));
  // libtiff only warns about a run past the end, but it is damage.
  if (compression == TiffCompression::kPackBits && file.warning[0] != 0)
    return fail(ErrorCode::kCorrupt, fmt::format("PackBits: {}", file.warning));
  return {};
}

#else

bool libtiff_reads(TiffCompression) { return false; }
Status decompress_with_libtiff(TiffCompression, ConstBytes, MutableBytes) {
  return fail(ErrorCode::kUnsupported, "this build has no libtiff");
}

#endif

// The codecs for Deflate and Zstandard; none for other compressions.
std::vector<Codec> codecs_of(TiffCompression compression) {
  if (compression == TiffCompression::kDeflate || compression == TiffCompression::kAdobeDeflate)
    return {ZlibCodec{}};
  if (compression == TiffCompression::kZstd) return {ZstdCodec{}};
  return {};
}

}  // namespace

Result<TiffDecoder> TiffDecoder::make(const TiffLayout& layout) {
  TiffDecoder decoder(layout);
  // The limit of 2 GiB minus one byte suits libtiff and signed numbers.
  if (layout.row_bytes() > INT32_MAX / layout.segment_rows)
    return fail(ErrorCode::kTooLarge,
                fmt::format("{} of {} rows of {} bytes", layout.tiled ? "tiles" : "strips",
                            layout.segment_rows, layout.row_bytes()));
  const std::vector<Codec> codecs = codecs_of(layout.compression);
  if (codecs.empty()) {
    if (layout.compression != TiffCompression::kNone && !libtiff_reads(layout.compression))
      return fail(ErrorCode::kUnsupported,
                  fmt::format("TIFF compression {}: this build has no libtiff (4.5 or later) that reads it",
                              static_cast<int>(layout.compression)));
    return decoder;
  }
  for (const std::uint32_t rows : {layout.rows_of(0), layout.rows_of(layout.segments_per_page() - 1)}) {
    auto chain = CodecChain::make(
        codecs,
        {DType::kUInt8, {static_cast<std::int64_t>(layout.row_bytes()), static_cast<std::int64_t>(rows)}});
    if (!chain) return std::unexpected(std::move(chain).error());
    decoder.chains_.insert_or_assign(rows, std::move(*chain));
  }
  return decoder;
}

bool TiffDecoder::swap_bytes() const {
  return layout_.big_endian && layout_.predictor == 1 && size_of(layout_.dtype) > 1;
}

Status TiffDecoder::decompress(std::uint32_t rows, ConstBytes encoded, MutableBytes out,
                               CodecWorker& worker) const {
  if (encoded.empty()) return fail(ErrorCode::kTruncated, "a strip or tile without data");
  if (layout_.compression == TiffCompression::kNone) {
    // Some writers pad the last strip.
    if (encoded.size() < out.size())
      return fail(ErrorCode::kTruncated, fmt::format("{} bytes, {} expected", encoded.size(), out.size()));
    std::memcpy(out.data(), encoded.data(), out.size());
    return {};
  }
  const auto chain = chains_.find(rows);
  if (chain != chains_.end()) return chain->second.decode(encoded, out, worker);
  if (encoded.size() > INT32_MAX)
    return fail(ErrorCode::kTooLarge, fmt::format("a strip or tile of {} bytes", encoded.size()));
  return decompress_with_libtiff(layout_.compression, encoded, out);
}

Status TiffDecoder::decode(std::uint32_t rows, ConstBytes encoded, MutableBytes out,
                           CodecWorker& worker) const {
  const std::uint64_t row_bytes = layout_.row_bytes();
  if (rows == 0 || rows > layout_.segment_rows || out.size() != row_bytes * rows)
    return fail(ErrorCode::kInvalidArgument, "a buffer of another size than the strip or tile");
  PENSTOCK_CHECK(decompress(rows, encoded, out, worker));
  const std::size_t element_bytes = size_of(layout_.dtype);
  if (layout_.predictor == 2)
    undo_tiff_differences(out, row_bytes, element_bytes, layout_.samples, layout_.big_endian);
  if (layout_.predictor == 3) {
    // The decompressors no longer use this buffer.
    const auto spare = worker.scratch_.get(worker.first_buffer_, row_bytes);
    if (!spare) return std::unexpected(spare.error());
    undo_tiff_float_differences(out, row_bytes, element_bytes, layout_.samples, *spare);
  }
  return {};
}

}  // namespace penstock
