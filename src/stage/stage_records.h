// The files in which a staged folder remembers what it has (docs/formats.md): the journal of an object that is being
// copied, and the manifest of the objects that are whole.
//
// Both are sequences of frames, each with a checksum, and are only appended to. A reader passes over bytes that are no
// frame, such as half a frame that a crash left: what such bytes said is copied again. Nothing is believed about the
// data itself: the ranges carry checksums, against which the data is verified before it counts.
// Pure functions; thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "store/object_version.h"

namespace penstock {

// Bytes of an object that were written to its copy.
struct StagedRange {
  std::uint64_t offset = 0, length = 0;
  std::uint32_t crc = 0;  // CRC-32C of the bytes
  bool operator==(const StagedRange&) const = default;
};

// The first frame of a journal: which version of which object the data are.
struct JournalHead {
  std::string key;  // object_key of the source, absolute
  ObjectVersion version;
};

// An object that is whole.
struct StagedRecord {
  std::string name;  // below the folder
  std::string key;
  ObjectVersion version;            // size and time; the stamp is not kept
  std::vector<StagedRange> ranges;  // that cover the object; they may overlap
};

std::vector<std::byte> encode(const JournalHead& head);
std::vector<std::byte> encode(const StagedRange& range);
std::vector<std::byte> encode(const StagedRecord& record);

// Each returns nullopt for a payload that is not of this kind. Ranges lie within the object.
std::optional<JournalHead> parse_journal_head(ConstBytes payload);
std::optional<StagedRange> parse_staged_range(ConstBytes payload, std::uint64_t object_bytes);
std::optional<StagedRecord> parse_staged_record(ConstBytes payload);

// Calls `take` with the payload of each frame. Returns the offset behind the last one, where frames that are appended
// later may begin.
std::size_t parse_frames(ConstBytes bytes, const std::function<void(ConstBytes payload)>& take);

// Whether a name may stand below the folder: it has no empty parts, no "." and "..", and is not the folder's own.
bool is_name_below(std::string_view name);

inline constexpr std::string_view kStageFolder = ".penstock-stage";

}  // namespace penstock
