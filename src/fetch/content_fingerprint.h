// A fingerprint of the content of a source. It differs for data that has the same keys and sizes but other bytes.
//
// It hashes at most 16 probes of at most 4 KiB, spread over the samples and within each sample. A probe is a part of a
// file, of a record or of an encoded chunk; for a compressed shard it is a checksum from the shard's index. Numbers
// that the index holds for the same samples are hashed too. Paths and times are not, so that a copy of the data
// elsewhere has the same fingerprint. A change outside the probes is not detected.
#pragma once

#include "penstock/source.h"

namespace penstock {

// Never returns 0. Fails if a probe cannot be read. All reads are started before the first is waited for.
Result<std::uint64_t> content_fingerprint(const Source& source);

}  // namespace penstock
