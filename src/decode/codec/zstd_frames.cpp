#include "decode/codec/zstd_frames.h"

#include <fmt/format.h>

#include "base/byte_reader.h"
#include "decode/codec/decoded_size.h"

#ifdef PENSTOCK_WITH_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace penstock {

#ifndef PENSTOCK_WITH_ZSTD

bool reads_zstd() { return false; }
ZstdFrames::~ZstdFrames() = default;
Result<std::size_t> ZstdFrames::decode(ConstBytes, MutableBytes) {
  return fail(ErrorCode::kUnsupported, "this build reads no zstd");
}

#else

namespace {

constexpr int kMaxWindowLog = 27;  // 128 MiB, the default limit of the library

std::unexpected<Error> fail_at(ErrorCode code, std::string_view what, std::size_t offset) {
  return fail(code, fmt::format("zstd: {}", what), {"", static_cast<std::int64_t>(offset), -1, -1});
}

std::unexpected<Error> damaged(std::size_t answer, std::size_t offset) {
  const bool cut = ZSTD_getErrorCode(answer) == ZSTD_error_srcSize_wrong;
  return fail_at(cut ? ErrorCode::kTruncated : ErrorCode::kCorrupt, ZSTD_getErrorName(answer), offset);
}

bool is_frame(std::uint32_t magic) {
  // Formats before 0.8 are refused, because their decoders were never hardened.
  return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

}  // namespace

bool reads_zstd() { return true; }

ZstdFrames::~ZstdFrames() { ZSTD_freeDCtx(context_); }

Result<std::size_t> ZstdFrames::decode(ConstBytes frames, MutableBytes out) {
  if (!context_) {
    context_ = ZSTD_createDCtx();
    if (!context_) return fail(ErrorCode::kNoMemory, "zstd: no memory for its state");
    // Whole frames need no window, because `out` serves as one. This limits the size in case the library
    // makes one.
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kMaxWindowLog);
  }
  std::size_t offset = 0, written = 0;
  if (frames.empty()) return fail_at(ErrorCode::kTruncated, "no bytes", 0);
  while (offset < frames.size()) {
    const ConstBytes rest = frames.subspan(offset);
    ByteReader reader(rest);
    const auto magic = reader.read<std::uint32_t>();
    if (!reader.ok()) return fail_at(ErrorCode::kTruncated, "no whole frame", offset);
    if (!is_frame(magic)) return fail_at(ErrorCode::kCorrupt, "no frame here", offset);
    const std::size_t frame_bytes = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
    if (ZSTD_isError(frame_bytes)) return damaged(frame_bytes, offset);
    const ConstBytes frame = rest.first(frame_bytes);
    if (const unsigned dictionary = ZSTD_getDictID_fromFrame(frame.data(), frame.size()); dictionary != 0)
      return fail_at(ErrorCode::kUnsupported, fmt::format("a frame that needs dictionary {}", dictionary),
                     offset);
    std::byte nowhere{};  // the library needs an address even for no bytes
    const MutableBytes target = out.subspan(written);
    const std::size_t answer = ZSTD_decompressDCtx(context_, target.empty() ? &nowhere : target.data(),
                                                   target.size(), frame.data(), frame.size());
    if (ZSTD_isError(answer)) {
      if (ZSTD_getErrorCode(answer) == ZSTD_error_dstSize_tooSmall) return more_than("zstd", out.size());
      return damaged(answer, offset);
    }
    written += answer;
    offset += frame_bytes;
  }
  return written;
}

#endif

}  // namespace penstock
