#include "penstock/source.h"

namespace penstock {

std::string_view name_of(FieldKind kind) {
  switch (kind) {
    case FieldKind::kImage: return "image";
    case FieldKind::kMask: return "mask";
    case FieldKind::kArray: return "array";
    case FieldKind::kInteger: return "integer";
    case FieldKind::kText: return "text";
    case FieldKind::kJson: return "json";
    case FieldKind::kBytes: return "bytes";
  }
  return "";
}

const std::vector<std::string>& Source::classes() const {
  static const std::vector<std::string> none;
  return none;
}

const std::vector<StreamBlock>& Source::blocks() const {
  static const std::vector<StreamBlock> none;
  return none;
}

const std::vector<Stream>& Source::streams() const {
  static const std::vector<Stream> none;
  return none;
}

Result<RecordValue> Source::find_in_record(std::uint64_t, std::size_t, std::span<const std::byte> record,
                                           const Room&) const {
  return RecordValue{record, std::nullopt};
}

}  // namespace penstock
