// The entries that a store has listed, with the memory that they take.
//
// A store may list any number of objects, so a Listing reserves memory from the opening of its thread before it keeps
// an entry (docs/decisions/0023), and releases it when it is destroyed. Movable; belongs to one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory/opening_memory.h"
#include "penstock/result.h"
#include "store/folder_entry.h"

namespace penstock {

class Listing {
 public:
  // Fails with kNoMemory, at `folder`, if the opening has no memory left for the entry.
  Status add(FolderEntry entry, const std::string& folder);

  // By the bytes of the names, and by the bytes of the keys (comes_before_by_key).
  void sort_by_name();
  void sort_by_key();

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const FolderEntry& front() const { return entries_.front(); }
  FolderEntry& operator[](std::size_t i) { return entries_[i]; }
  const FolderEntry& operator[](std::size_t i) const { return entries_[i]; }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<FolderEntry> entries_;
  OpeningReservation memory_;
  std::uint64_t reserved_bytes_left_ = 0;
};

// Applies ListOptions::wants to the objects of a recursive listing, for stores that keep no folders: it asks once for
// each folder on the way to an object, as long as names come in the order of their keys.
class RecursiveChoice {
 public:
  // `options` is borrowed.
  explicit RecursiveChoice(const ListOptions& options) : options_(options) {}

  bool wants(std::string_view name);

 private:
  const ListOptions& options_;
  std::vector<std::pair<std::string, bool>> folders_;  // of the last object, from the outermost, and whether wanted
};

}  // namespace penstock
