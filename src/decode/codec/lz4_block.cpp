#include "decode/codec/lz4_block.h"

#include <climits>

#include "base/byte_reader.h"
#include "decode/codec/decoded_size.h"

#ifdef PENSTOCK_WITH_LZ4
#include <lz4.h>
#endif

namespace penstock {

#ifndef PENSTOCK_WITH_LZ4

bool reads_lz4() { return false; }
Result<std::size_t> decode_lz4(ConstBytes, MutableBytes) {
  return fail(ErrorCode::kUnsupported, "this build reads no lz4");
}

#else

bool reads_lz4() { return true; }

Result<std::size_t> decode_lz4(ConstBytes bytes, MutableBytes out) {
  ByteReader reader(bytes);
  const std::size_t decoded_bytes = reader.read<std::uint32_t>();
  if (!reader.ok()) return fail(ErrorCode::kTruncated, "lz4: no whole header", {"", 0, -1, -1});
  if (decoded_bytes > out.size())
    return fail(ErrorCode::kCorrupt,
                fmt::format("lz4: {} bytes come out, {} are expected", decoded_bytes, out.size()),
                {"", 0, -1, -1});
  const ConstBytes block = bytes.subspan(reader.offset());
  if (block.size() > INT_MAX || decoded_bytes > LZ4_MAX_INPUT_SIZE)
    return fail(ErrorCode::kTooLarge, fmt::format("lz4: a block of {} bytes", block.size()));
  char nowhere = 0;  // the library needs an address even for no bytes
  const int found = LZ4_decompress_safe(reinterpret_cast<const char*>(block.data()),
                                        out.empty() ? &nowhere : reinterpret_cast<char*>(out.data()),
                                        static_cast<int>(block.size()), static_cast<int>(decoded_bytes));
  if (found < 0)
    return fail(ErrorCode::kCorrupt, "lz4: damaged or cut short",
                {"", static_cast<std::int64_t>(reader.offset()) - (found + 1), -1, -1});
  PENSTOCK_CHECK(check_decoded_size("lz4", static_cast<std::size_t>(found), decoded_bytes));
  return decoded_bytes;
}

#endif

}  // namespace penstock
