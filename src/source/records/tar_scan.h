// The members of a tar archive, found by walking its headers once: ustar, GNU and PAX.
//
// Names are only names: nothing is ever extracted, links and devices are never followed. Everything
// that a cut, a flipped bit or a zeroed page can do to the headers is noticed: checksums are
// verified, sizes must fit, the end-of-archive marker (two blocks of zeros) must be there, and
// nothing but zeros may follow it.
#pragma once

#include <functional>
#include <string_view>

#include "source/records/forward_reader.h"

namespace penstock {

struct TarMember {
  std::string_view name;            // valid during the call
  std::uint64_t header_offset = 0;  // of its first header, extensions included
  std::uint64_t data_offset = 0;
  std::uint64_t size = 0;
};

struct TarSummary {
  std::uint64_t files = 0;
  std::uint64_t links = 0;   // hard and symbolic, left out
  std::uint64_t others = 0;  // devices, pipes; left out. Folders are not counted.
};

// Calls on_file for each regular file, in order; its error ends the scan. It is called before the
// data is known to be there: what it was told counts only where the scan succeeds. Errors of the
// scan name `uri`, the offset in the (uncompressed) archive and a length.
Result<TarSummary> scan_tar(ForwardReader& reader, const std::string& uri,
                            const std::function<Status(const TarMember&)>& on_file);

}  // namespace penstock
