// Tar shards: ustar headers, with a PAX header before a member whose name does not fit. Owner, time and mode are the same
// for all members, so the bytes depend on the data alone.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/crc32c.h"
#include "decode/image/image_formats.h"
#include "decode/npy.h"
#include "pack/formats/format_of_pack.h"
#include "pack/formats/tar_names.h"

namespace penstock {
namespace {

constexpr std::size_t kTarBlock = 512, kNameBytes = 100, kPrefixBytes = 155;
constexpr std::uint64_t kMaxMemberBytes = (std::uint64_t{1} << 33) - 1;  // what the eleven digits of a header hold
constexpr std::uint64_t kTarOverheadPerMember = 1024;  // a header, and half a block of padding at either end

using TarHeader = std::array<char, kTarBlock>;

void put_octal(TarHeader& header, std::size_t at, std::size_t digits, std::uint64_t value) {
  for (std::size_t i = digits; i-- > 0; value >>= 3) header[at + i] = static_cast<char>('0' + (value & 7));
}

// Splits a name into prefix and name at a slash. Returns nullopt if it does not fit.
std::optional<std::pair<std::string_view, std::string_view>> split_for_header(std::string_view name) {
  if (name.size() <= kNameBytes) return std::pair{std::string_view(), name};
  for (std::size_t at = name.find('/'); at != std::string_view::npos && at <= kPrefixBytes; at = name.find('/', at + 1))
    if (at > 0 && name.size() - at - 1 <= kNameBytes && at + 1 < name.size())
      return std::pair{name.substr(0, at), name.substr(at + 1)};
  return std::nullopt;
}

TarHeader header_of(std::string_view prefix, std::string_view name, std::uint64_t size, char type) {
  TarHeader header{};
  std::ranges::copy(name, header.begin());
  put_octal(header, 100, 7, 0644);
  put_octal(header, 108, 7, 0);
  put_octal(header, 116, 7, 0);
  put_octal(header, 124, 11, size);
  put_octal(header, 136, 11, 0);
  std::memset(header.data() + 148, ' ', 8);
  header[156] = type;
  std::memcpy(header.data() + 257, "ustar", 6);
  std::memcpy(header.data() + 263, "00", 2);
  std::ranges::copy(prefix, header.begin() + 345);
  std::uint64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put_octal(header, 148, 6, sum);
  header[154] = '\0';
  return header;
}

// "27 path=a/b.jpg\n", where the number counts itself.
std::string pax_record(std::string_view name) {
  const std::string rest = fmt::format(" path={}\n", name);
  std::size_t size = rest.size() + 1;
  while (fmt::format("{}", size).size() + rest.size() != size) size = fmt::format("{}", size).size() + rest.size();
  return fmt::format("{}{}", size, rest);
}

Status pad_to_block(PackBuffer& out) {
  const auto padding = out.append((kTarBlock - out.size() % kTarBlock) % kTarBlock);
  if (!padding) return std::unexpected(padding.error());
  std::ranges::fill(*padding, std::byte{0});
  return {};
}

class TarFramer final : public SampleFramer {
 public:
  explicit TarFramer(const PackDescription& description) : description_(description) {}

  Status begin(std::string_view name, std::string_view, PreparedSample&) override {
    name_ = name;
    return {};
  }

  Status add(const PackedValue& value, PreparedSample& out) override {
    const PackedField& field = description_.fields[value.field];
    PreparedMember member;
    member.field = value.field;
    member.name = value.ending.empty() ? field.stored_as : std::string(value.ending);
    const std::string path = name_ + "." + member.name;
    const auto split = split_for_header(path);
    if (!split) PENSTOCK_CHECK(add_long_name(path, out));
    const std::uint64_t header_at = out.bytes.size();
    if (const auto room = out.bytes.append(kTarBlock); !room) return std::unexpected(room.error());
    member.offset = out.bytes.size();
    PENSTOCK_CHECK(append_as_file(value, field.kind, out.bytes));
    member.length = out.bytes.size() - member.offset;
    if (member.length > kMaxMemberBytes)
      return fail(ErrorCode::kTooLarge, fmt::format("field \"{}\" has {} bytes; a member of a tar has at most {}", field.name,
                                                    member.length, kMaxMemberBytes));
    const std::string_view shortened = std::string_view(path).substr(0, kNameBytes);
    const TarHeader header = header_of(split ? split->first : "", split ? split->second : shortened, member.length, '0');
    std::memcpy(out.bytes.bytes().data() + header_at, header.data(), header.size());
    member.checksum = crc32c(std::as_const(out.bytes).bytes().subspan(member.offset, member.length));
    out.members.push_back(std::move(member));
    return pad_to_block(out.bytes);
  }

  Status end(PreparedSample&) override { return {}; }

 private:
  static Status add_long_name(std::string_view path, PreparedSample& out) {
    const std::string record = pax_record(path);
    const TarHeader header = header_of("", "PaxHeader", record.size(), 'x');
    PENSTOCK_CHECK(out.bytes.append(as_bytes(header.data(), header.size())));
    PENSTOCK_CHECK(out.bytes.append(as_bytes(record.data(), record.size())));
    return pad_to_block(out.bytes);
  }

  const PackDescription& description_;
  std::string name_;
};

class TarFormat final : public FormatOfPack {
 public:
  explicit TarFormat(const PackDescription& description) : description_(description) {}

  std::vector<FileName> files() const override { return {{"", ".tar"}}; }
  std::vector<std::byte> head_of(std::size_t, std::uint64_t) const override { return {}; }
  std::vector<std::byte> tail_of(std::size_t) const override { return std::vector<std::byte>(2 * kTarBlock); }
  std::uint64_t overhead_bytes() const override { return description_.fields.size() * kTarOverheadPerMember; }
  bool names_samples() const override { return true; }
  std::unique_ptr<SampleFramer> make_framer() const override {
    return std::make_unique<TarFramer>(description_);
  }

 private:
  const PackDescription& description_;
};

}  // namespace

std::unique_ptr<FormatOfPack> make_tar_format(const PackDescription& description) {
  return std::make_unique<TarFormat>(description);
}

Status append_as_file(const PackedValue& value, FieldKind kind, PackBuffer& out) {
  if (value.elements == nullptr) return value.append(out);
  if (kind == FieldKind::kInteger) {
    const std::uint64_t begin = out.size();
    PENSTOCK_CHECK(value.append(out));
    std::int64_t number = 0;
    if (value.elements->dtype != DType::kInt64 || out.size() - begin != sizeof number)
      return fail(ErrorCode::kShapeMismatch, "a label is not one whole number");
    std::memcpy(&number, out.bytes().data() + begin, sizeof number);
    out.resize_down(begin);
    const std::string text = fmt::format("{}", number);
    return out.append(as_bytes(text.data(), text.size()));
  }
  const std::vector<std::byte> header = npy_header_of(*value.elements);
  if (header.empty())
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} cannot be stored as .npy; Cast it to float32", name_of(value.elements->dtype)));
  PENSTOCK_CHECK(out.append(header));
  return value.append(out);
}

}  // namespace penstock
