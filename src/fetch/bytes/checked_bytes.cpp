#include "fetch/bytes/checked_bytes.h"

#include <fmt/format.h>

#include "base/crc32c.h"

namespace penstock {
namespace {

Status check_crc(std::uint32_t found, const Extent& extent) {
  if (found == *extent.checksum) return {};
  return fail(ErrorCode::kCorrupt,
              fmt::format("damaged: the bytes have the CRC32C {:08x}, the index beside the shard says {:08x}", found,
                          *extent.checksum),
              where_of(extent));
}

}  // namespace

Result<RecordValue> CheckedBytes::read(const FieldRead& wanted, const Extent& extent) {
  auto value = next_.read(wanted, extent);
  if (!value || !extent.checksum) return value;
  const bool is_known = checked_read_ == origin_.reads && checked_.data() == value->bytes.data() &&
                        checked_.size() == value->bytes.size() && checked_.data() != nullptr;
  if (is_known) return value;
  PENSTOCK_CHECK(check_crc(crc32c(value->bytes), extent));
  checked_ = value->bytes;
  checked_read_ = origin_.reads;
  return value;
}

Result<bool> CheckedBytes::read_into(const FieldRead& wanted, const Extent& extent,
                                     std::span<const MutableBytes> parts) {
  auto is_read = next_.read_into(wanted, extent, parts);
  if (!is_read || !*is_read || !extent.checksum) return is_read;
  std::uint32_t found = 0;
  for (const MutableBytes part : parts) found = crc32c(part, found);
  PENSTOCK_CHECK(check_crc(found, extent));
  return true;
}

}  // namespace penstock
