// The errors of a codec whose decoded size is wrong.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "penstock/result.h"

namespace penstock {

inline Status check_decoded_size(std::string_view codec, std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return {};
  return fail(found < expected ? ErrorCode::kTruncated : ErrorCode::kCorrupt,
              fmt::format("{}: {} bytes come out, {} are expected", codec, found, expected));
}

// For a decoder that stopped at the limit, so that the full size is unknown.
inline std::unexpected<Error> more_than(std::string_view codec, std::uint64_t most) {
  return fail(ErrorCode::kCorrupt,
              fmt::format("{}: more comes out than the {} bytes that are expected", codec, most));
}

}  // namespace penstock
