#include "source/records/tfrecord_scan.h"

#include <fmt/format.h>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/crc32c.h"

namespace penstock {
namespace {

// TFRecord masks its CRCs, because the CRC of data that contains CRCs is weak.
std::uint32_t masked_crc(ConstBytes bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

Where at(const std::string& uri, std::uint64_t offset, std::uint64_t length) {
  return {uri, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length), -1};
}

// Returns the length in a header whose checksum is correct. `header` has kTFRecordHeader bytes.
Result<std::uint64_t> parse_length(ConstBytes header, const Where& where) {
  ByteReader reader(header);
  const auto length = reader.read<std::uint64_t>();
  const auto crc = reader.read<std::uint32_t>();
  if (crc != masked_crc(header.first(sizeof(length))))
    return fail(ErrorCode::kCorrupt, "TFRecord: bad length checksum", where);
  return length;
}

}  // namespace

Status scan_tfrecord(ForwardReader& reader, const std::string& uri,
                     const std::function<Status(std::uint64_t offset, std::uint64_t length)>& on_record,
                     const Limits& limits) {
  std::uint64_t offset = 0;
  auto header = reader.at(0, kTFRecordHeader);
  while (true) {
    if (!header) return std::unexpected(header.error());
    if (header->empty()) return {};
    if (header->size() < kTFRecordHeader)
      return fail(ErrorCode::kTruncated, "TFRecord: file ends inside a record's header",
                  at(uri, offset, header->size()));
    const auto data = parse_length(*header, at(uri, offset, kTFRecordHeader));
    if (!data) return std::unexpected(data.error());
    if (*data > limits.encoded_bytes)
      return fail(
          ErrorCode::kTooLarge,
          fmt::format("TFRecord: record of {} bytes, at most {} allowed", *data, limits.encoded_bytes),
          at(uri, offset, kTFRecordHeader));
    const auto end = checked_add(offset + kTFRecordHeader + kTFRecordFooter, *data);
    if (!end) return fail(ErrorCode::kTooLarge, "TFRecord: absurd length", at(uri, offset, kTFRecordHeader));
    const std::uint64_t length = *end - offset;
    // Reading the footer shows that this frame is complete. The same call reads the next header.
    const auto around = reader.at(*end - kTFRecordFooter, kTFRecordFooter + kTFRecordHeader);
    if (!around) return std::unexpected(around.error());
    if (around->size() < kTFRecordFooter)
      return fail(ErrorCode::kTruncated,
                  fmt::format("TFRecord: file ends inside a record of {} bytes", length),
                  at(uri, offset, length));
    PENSTOCK_CHECK(on_record(offset, length));
    header = around->subspan(kTFRecordFooter);
    offset = *end;
  }
}

Result<ConstBytes> open_tfrecord(ConstBytes frame) {
  if (frame.size() < kTFRecordHeader)
    return fail(ErrorCode::kTruncated, "TFRecord: record ends inside its header", at({}, 0, frame.size()));
  const auto length = parse_length(frame.first(kTFRecordHeader), at({}, 0, kTFRecordHeader));
  if (!length) return std::unexpected(length.error());
  const std::uint64_t rest = frame.size() - kTFRecordHeader;
  if (rest < kTFRecordFooter || *length > rest - kTFRecordFooter)
    return fail(ErrorCode::kTruncated,
                fmt::format("TFRecord: record promises {} bytes and ends before", *length),
                at({}, 0, frame.size()));
  if (*length < rest - kTFRecordFooter)
    return fail(ErrorCode::kCorrupt, "TFRecord: bytes after the record's end",
                at({}, kTFRecordHeader + *length + kTFRecordFooter, rest - kTFRecordFooter - *length));
  const ConstBytes data = frame.subspan(kTFRecordHeader, *length);
  ByteReader footer(frame.last(kTFRecordFooter));
  if (footer.read<std::uint32_t>() != masked_crc(data))
    return fail(ErrorCode::kCorrupt, "TFRecord: bad data checksum", at({}, kTFRecordHeader, *length));
  return data;
}

}  // namespace penstock
