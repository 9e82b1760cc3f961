// Finds the members of a tar archive (ustar, GNU and PAX) by walking its headers once.
//
// Nothing is extracted, and links and devices are never followed. Truncated, flipped or zeroed headers are
// detected: checksums are verified, sizes must fit, the end-of-archive marker (two blocks of zeros) must exist,
// and only zeros may follow it.
#pragma once

#include <functional>
#include <string_view>

#include "source/records/forward_reader.h"

namespace penstock {

struct TarMember {
  std::string_view name;            // valid during the call
  std::uint64_t header_offset = 0;  // offset of its first header, including extended ones
  std::uint64_t data_offset = 0;
  std::uint64_t size = 0;
};

struct TarSummary {
  std::uint64_t files = 0;
  std::uint64_t links = 0;  // hard and symbolic links, which are skipped
  std::uint64_t others = 0;  // devices and pipes, which are skipped; folders are not counted
};

// Calls on_file for each regular file, in order. An error of on_file ends the scan. on_file is called before the
// data is known to be complete, so its calls count only if the scan succeeds. Errors of the scan name `uri`, the
// offset in the uncompressed archive and a length.
Result<TarSummary> scan_tar(ForwardReader& reader, const std::string& uri,
                            const std::function<Status(const TarMember&)>& on_file);

}  // namespace penstock
