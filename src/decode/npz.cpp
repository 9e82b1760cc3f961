#include "decode/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "base/byte_reader.h"
#include "decode/text.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

// Names and layouts are those of PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.5.
constexpr std::uint32_t kLocalHeader = 0x04034b50, kDescriptor = 0x08074b50, kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kEnd64Bytes = 56, kEnd64LocatorBytes = 20;
constexpr std::uint16_t kStored = 0, kDeflated = 8;
constexpr std::uint16_t kEncryptedFlag = 1, kDescriptorFlag = 1 << 3, kUtf8Flag = 1 << 11;
constexpr std::uint16_t kDeflateLevelFlags = 3 << 1;  // the compression level of the writer, which a reader does not need
constexpr std::uint16_t kExtra64 = 1;                 // the extra field with sizes of 64 bits
constexpr std::uint32_t kSeeExtra = 0xffffffff;       // replaces a size or offset that is in the extra field

constexpr std::size_t kMaxMembers = 65'536;
constexpr std::uint64_t kCentralHeaderBytes = 46;
constexpr std::uint64_t kBytesPerListed = 192;  // memory per listed member, in addition to its name
constexpr std::uint64_t kMaxDeflateRatio = 1032;  // 258 bytes for two bits
constexpr std::string_view kSuffix = ".npy";

std::unexpected<Error> fail_in_zip(ErrorCode code, std::string_view what, std::uint64_t offset) {
  return fail(code, fmt::format("npz: {}", what), {"", static_cast<std::int64_t>(offset), -1, -1});
}
std::unexpected<Error> corrupt_zip(std::string_view what, std::uint64_t offset) {
  return fail_in_zip(ErrorCode::kCorrupt, what, offset);
}

// The fields that local and central headers have in common, in the order in which both have them.
struct CommonHeader {
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t stored_bytes = 0, size_bytes = 0;
  std::uint16_t name_bytes = 0, extra_bytes = 0;
};

CommonHeader read_common(ByteReader& reader) {
  CommonHeader header;
  reader.read<std::uint16_t>();  // version of zip needed to read it
  header.flags = reader.read<std::uint16_t>();
  header.method = reader.read<std::uint16_t>();
  reader.read<std::uint32_t>();  // time and date
  header.crc = reader.read<std::uint32_t>();
  header.stored_bytes = reader.read<std::uint32_t>();
  header.size_bytes = reader.read<std::uint32_t>();
  header.name_bytes = reader.read<std::uint16_t>();
  header.extra_bytes = reader.read<std::uint16_t>();
  return header;
}

// Replaces those `numbers` that the header leaves to the extra field, in the order of that field. Returns
// false if the extra fields are invalid.
bool widen(ConstBytes extra, std::initializer_list<std::uint64_t*> numbers) {
  ByteReader fields(extra);
  bool seen = false;
  while (fields.left() > 0) {
    const auto id = fields.read<std::uint16_t>();
    ByteReader field(fields.take(fields.read<std::uint16_t>()));
    if (!fields.ok()) return false;
    if (id != kExtra64) continue;
    if (seen) return false;
    seen = true;
    for (std::uint64_t* number : numbers)
      if (*number == kSeeExtra) *number = field.read<std::uint64_t>();
    if (!field.ok()) return false;
  }
  return seen || std::ranges::none_of(numbers, [](const auto* number) { return *number == kSeeExtra; });
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, members = 0;
};

// Finds the end record. Only a comment, whose length the record contains, may follow it.
std::optional<std::size_t> find_end(ConstBytes file) {
  if (file.size() < kEndBytes) return std::nullopt;
  const std::size_t last = file.size() - kEndBytes;
  for (std::size_t comment = 0; comment <= std::min<std::size_t>(last, 0xffff); ++comment) {
    ByteReader reader(file.subspan(last - comment));
    if (reader.read<std::uint32_t>() != kEnd) continue;
    reader.take(kEndBytes - 4 - 2);
    if (reader.read<std::uint16_t>() == comment) return last - comment;
  }
  return std::nullopt;
}

Result<Directory> find_directory(ConstBytes file) {
  const auto end = find_end(file);
  if (!end) return fail_in_zip(ErrorCode::kTruncated, "no end record: cut short, or no zip", file.size());
  ByteReader reader(file.subspan(*end + 4));
  Directory directory;
  bool one_disk = reader.read<std::uint32_t>() == 0;
  const std::uint64_t members_here = reader.read<std::uint16_t>();
  directory.members = reader.read<std::uint16_t>();
  directory.bytes = reader.read<std::uint32_t>();
  directory.offset = reader.read<std::uint32_t>();
  one_disk = one_disk && members_here == directory.members;
  std::uint64_t directory_end = *end;
  if (*end >= kEnd64LocatorBytes + kEnd64Bytes) {
    ByteReader locator(file.subspan(*end - kEnd64LocatorBytes));
    if (locator.read<std::uint32_t>() == kEnd64Locator) {
      // NumPy writes nothing between these records, so the offset of the 64-bit record is known.
      directory_end = *end - kEnd64LocatorBytes - kEnd64Bytes;
      const bool first_disk = locator.read<std::uint32_t>() == 0;
      const auto offset = locator.read<std::uint64_t>();
      const bool only_disk = locator.read<std::uint32_t>() == 1;
      ByteReader wide(file.subspan(directory_end));
      const bool is_end = wide.read<std::uint32_t>() == kEnd64;
      if (!is_end || offset != directory_end || wide.read<std::uint64_t>() != kEnd64Bytes - 12)
        return corrupt_zip("bad zip64 end record", directory_end);
      wide.read<std::uint32_t>();  // versions
      one_disk = first_disk && only_disk && wide.read<std::uint64_t>() == 0;
      const auto wide_members_here = wide.read<std::uint64_t>();
      directory.members = wide.read<std::uint64_t>();
      directory.bytes = wide.read<std::uint64_t>();
      directory.offset = wide.read<std::uint64_t>();
      one_disk = one_disk && wide_members_here == directory.members;
    }
  }
  if (!one_disk) return fail_in_zip(ErrorCode::kUnsupported, "archive in several parts", *end);
  if (directory.offset > directory_end || directory.bytes != directory_end - directory.offset)
    return corrupt_zip("the central directory is not where the end record says", *end);
  if (directory.members > kMaxMembers)
    return fail_in_zip(ErrorCode::kTooLarge, fmt::format("{} members", directory.members), *end);
  return directory;
}

// One entry of the central directory.
struct Entry {
  std::uint64_t central_offset = 0, local_offset = 0;
  CommonHeader header;
  std::string_view file_name;
};

Result<Entry> read_entry(ByteReader& directory, std::uint64_t offset) {
  Entry entry;
  entry.central_offset = offset;
  const auto signature = directory.read<std::uint32_t>();
  directory.read<std::uint16_t>();  // version of zip that wrote it
  entry.header = read_common(directory);
  const auto comment_bytes = directory.read<std::uint16_t>();
  const auto disk = directory.read<std::uint16_t>();
  directory.take(2 + 4);  // file attributes
  entry.local_offset = directory.read<std::uint32_t>();
  entry.file_name = directory.take_text(entry.header.name_bytes);
  const ConstBytes extra = directory.take(entry.header.extra_bytes);
  directory.take(comment_bytes);
  if (!directory.ok() || signature != kCentralHeader || disk != 0)
    return corrupt_zip("bad entry in the central directory", offset);
  if (!widen(extra, {&entry.header.size_bytes, &entry.header.stored_bytes, &entry.local_offset}))
    return corrupt_zip("bad extra field", offset);
  return entry;
}

Status check_entry(const Entry& entry, const Limits& limits) {
  const CommonHeader& header = entry.header;
  const std::uint64_t offset = entry.central_offset;
  if (header.flags & kEncryptedFlag) return fail_in_zip(ErrorCode::kUnsupported, "encrypted member", offset);
  if (header.flags & ~(kDescriptorFlag | kUtf8Flag | kDeflateLevelFlags))
    return fail_in_zip(ErrorCode::kUnsupported, fmt::format("member with flags {:#x}", header.flags), offset);
  if (header.method != kStored && header.method != kDeflated)
    return fail_in_zip(ErrorCode::kUnsupported, fmt::format("compression method {}", header.method), offset);
  if (header.size_bytes > limits.encoded_bytes)
    return fail_in_zip(
        ErrorCode::kTooLarge,
        fmt::format("member of {} bytes, at most {} allowed", header.size_bytes, limits.encoded_bytes),
        offset);
  const bool fits = header.method == kStored ? header.size_bytes == header.stored_bytes
                                             : header.size_bytes / kMaxDeflateRatio <= header.stored_bytes;
  if (!fits) return corrupt_zip("sizes of a member contradict each other", offset);
  const bool ascii = std::ranges::all_of(entry.file_name, [](char c) { return (c & 0x80) == 0; });
  const ConstBytes name = as_bytes(entry.file_name.data(), entry.file_name.size());
  if (!ascii && (!(header.flags & kUtf8Flag) || !check_utf8(name)))
    return fail_in_zip(ErrorCode::kUnsupported, "member whose name is not UTF-8", offset);
  if (!entry.file_name.ends_with(kSuffix))
    return fail_in_zip(ErrorCode::kUnsupported, fmt::format("member '{}' is not an .npy file", entry.file_name),
                   offset);
  return {};
}

// Checks the data descriptor, which follows the data if the writer could not fill in the local header
// afterwards.
bool descriptor_agrees(ByteReader& reader, const CommonHeader& header, bool wide) {
  const auto signature = reader.read<std::uint32_t>();
  const auto crc = reader.read<std::uint32_t>();
  const std::uint64_t stored_bytes = wide ? reader.read<std::uint64_t>() : reader.read<std::uint32_t>();
  const std::uint64_t size_bytes = wide ? reader.read<std::uint64_t>() : reader.read<std::uint32_t>();
  return reader.ok() && signature == kDescriptor && crc == header.crc &&
         stored_bytes == header.stored_bytes && size_bytes == header.size_bytes;
}

struct Place {
  std::uint64_t begin = 0, end = 0;
};

// Finds the bytes of a member after its local header. `body` is the file before the central directory.
Result<Place> locate(ConstBytes body, const Entry& entry, ConstBytes& stored) {
  const CommonHeader& central = entry.header;
  if (entry.local_offset > body.size()) return corrupt_zip("member beyond the file's end", entry.central_offset);
  ByteReader reader(body.subspan(entry.local_offset));
  const auto signature = reader.read<std::uint32_t>();
  CommonHeader local = read_common(reader);
  const std::string_view file_name = reader.take_text(local.name_bytes);
  const ConstBytes extra = reader.take(local.extra_bytes);
  if (!reader.ok() || signature != kLocalHeader) return corrupt_zip("no member here", entry.local_offset);
  const bool wide = local.size_bytes == kSeeExtra;
  if (!widen(extra, {&local.size_bytes, &local.stored_bytes}))
    return corrupt_zip("bad extra field", entry.local_offset);
  const bool later = (central.flags & kDescriptorFlag) != 0;
  const CommonHeader expected = later ? CommonHeader{} : central;
  if (file_name != entry.file_name || local.flags != central.flags || local.method != central.method ||
      local.crc != expected.crc || local.stored_bytes != expected.stored_bytes ||
      local.size_bytes != expected.size_bytes)
    return corrupt_zip("local header and central directory disagree", entry.local_offset);
  if (central.stored_bytes > reader.left()) return corrupt_zip("member beyond its place", entry.local_offset);
  stored = reader.take(central.stored_bytes);
  if (later && !descriptor_agrees(reader, central, wide))
    return corrupt_zip("data descriptor and central directory disagree", entry.local_offset);
  return Place{entry.local_offset, entry.local_offset + reader.offset()};
}

// Inflates all of `packed` and fills all of `out`. Fails if bytes of either are left over.
Status inflate_exactly(ConstBytes packed, MutableBytes out) {
  constexpr std::size_t kMaxAtOnce = std::size_t{16} << 20;  // between two checks for interruption
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return fail(ErrorCode::kNoMemory, "npz: no memory to inflate");
  Bytef nowhere = 0;  // zlib needs an address even for no bytes
  stream.next_in = reinterpret_cast<z_const Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.next_out = out.empty() ? &nowhere : reinterpret_cast<Bytef*>(out.data());
  std::size_t in_left = packed.size(), out_left = out.size();
  int answer = Z_OK;
  while (answer == Z_OK && !Interruption::is_requested()) {
    const auto in = static_cast<uInt>(std::min(in_left, kMaxAtOnce));
    const auto available = static_cast<uInt>(std::min(out_left, kMaxAtOnce));
    stream.avail_in = in;
    stream.avail_out = available;
    answer = inflate(&stream, Z_NO_FLUSH);  // Z_BUF_ERROR means no progress
    in_left -= in - stream.avail_in;
    out_left -= available - stream.avail_out;
  }
  inflateEnd(&stream);
  if (answer == Z_OK) return fail(ErrorCode::kStopped, "npz: stopped while inflating");
  if (answer == Z_MEM_ERROR) return fail(ErrorCode::kNoMemory, "npz: no memory to inflate");
  if (answer != Z_STREAM_END || in_left > 0 || out_left > 0)
    return fail(ErrorCode::kCorrupt, "npz: the deflated bytes are damaged");
  return {};
}

}  // namespace

Result<std::vector<NpzMember>> list_npz(ConstBytes file, const Limits& limits, const Charge& charge) {
  const auto directory = find_directory(file);
  if (!directory) return std::unexpected(directory.error());
  // The size of the directory bounds the number of members, whatever its records say.
  const std::uint64_t members_at_most = std::min(directory->members, directory->bytes / kCentralHeaderBytes);
  PENSTOCK_CHECK(ask(charge, members_at_most * kBytesPerListed + directory->bytes));
  const ConstBytes body = file.first(directory->offset);
  ByteReader reader(file.subspan(directory->offset, directory->bytes));
  std::vector<NpzMember> members;
  std::vector<Place> places;
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < directory->members; ++i) {
    const auto entry = read_entry(reader, directory->offset + reader.offset());
    if (!entry) return std::unexpected(entry.error());
    PENSTOCK_CHECK(check_entry(*entry, limits));
    if (!names.insert(entry->file_name).second)
      return corrupt_zip(fmt::format("two members '{}'", entry->file_name), entry->central_offset);
    ConstBytes stored;
    const auto place = locate(body, *entry, stored);
    if (!place) return std::unexpected(place.error());
    members.push_back({std::string(entry->file_name.substr(0, entry->file_name.size() - kSuffix.size())),
                       entry->header.method == kDeflated, stored, entry->header.size_bytes,
                       entry->header.crc});
    places.push_back(*place);
  }
  if (reader.left() > 0) return corrupt_zip("more in the central directory than members", directory->offset);
  // Members that overlap would let a small file expand to a huge one.
  std::ranges::sort(places, {}, &Place::begin);
  for (std::size_t i = 1; i < places.size(); ++i)
    if (places[i].begin < places[i - 1].end) return corrupt_zip("members overlap", places[i].begin);
  return members;
}

Status unpack_npz(const NpzMember& member, MutableBytes out) {
  if (out.size() != member.size_bytes)
    return fail(ErrorCode::kInvalidArgument, "npz: the output does not have the size of the decoded member");
  if (!member.deflated)
    std::ranges::copy(member.stored, out.begin());
  else
    PENSTOCK_CHECK(inflate_exactly(member.stored, out));
  if (crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size()) != member.crc32)
    return fail(ErrorCode::kCorrupt,
                fmt::format("npz: member '{}' does not match its checksum", member.name));
  return {};
}

}  // namespace penstock
