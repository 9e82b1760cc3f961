#include "plan/sample_reads.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxGapBytes = 64 << 10;  // a smaller gap costs less than another read

}  // namespace

ByteRange stretch_of(const Source& source, std::span<const std::size_t> fields, std::uint64_t sample,
                     const Extent& extent) {
  std::uint64_t begin = extent.offset, end = extent.offset + extent.length, wanted = 0;
  for (const std::size_t field : fields) {
    const auto other = source.extent(sample, field);
    if (!other || other->object != extent.object) continue;
    begin = std::min(begin, other->offset);
    end = std::max(end, other->offset + other->length);
    wanted += other->length;
  }
  if (end - begin > wanted + kMaxGapBytes) return {extent.offset, extent.length};
  return {begin, end - begin};
}

ObjectRead read_of(const Source& source, std::span<const std::size_t> fields, std::uint64_t sample,
                   const Extent& extent) {
  ObjectRead read;
  read.key = extent.object;
  if (extent.shared_object) read.range = stretch_of(source, fields, sample, extent);
  read.max_bytes = extent.shared_object ? read.range.length : Limits{}.encoded_bytes;
  if (extent.modified_ns != Extent::kUnknown)
    read.version = ObjectVersion{extent.object_bytes, extent.modified_ns};
  return read;
}

Status check_encoded_bytes(std::uint64_t length) {
  if (length <= Limits{}.encoded_bytes) return {};
  return fail(ErrorCode::kTooLarge,
              fmt::format("{} bytes in one sample, at most {} allowed", length, Limits{}.encoded_bytes));
}

}  // namespace penstock
