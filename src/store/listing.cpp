#include "store/listing.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr std::uint64_t kReservedAtOnce = 16 << 10;  // so that most entries cost no look at the ledger

std::uint64_t bytes_of_entry(const FolderEntry& entry) {
  const bool is_within = entry.name.capacity() <= std::string().capacity();  // a short name needs no memory of its own
  return sizeof entry + (is_within ? 0 : entry.name.capacity() + 1);
}

}  // namespace

bool comes_before_by_key(const FolderEntry& a, const FolderEntry& b) {
  if (!a.is_folder && !b.is_folder) return a.name < b.name;
  const std::size_t shared = std::min(a.name.size(), b.name.size());
  if (const int order = a.name.compare(0, shared, b.name, 0, shared); order != 0) return order < 0;
  const auto next = [&](const FolderEntry& entry) {
    if (shared < entry.name.size()) return int{static_cast<unsigned char>(entry.name[shared])};
    return entry.is_folder ? int{'/'} : -1;
  };
  return next(a) < next(b);
}

Status Listing::add(FolderEntry entry, const std::string& folder) {
  const std::uint64_t bytes = bytes_of_entry(entry);
  if (bytes > reserved_bytes_left_) {
    const std::uint64_t more = std::max(bytes, kReservedAtOnce);
    PENSTOCK_CHECK(memory_.add(more, "the list of a folder", {folder, -1, -1, -1}));
    reserved_bytes_left_ += more;
  }
  reserved_bytes_left_ -= bytes;
  entries_.push_back(std::move(entry));
  return {};
}

void Listing::sort_by_name() {
  const auto comes_before = [](const FolderEntry& a, const FolderEntry& b) {
    const int order = a.name.compare(b.name);
    return order != 0 ? order < 0 : a.is_folder < b.is_folder;
  };
  // Where no name begins with that of a folder, the order of the keys is the same.
  if (!std::ranges::is_sorted(entries_, comes_before)) std::ranges::sort(entries_, comes_before);
}

void Listing::sort_by_key() { std::ranges::sort(entries_, comes_before_by_key); }

bool RecursiveChoice::wants(std::string_view name) {
  if (!options_.wants) return true;
  std::size_t depth = 0;
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    const std::string_view folder = name.substr(0, slash);
    if (depth == folders_.size() || folders_[depth].first != folder) {
      folders_.resize(depth);
      folders_.emplace_back(folder, options_.wants(folder, true));
    }
    if (!folders_[depth++].second) return false;
  }
  return options_.wants(name, false);
}

}  // namespace penstock
