#include "decode/tiff/tiff_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"

namespace penstock {
namespace {

constexpr std::uint64_t kWindowBytes = 4 << 10;
constexpr std::uint64_t kTableWindowBytes = 256 << 10;
constexpr std::uint64_t kMaxEntries = 65'535;  // the limit of a classic directory

// The size of a value of this type; 0 if TIFF has no such type.
std::uint64_t size_of_type(std::uint16_t type) {
  constexpr std::uint8_t kSizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
  return type < std::size(kSizes) ? kSizes[type] : 0;
}

bool is_whole_number(std::uint16_t type) {
  return type == 1 || type == 3 || type == 4 || type == 13 || type == 16 || type == 18;
}

}  // namespace

std::unexpected<Error> TiffReader::error(ErrorCode code, std::string message, std::uint64_t offset,
                                         std::uint64_t length) const {
  return fail(code, std::move(message),
              {uri_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length), -1});
}

Result<ConstBytes> TiffReader::bytes(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead) {
  if (offset > size_ || length > size_ - offset)
    return error(ErrorCode::kTruncated,
                 fmt::format("the TIFF directory leads beyond the file's {} bytes", size_), offset, length);
  const std::uint64_t in_window = offset - window_at_;
  if (offset < window_at_ || in_window > window_.size() || length > window_.size() - in_window) {
    window_.resize(
        std::min(std::max({kWindowBytes, length, std::min(ahead, kTableWindowBytes)}), size_ - offset));
    window_at_ = offset;
    if (auto read = object_.read_at(offset, window_); !read) {
      window_.clear();
      return std::unexpected(std::move(read).error());
    }
  }
  return ConstBytes(window_).subspan(offset - window_at_, length);
}

Result<std::uint64_t> TiffReader::number(std::uint64_t offset, std::uint64_t length, std::uint64_t ahead) {
  const auto raw = bytes(offset, length, ahead);
  if (!raw) return std::unexpected(raw.error());
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < length; ++i)
    value = value << 8 | std::to_integer<std::uint64_t>((*raw)[big_endian_ ? i : length - 1 - i]);
  return value;
}

Result<std::uint64_t> TiffReader::read_header() {
  const auto start = bytes(0, std::min<std::uint64_t>(size_, 8));
  if (!start) return std::unexpected(start.error());
  if (start->size() < 8) return error(ErrorCode::kTruncated, "file ends inside the TIFF header", 0, size_);
  const auto order = std::to_integer<char>((*start)[0]);
  if ((order != 'I' && order != 'M') || (*start)[1] != (*start)[0])
    return error(ErrorCode::kCorrupt, "not a TIFF file", 0, 8);
  big_endian_ = order == 'M';
  const auto version = number(2, 2);
  if (!version) return version;
  if (*version == 42) return number(4, 4);
  if (*version != 43) return error(ErrorCode::kCorrupt, "not a TIFF file", 0, 8);
  wide_ = true;
  const auto place_bytes = number(4, 2), zero = number(6, 2);
  if (!place_bytes || !zero || *place_bytes != 8 || *zero != 0)
    return error(ErrorCode::kCorrupt, "bad BigTIFF header", 0, 16);
  return number(8, 8);
}

Result<TiffReader::Directory> TiffReader::directory(std::uint64_t at) {
  const std::uint64_t count_bytes = wide_ ? 8 : 2, entry_bytes = wide_ ? 20 : 12, next_bytes = wide_ ? 8 : 4;
  const auto entries = number(at, count_bytes);
  if (!entries) return std::unexpected(entries.error());
  if (*entries == 0) return error(ErrorCode::kCorrupt, "a TIFF directory without entries", at, count_bytes);
  if (*entries > kMaxEntries)
    return error(ErrorCode::kTooLarge,
                 fmt::format("a TIFF directory of {} entries, at most {} allowed", *entries, kMaxEntries),
                 at, count_bytes);
  Directory out{*entries, at + count_bytes, 0, count_bytes + *entries * entry_bytes + next_bytes};
  if (out.bytes > size_ - at)
    return error(ErrorCode::kTruncated, "file ends inside a TIFF directory", at, out.bytes);
  const auto next = number(at + out.bytes - next_bytes, next_bytes);
  if (!next) return std::unexpected(next.error());
  out.next = *next;
  return out;
}

Result<TiffEntry> TiffReader::entry(const Directory& directory, std::uint64_t number_of_entry) {
  const std::uint64_t place_bytes = wide_ ? 8 : 4;
  const std::uint64_t at = directory.first_entry + number_of_entry * (4 + 2 * place_bytes);
  const auto tag = number(at, 2), type = number(at + 2, 2), count = number(at + 4, place_bytes);
  for (const auto& part : {tag, type, count})
    if (!part) return std::unexpected(part.error());
  TiffEntry out{static_cast<std::uint16_t>(*tag), static_cast<std::uint16_t>(*type), *count,
                at + 4 + place_bytes, 0};
  const auto length = checked_multiply(out.count, size_of_type(out.type));
  if (!length)
    return error(ErrorCode::kCorrupt, fmt::format("TIFF tag {} claims {} values", out.tag, out.count), at);
  if (*length > place_bytes) {
    const auto elsewhere = number(out.value_at, place_bytes);
    if (!elsewhere) return std::unexpected(elsewhere.error());
    out.value_at = *elsewhere;
    out.table_bytes = *length;
  }
  return out;
}

Result<std::uint64_t> TiffReader::value(const TiffEntry& entry, std::uint64_t index) {
  if (!is_whole_number(entry.type) || index >= entry.count)
    return error(ErrorCode::kCorrupt,
                 fmt::format("TIFF tag {} has {} values of type {}", entry.tag, entry.count, entry.type),
                 entry.value_at);
  const std::uint64_t length = size_of_type(entry.type);
  const auto at = checked_add(entry.value_at, index * length);
  if (!at) return error(ErrorCode::kCorrupt, fmt::format("TIFF tag {}", entry.tag), entry.value_at);
  return number(*at, length, entry.table_bytes - std::min(entry.table_bytes, index * length));
}

Result<std::string> TiffReader::text(const TiffEntry& entry, std::uint64_t max_bytes) {
  if (entry.type != 2) return std::string();
  const std::uint64_t in_file = size_ - std::min(size_, entry.value_at);
  const auto raw = bytes(entry.value_at, std::min({entry.count, max_bytes, in_file}));
  if (!raw) return std::unexpected(raw.error());
  return std::string(reinterpret_cast<const char*>(raw->data()), raw->size());
}

}  // namespace penstock
