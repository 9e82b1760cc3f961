#include "stage/stage_records.h"

#include <cstring>
#include <span>

#include "base/byte_reader.h"
#include "base/crc32c.h"

namespace penstock {
namespace {

constexpr std::uint32_t kFrameMagic = 0x31475350;  // "PSG1"
constexpr std::size_t kFrameHead = 12;             // magic, length, checksum of the payload
constexpr std::uint32_t kMaxPayload = 256 << 20;   // the ranges of one object
constexpr std::size_t kRangeBytes = 20;
enum class FrameKind : std::uint8_t { kHead = 1, kRange = 2, kRecord = 3 };

class FrameWriter {
 public:
  explicit FrameWriter(FrameKind kind) { put(static_cast<std::uint8_t>(kind)); }

  template <std::integral T>
  void put(T value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  void put_range(const StagedRange& range) {
    put(range.offset);
    put(range.length);
    put(range.crc);
  }

  std::vector<std::byte> finish() const {
    const std::uint32_t head[] = {kFrameMagic, static_cast<std::uint32_t>(payload_.size()), crc32c(payload_)};
    std::vector<std::byte> frame(kFrameHead + payload_.size());
    std::memcpy(frame.data(), head, kFrameHead);
    std::memcpy(frame.data() + kFrameHead, payload_.data(), payload_.size());
    return frame;
  }

 private:
  void put_bytes(ConstBytes bytes) { payload_.insert(payload_.end(), bytes.begin(), bytes.end()); }

  std::vector<std::byte> payload_;
};

StagedRange read_range(ByteReader& reader) {
  StagedRange range;
  range.offset = reader.read<std::uint64_t>();
  range.length = reader.read<std::uint64_t>();
  range.crc = reader.read<std::uint32_t>();
  return range;
}

bool is_within(const StagedRange& range, std::uint64_t object_bytes) {
  return range.length > 0 && range.offset <= object_bytes && range.length <= object_bytes - range.offset;
}

bool is_kind(ByteReader& reader, FrameKind kind) {
  return reader.read<std::uint8_t>() == static_cast<std::uint8_t>(kind);
}

}  // namespace

std::vector<std::byte> encode(const JournalHead& head) {
  FrameWriter frame(FrameKind::kHead);
  frame.put_text(head.key);
  frame.put(head.version.size);
  frame.put(head.version.modified_ns);
  return frame.finish();
}

std::vector<std::byte> encode(const StagedRange& range) {
  FrameWriter frame(FrameKind::kRange);
  frame.put_range(range);
  return frame.finish();
}

std::vector<std::byte> encode(const StagedRecord& record) {
  FrameWriter frame(FrameKind::kRecord);
  frame.put_text(record.name);
  frame.put_text(record.key);
  frame.put(record.version.size);
  frame.put(record.version.modified_ns);
  for (const StagedRange& range : record.ranges) frame.put_range(range);
  return frame.finish();
}

std::optional<JournalHead> parse_journal_head(ConstBytes payload) {
  ByteReader reader(payload);
  if (!is_kind(reader, FrameKind::kHead)) return std::nullopt;
  JournalHead head;
  head.key = reader.take_text(reader.read<std::uint32_t>());
  head.version.size = reader.read<std::uint64_t>();
  head.version.modified_ns = reader.read<std::int64_t>();
  if (!reader.ok() || reader.left() != 0) return std::nullopt;
  return head;
}

std::optional<StagedRange> parse_staged_range(ConstBytes payload, std::uint64_t object_bytes) {
  ByteReader reader(payload);
  if (!is_kind(reader, FrameKind::kRange)) return std::nullopt;
  const StagedRange range = read_range(reader);
  if (!reader.ok() || reader.left() != 0 || !is_within(range, object_bytes)) return std::nullopt;
  return range;
}

std::optional<StagedRecord> parse_staged_record(ConstBytes payload) {
  ByteReader reader(payload);
  if (!is_kind(reader, FrameKind::kRecord)) return std::nullopt;
  StagedRecord record;
  record.name = reader.take_text(reader.read<std::uint32_t>());
  record.key = reader.take_text(reader.read<std::uint32_t>());
  record.version.size = reader.read<std::uint64_t>();
  record.version.modified_ns = reader.read<std::int64_t>();
  if (!reader.ok() || reader.left() % kRangeBytes != 0 || !is_name_below(record.name)) return std::nullopt;
  record.ranges.reserve(reader.left() / kRangeBytes);
  while (reader.left() > 0) {
    record.ranges.push_back(read_range(reader));
    if (!is_within(record.ranges.back(), record.version.size)) return std::nullopt;
  }
  return record;
}

std::size_t parse_frames(ConstBytes bytes, const std::function<void(ConstBytes payload)>& take) {
  std::size_t at = 0, behind_last = 0;
  while (bytes.size() - at >= kFrameHead) {
    ByteReader reader(bytes.subspan(at));
    const auto magic = reader.read<std::uint32_t>();
    if (magic == kFrameMagic) {
      const auto length = reader.read<std::uint32_t>();
      const auto crc = reader.read<std::uint32_t>();
      const ConstBytes payload = length <= kMaxPayload ? reader.take(length) : ConstBytes();
      if (length > 0 && payload.size() == length && crc32c(payload) == crc) {
        take(payload);
        at += kFrameHead + length;
        behind_last = at;
        continue;
      }
    }
    ++at;
  }
  return behind_last;
}

bool is_name_below(std::string_view name) {
  if (name.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0;; ) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == ".." || (begin == 0 && part == kStageFolder)) return false;
    if (end == name.size()) return true;
    begin = end + 1;
  }
}

}  // namespace penstock
