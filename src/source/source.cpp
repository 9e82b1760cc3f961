#include "penstock/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "source/array_box.h"
#include "source/array_layout.h"
#include "source/opened_record.h"

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

std::uint64_t LeftOutFiles::count() const {
  std::uint64_t sum = 0;
  for (const auto& [ending, files] : by_ending) sum += files;
  return sum;
}

std::string LeftOutFiles::describe() const {
  constexpr std::size_t kListed = 5;
  std::vector<std::pair<std::string, std::uint64_t>> endings(by_ending.begin(), by_ending.end());
  std::ranges::stable_sort(endings, std::greater{}, &std::pair<std::string, std::uint64_t>::second);
  std::string listed;
  for (std::size_t i = 0; i < std::min(endings.size(), kListed); ++i)
    listed += fmt::format("{}{} ({})", i == 0 ? "" : ", ",
                          endings[i].first.empty() ? "no ending" : "." + endings[i].first, endings[i].second);
  if (endings.size() > kListed) listed += fmt::format(" and {} other endings", endings.size() - kListed);
  return fmt::format("{} left out: {}; for example {}",
                     count() == 1 ? "1 file was" : fmt::format("{} files were", count()), listed, example);
}

const std::vector<std::string>& Source::classes() const {
  static const std::vector<std::string> none;
  return none;
}

IndexValue Source::value(std::uint64_t, std::size_t) const { return {}; }

void Source::boxes(std::uint64_t, std::size_t, std::vector<ArrayBox>&) const {}

const ArrayLayout* Source::array_layout(std::size_t) const { return nullptr; }

Result<OpenedRecord> Source::open_record(std::uint64_t, std::span<const std::byte> stored, const Charge&) const {
  return OpenedRecord{stored, nullptr};
}

Result<RecordValue> Source::find_in_record(std::uint64_t, std::size_t, const OpenedRecord& record,
                                           const Allocate&) const {
  return RecordValue{record.bytes, std::nullopt};
}

}  // namespace penstock
