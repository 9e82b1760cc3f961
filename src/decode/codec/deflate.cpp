#include "decode/codec/deflate.h"

#include <algorithm>

#include "decode/codec/decoded_size.h"

#ifdef PENSTOCK_WITH_DEFLATE
#include <libdeflate.h>
#endif

namespace penstock {

#ifndef PENSTOCK_WITH_DEFLATE

bool reads_deflate() { return false; }
Inflater::~Inflater() = default;
Result<std::size_t> Inflater::decode_gzip(ConstBytes, MutableBytes) {
  return fail(ErrorCode::kUnsupported, "this build reads no gzip");
}
Result<std::size_t> Inflater::decode_zlib(ConstBytes, MutableBytes) {
  return fail(ErrorCode::kUnsupported, "this build reads no zlib");
}

#else

namespace {

std::unexpected<Error> corrupt_stream(std::string_view codec, std::string_view what, std::size_t offset) {
  return fail(ErrorCode::kCorrupt, fmt::format("{}: {}", codec, what),
              {"", static_cast<std::int64_t>(offset), -1, -1});
}

}  // namespace

bool reads_deflate() { return true; }

Inflater::~Inflater() { libdeflate_free_decompressor(state_); }

Status Inflater::prepare() {
  if (!state_) state_ = libdeflate_alloc_decompressor();
  if (!state_) return fail(ErrorCode::kNoMemory, "no memory to inflate");
  return {};
}

Result<std::size_t> Inflater::decode_gzip(ConstBytes members, MutableBytes out) {
  PENSTOCK_CHECK(prepare());
  std::size_t offset = 0, written = 0;
  do {
    const ConstBytes rest = members.subspan(offset);
    const MutableBytes space = out.subspan(written);
    std::byte nowhere{};  // the library needs an address even for no bytes
    std::size_t read = 0, came_out = 0;
    const libdeflate_result answer =
        libdeflate_gzip_decompress_ex(state_, rest.data(), rest.size(), space.empty() ? &nowhere : space.data(),
                                      space.size(), &read, &came_out);
    if (answer == LIBDEFLATE_INSUFFICIENT_SPACE) return more_than("gzip", out.size());
    if (answer != LIBDEFLATE_SUCCESS) return corrupt_stream("gzip", "damaged or cut short", offset);
    offset += read;
    written += came_out;
  } while (!std::ranges::all_of(members.subspan(offset), [](std::byte b) { return b == std::byte{0}; }));
  return written;
}

Result<std::size_t> Inflater::decode_zlib(ConstBytes stream, MutableBytes out) {
  PENSTOCK_CHECK(prepare());
  std::byte nowhere{};
  std::size_t read = 0, came_out = 0;
  const libdeflate_result answer =
      libdeflate_zlib_decompress_ex(state_, stream.data(), stream.size(), out.empty() ? &nowhere : out.data(),
                                    out.size(), &read, &came_out);
  if (answer == LIBDEFLATE_INSUFFICIENT_SPACE) return more_than("zlib", out.size());
  if (answer != LIBDEFLATE_SUCCESS) return corrupt_stream("zlib", "damaged or cut short", 0);
  if (read != stream.size())
    return corrupt_stream("zlib", fmt::format("{} bytes behind the stream", stream.size() - read), read);
  return came_out;
}

#endif

}  // namespace penstock
