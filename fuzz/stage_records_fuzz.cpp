// The journals and the manifest of staged folders: whatever the bytes are, what is taken from them holds together and is
// written back as it was read.
#include <cstdlib>
#include <string_view>

#include "stage/stage_records.h"

using namespace penstock;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_within(const StagedRange& range, std::uint64_t size) {
  return range.length > 0 && range.offset <= size && range.length <= size - range.offset;
}

template <typename Value>
void require_same(ConstBytes payload, const Value& value) {
  const auto frame = encode(value);
  int frames = 0;
  require(parse_frames(frame, [&](ConstBytes again) {
            ++frames;
            require(std::equal(payload.begin(), payload.end(), again.begin(), again.end()));
          }) == frame.size());
  require(frames == 1);
}

void look_at(ConstBytes payload) {
  constexpr std::uint64_t kObjectBytes = 1 << 20;
  const auto head = parse_journal_head(payload);
  const auto range = parse_staged_range(payload, kObjectBytes);
  const auto record = parse_staged_record(payload);
  require(head.has_value() + range.has_value() + record.has_value() <= 1);
  if (head) require_same(payload, *head);
  if (range) {
    require(is_within(*range, kObjectBytes));
    require_same(payload, *range);
  }
  if (record) {
    require(is_name_below(record->name) && record->name.find("/../") == std::string::npos);
    for (const StagedRange& one : record->ranges) require(is_within(one, record->version.size));
    require_same(payload, *record);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ConstBytes bytes = std::as_bytes(std::span(data, size));
  look_at(bytes);  // so that the fuzzer need not find checksums
  const std::size_t end = parse_frames(bytes, look_at);
  require(end <= size);
  static_cast<void>(is_name_below({reinterpret_cast<const char*>(data), size}));
  return 0;
}
