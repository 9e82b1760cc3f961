// TFRecord framing: length, CRC of the length, data, CRC of the data, one record after another.
#pragma once

#include <functional>

#include "base/limits.h"
#include "source/records/forward_reader.h"

namespace penstock {

constexpr std::uint64_t kTFRecordHeader = 12, kTFRecordFooter = 4;

// Calls on_record with the offset and length of each whole frame (header and footer included), in
// order. Verifies the CRC of each length (not of the data, which is skipped over) and that the
// frame lies within the file. Errors name `uri`, offset and length.
Status scan_tfrecord(ForwardReader& reader, const std::string& uri,
                     const std::function<Status(std::uint64_t offset, std::uint64_t length)>& on_record,
                     const Limits& limits = {});

// The data of one whole frame, both CRCs verified. Errors carry the offset within the frame.
Result<ConstBytes> open_tfrecord(ConstBytes frame);

}  // namespace penstock
