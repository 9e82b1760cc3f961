// The marks of a tier's entries: one for each slot of its table, in memory of this process alone.
//
// At first all of them read as "never". Only pages that were touched take memory. Thread-safe.
#pragma once

#include "base/memory/memory_block.h"
#include "cache/shared/entry_table.h"
#include "cache/tier.h"

namespace penstock {

class EntryMarks {
 public:
  explicit EntryMarks(std::uint64_t slots)
      : bytes_(slots * sizeof(Word)),
        block_(MemoryBlock::allocate(bytes_, page_allocator())) {}  // which fills it with zeros

  // False if there was no memory for them; then at() must not be called.
  bool has_memory() const { return block_.size() >= bytes_; }

  EntryMark at(std::uint64_t slot, std::uint32_t state) const {
    return {reinterpret_cast<Word*>(block_.data())[slot], state};
  }
  EntryMark at(const EntryLocation& location) const { return at(location.slot, location.state); }

 private:
  using Word = std::atomic<std::uint64_t>;
  static_assert(sizeof(Word) == sizeof(std::uint64_t));

  const std::uint64_t bytes_;
  const MemoryBlock block_;
};

}  // namespace penstock
