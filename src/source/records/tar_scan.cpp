#include "source/records/tar_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/checked_math.h"

namespace penstock {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kMaxLongNameBytes = 64 << 10;
constexpr std::uint64_t kMaxPaxBytes = 1 << 20;
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 62;
constexpr std::size_t kTypeAt = 156;
constexpr std::string_view kNoMarker = "no end-of-archive marker (two blocks of zeros)";

std::string_view as_text(ConstBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view until_nul(std::string_view field) { return field.substr(0, field.find('\0')); }

bool is_zero(std::string_view bytes) { return bytes.find_first_not_of('\0') == std::string_view::npos; }

// Parses digits between blanks and NULs. A field without digits is zero, as some writers leave it for links.
std::optional<std::uint64_t> parse_octal(std::string_view field) {
  std::size_t at = 0;
  std::uint64_t value = 0;
  while (at < field.size() && field[at] == ' ') ++at;
  for (; at < field.size() && field[at] >= '0' && field[at] <= '7'; ++at)
    value = value * 8 + static_cast<std::uint64_t>(field[at] - '0');  // at most 12 digits
  for (; at < field.size(); ++at)
    if (field[at] != ' ' && field[at] != '\0') return std::nullopt;
  return value;
}

// Adds eight bytes at a time, as four sums of two bytes each, because most of the time of a scan is spent here.
std::uint32_t sum_of_bytes(std::string_view bytes) {
  constexpr std::uint64_t kEvenBytes = 0x00ff'00ff'00ff'00ff;
  std::uint64_t sums = 0;
  static_assert(kBlock / 8 * 2 * 255 < 1 << 16, "one sum does not flow into the next");
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    sums += (word & kEvenBytes) + (word >> 8 & kEvenBytes);
  }
  return static_cast<std::uint32_t>((sums & 0xffff) + (sums >> 16 & 0xffff) + (sums >> 32 & 0xffff) +
                                    (sums >> 48));
}

// The sum of all bytes, where the field of the checksum counts as blanks. Some old writers summed signed chars.
bool checksum_matches(std::string_view header) {
  const std::string_view field = header.substr(148, 8);
  const auto stored = parse_octal(field);
  if (!stored || *stored == 0) return false;
  const std::uint32_t sum = sum_of_bytes(header) - sum_of_bytes(field) + 8 * ' ';
  if (*stored == sum) return true;
  const auto is_high = [](char byte) { return static_cast<unsigned char>(byte) >= 128; };
  const auto high = std::ranges::count_if(header, is_high) - std::ranges::count_if(field, is_high);
  return static_cast<std::int64_t>(*stored) == std::int64_t{sum} - 256 * high;
}

// Parses octal digits or, with the top bit set, GNU's big-endian binary form.
Result<std::uint64_t> parse_size(std::string_view header) {
  const std::string_view field = header.substr(124, 12);
  const auto first = static_cast<unsigned char>(field[0]);
  if (first < 0x80) {
    const auto size = parse_octal(field);
    if (!size) return fail(ErrorCode::kCorrupt, "tar header with a size that is not a number");
    return *size;
  }
  if ((first & 0x40) != 0) return fail(ErrorCode::kCorrupt, "tar header with a negative size");
  std::uint64_t size = first & 0x3f;
  for (const char byte : field.substr(1)) {
    if (size > kMaxSize >> 8) return fail(ErrorCode::kTooLarge, "tar header with a size beyond 2^62");
    size = size << 8 | static_cast<unsigned char>(byte);
  }
  return size;
}

// Removes the first record "length key=value\n" of a PAX header from `records`.
struct PaxRecord {
  std::string_view key, value;
};
std::optional<PaxRecord> take_pax_record(std::string_view& records) {
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
  const auto digits = static_cast<std::size_t>(end - records.data());
  if (error != std::errc{} || length <= digits + 1 || length > records.size()) return std::nullopt;
  std::string_view record = records.substr(digits, length - digits);
  if (record.front() != ' ' || record.back() != '\n') return std::nullopt;
  record = record.substr(1, record.size() - 2);
  const std::size_t equals = record.find('=');
  if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
  records.remove_prefix(length);
  return PaxRecord{record.substr(0, equals), record.substr(equals + 1)};
}

// The information in extended headers about the member that follows them.
struct Extension {
  bool present = false, has_long_name = false, has_long_link = false, has_pax = false;
  std::uint64_t offset = 0;  // offset of the first extended header
  std::string name;  // empty: the header has the name
  std::optional<std::uint64_t> size;
};

class TarScan {
 public:
  TarScan(ForwardReader& reader, const std::string& uri,
          const std::function<Status(const TarMember&)>& on_file)
      : reader_(reader),
        uri_(uri),
        on_file_(on_file) {}

  Result<TarSummary> run() {
    while (true) {
      const auto block = reader_.at(at_, kBlock);
      if (!block) return std::unexpected(block.error());
      const std::string_view header = as_text(*block);
      if (header.size() < kBlock) return cut_before_header(header);
      if (header[0] == '\0' && is_zero(header)) break;
      if (!checksum_matches(header))
        return error(ErrorCode::kCorrupt, at_ == 0 ? "not a tar archive (header checksum does not match)"
                                                   : "tar header checksum does not match");
      PENSTOCK_CHECK(read_entry(header));
    }
    PENSTOCK_CHECK(check_end());
    return summary_;
  }

 private:
  Status read_entry(std::string_view header) {
    switch (const char type = header[kTypeAt]; type) {
      case 'L': return read_long_name(header, extension_.has_long_name, true);
      case 'K': return read_long_name(header, extension_.has_long_link, false);
      case 'x': return read_pax(header);
      case 'g': return read_global_pax(header);
      case '0':
      case '\0':
      case '7': return read_file(header);
      case '1':
      case '2': return leave_out(&summary_.links);
      case '3':
      case '4':
      case '6': return leave_out(&summary_.others);
      case '5': return leave_out(nullptr);
      case 'S': return error(ErrorCode::kUnsupported, "sparse tar members are not read");
      default:
        return error(ErrorCode::kUnsupported, type > ' ' && type <= '~'
                                                  ? fmt::format("tar member of unknown type '{}'", type)
                                                  : fmt::format("tar member of unknown type {:#04x}",
                                                                static_cast<unsigned char>(type)));
    }
  }

  Status read_file(std::string_view header) {
    name_file(header);
    if (header[kTypeAt] == '\0' && name_.ends_with('/')) return leave_out(nullptr);  // a folder in the v7 format
    TarMember member{name_, extension_.present ? extension_.offset : at_, at_ + kBlock, 0};
    if (extension_.size) {
      member.size = *extension_.size;
    } else {
      const auto size = parse_size(header);
      if (!size) return error(size.error().code, size.error().message);
      member.size = *size;
    }
    const auto data_end = checked_add(member.data_offset, member.size);
    if (!data_end || *data_end > kMaxSize)
      return error(ErrorCode::kTooLarge, "tar member that ends beyond 2^62 bytes");
    ++summary_.files;
    PENSTOCK_CHECK(on_file_(member));
    last_ = {member.header_offset, true};
    at_ = padded(*data_end);
    extension_ = {};
    return {};
  }

  // Links, devices and folders have no data, whatever size their header states (GNU tar and Python agree). If a
  // writer did store data, the next header fails its checksum.
  Status leave_out(std::uint64_t* counter) {
    if (counter != nullptr) ++*counter;
    at_ += kBlock;
    extension_ = {};
    return {};
  }

  void name_file(std::string_view header) {
    name_ = extension_.name;
    if (!name_.empty()) return;
    if (header.substr(257, 6) == std::string_view("ustar\0", 6)) {  // GNU's own format has no prefix
      // The star format stores times behind the prefix.
      const bool is_star = header.substr(508) == std::string_view("tar\0", 4);
      const std::string_view prefix = until_nul(header.substr(345, is_star ? 131 : 155));
      if (!prefix.empty()) name_.append(prefix).append("/");
    }
    name_.append(until_nul(header.substr(0, 100)));
  }

  // Reads the body of an extended header. Nothing is read if it exceeds the limit.
  Result<std::string_view> extension_body(std::string_view header, std::uint64_t limit) {
    const auto size = parse_size(header);
    if (!size) return error(size.error().code, size.error().message);
    if (*size > limit)
      return error(ErrorCode::kTooLarge,
                   fmt::format("extended tar header claims {} bytes, at most {} allowed", *size, limit));
    const auto body = reader_.at(at_ + kBlock, static_cast<std::size_t>(*size));
    if (!body) return std::unexpected(body.error());
    if (body->size() < *size)
      return error(ErrorCode::kTruncated,
                   fmt::format("archive ends at {}, inside an extended header", reader_.end()),
                   kBlock + padded(*size));
    return as_text(*body);
  }

  // Continues behind an extended header whose body has this size. Global headers belong to no member.
  void pass_extension(std::uint64_t body_size, bool is_global) {
    if (!is_global && !extension_.present) {
      extension_.present = true;
      extension_.offset = at_;
    }
    last_ = {at_, false};
    at_ += kBlock + padded(body_size);
  }

  // Refuses a second header of the same kind, because readers disagree about which one counts.
  std::unexpected<Error> repeated() const {
    return error(ErrorCode::kCorrupt, "two extended headers of one kind for one tar member");
  }

  Status read_long_name(std::string_view header, bool& seen, bool is_of_member) {
    if (seen) return repeated();
    seen = true;
    const auto body = extension_body(header, kMaxLongNameBytes);
    if (!body) return std::unexpected(body.error());
    const std::string_view name = until_nul(*body);
    if (name.empty()) return error(ErrorCode::kCorrupt, "empty long name in the tar archive");
    if (is_of_member && !extension_.name.empty()) return repeated();
    if (is_of_member) extension_.name = name;
    pass_extension(body->size(), false);
    return {};
  }

  Status read_pax(std::string_view header) {
    if (extension_.has_pax) return repeated();
    extension_.has_pax = true;
    return read_pax_records(header, [this](const PaxRecord& record) -> Status {
      if (record.key == "path" && extension_.has_long_name) return repeated();
      if (record.key == "path") extension_.name = record.value;  // an empty path counts as none
      if (record.key == "size") {
        const auto size = parse_decimal(record.value);
        if (!size) return std::unexpected(size.error());
        extension_.size = *size;
      }
      return {};
    });
  }

  Status read_global_pax(std::string_view header) {
    return read_pax_records(header, [this](const PaxRecord& record) -> Status {
      if (record.key != "size") return {};  // a path for all members makes no sense and is ignored
      return error(ErrorCode::kUnsupported, "tar archive with one size for all its members");
    });
  }

  template <typename OnRecord>
  Status read_pax_records(std::string_view header, OnRecord on_record) {
    const bool is_global = header[kTypeAt] == 'g';
    const auto body = extension_body(header, kMaxPaxBytes);
    if (!body) return std::unexpected(body.error());
    for (std::string_view records = *body; !records.empty();) {
      const std::uint64_t offset = at_ + kBlock + (body->size() - records.size());
      const auto record = take_pax_record(records);
      if (!record)
        return fail(ErrorCode::kCorrupt, "malformed record in a PAX header",
                    {uri_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(records.size()), -1});
      if (record->key.starts_with("GNU.sparse."))
        return error(ErrorCode::kUnsupported, "sparse tar members are not read");
      PENSTOCK_CHECK(on_record(*record));
    }
    pass_extension(body->size(), is_global);
    return {};
  }

  Result<std::optional<std::uint64_t>> parse_decimal(std::string_view text) const {
    if (text.empty()) return std::nullopt;  // as if the record were absent
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size() || status == std::errc::invalid_argument)
      return error(ErrorCode::kCorrupt, "PAX header with a size that is not a number");
    if (status != std::errc{} || value > kMaxSize)
      return error(ErrorCode::kTooLarge, "PAX header with a size beyond 2^62");
    return value;
  }

  // Called at the first block of zeros.
  Status check_end() {
    if (extension_.present)
      return error(ErrorCode::kCorrupt, "the tar archive ends after an extended header without its member");
    const auto second = reader_.at(at_ + kBlock, kBlock);
    if (!second) return std::unexpected(second.error());
    if (!is_zero(as_text(*second)))
      return error(ErrorCode::kCorrupt, fmt::format("one block of zeros but {}", kNoMarker));
    if (second->size() < kBlock) return no_marker();
    for (std::uint64_t at = at_ + 2 * kBlock;;) {
      const auto rest = reader_.at(at, 128 * kBlock);
      if (!rest) return std::unexpected(rest.error());
      if (rest->empty()) return {};
      if (const auto found = as_text(*rest).find_first_not_of('\0'); found != std::string_view::npos) {
        at_ = (at + found) / kBlock * kBlock;
        return error(ErrorCode::kCorrupt,
                     "data after the end-of-archive marker; concatenated archives are not read");
      }
      at += rest->size();
    }
  }

  std::unexpected<Error> no_marker() const {
    return error(ErrorCode::kTruncated, fmt::format("archive ends at {}, {}", reader_.end(), kNoMarker),
                 2 * kBlock);
  }

  // `part` is the available part of the header at at_.
  std::unexpected<Error> cut_before_header(std::string_view part) {
    const std::uint64_t end = reader_.end(), header_at = at_;
    if (end < header_at) {  // the data of the previous member is truncated
      at_ = last_.offset;
      return error(ErrorCode::kTruncated,
                   fmt::format("archive ends at {}, inside {}", end,
                               last_.is_file ? fmt::format("'{}'", name_) : "an extended header"),
                   header_at - at_);
    }
    if (extension_.present && part.empty())
      return error(ErrorCode::kTruncated,
                   fmt::format("archive ends at {}, after an extended header without its member", end));
    if (is_zero(part)) return no_marker();
    return error(ErrorCode::kTruncated, fmt::format("archive ends at {}, inside a tar header", end));
  }

  static std::uint64_t padded(std::uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

  std::unexpected<Error> error(ErrorCode code, std::string message, std::uint64_t length = kBlock) const {
    return fail(code, std::move(message),
                {uri_, static_cast<std::int64_t>(at_), static_cast<std::int64_t>(length), -1});
  }

  ForwardReader& reader_;
  const std::string& uri_;
  const std::function<Status(const TarMember&)>& on_file_;
  TarSummary summary_;
  std::uint64_t at_ = 0;  // offset of the current header
  Extension extension_;
  std::string name_;  // name of the last file
  struct {
    std::uint64_t offset = 0;
    bool is_file = false;
  } last_;  // the last member with data before at_
};

}  // namespace

Result<TarSummary> scan_tar(ForwardReader& reader, const std::string& uri,
                            const std::function<Status(const TarMember&)>& on_file) {
  return TarScan(reader, uri, on_file).run();
}

}  // namespace penstock
