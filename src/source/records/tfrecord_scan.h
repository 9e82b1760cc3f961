// TFRecord framing: each record is a length, the CRC of the length, the data and the CRC of the data.
#pragma once

#include <functional>

#include "base/limits.h"
#include "source/records/forward_reader.h"

namespace penstock {

constexpr std::uint64_t kTFRecordHeader = 12, kTFRecordFooter = 4;

// Calls on_record with the offset and length of each complete frame, including header and footer, in order.
// Verifies the CRC of each length and that the frame lies within the file; the data is skipped, so its CRC is not
// verified. Errors name `uri`, offset and length.
Status scan_tfrecord(ForwardReader& reader, const std::string& uri,
                     const std::function<Status(std::uint64_t offset, std::uint64_t length)>& on_record,
                     const Limits& limits = {});

// Returns the data of one complete frame after verifying both CRCs. Errors carry the offset within the frame.
Result<ConstBytes> open_tfrecord(ConstBytes frame);

}  // namespace penstock
