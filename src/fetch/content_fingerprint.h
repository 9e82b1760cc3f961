// What tells data of the same keys and sizes apart: a few of the bytes themselves.
//
// At most 16 places of at most 4 KiB, spread over the samples and over what is stored of each, are read and
// hashed: pieces of files and records, of encoded chunks, of compressed shards the checksums that their
// index keeps. Numbers that the index holds for the same samples count too. Neither paths nor times do, so
// that a copy of the data elsewhere gives the same number. A change at another place is not seen.
#pragma once

#include "penstock/source.h"

namespace penstock {

// Never 0. Fails where a place cannot be read. Reads of distant stores go out together.
Result<std::uint64_t> content_fingerprint(const Source& source);

}  // namespace penstock
