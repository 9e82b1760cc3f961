// Which of the coming samples use a chunk: what tells a chunk that is wanted soon from one that
// can go.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "plan/chunk_id.h"

namespace penstock {

// One coming sample. Several epochs may be under way: each walks through its samples by itself, and the
// times at which they are due can be compared between walks.
struct SampleUse {
  SampleUse(std::uint64_t due_, std::uint64_t walk_ = 0) : due(due_), walk(walk_) {}
  std::uint64_t due = 0, walk = 0;
  auto operator<=>(const SampleUse&) const = default;
};

// Not thread-safe.
class ChunkUses {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  // The sample uses these chunks.
  void add(const SampleUse& use, std::span<const ChunkId> chunks);
  // It uses this one now. False where that was not planned, or has happened already.
  bool take(const SampleUse& use, const ChunkId& chunk);
  // It has used them, or never will.
  void finish(const SampleUse& use, std::span<const ChunkId> chunks);
  // The samples of this walk that are still to come will not.
  void forget_walk(std::uint64_t walk);

  // Samples of this walk that are due before `end` are in the making: a chunk can be handed to them at any time.
  void set_open(std::uint64_t walk, std::uint64_t end);

  // When the first sample that has not used it yet is due.
  std::uint64_t next(const ChunkId& chunk) const;
  // The first one that is not in the making yet.
  std::uint64_t next_not_open(const ChunkId& chunk) const;
  // Those in the making that have not used it yet.
  std::vector<SampleUse> open(const ChunkId& chunk) const;
  // All samples in the making are due before this.
  std::uint64_t open_end() const;
  std::size_t size() const { return size_; }  // uses, over all chunks

  // The chunk was decoded, and takes so many bytes. From then on until its last planned use it would have to be
  // kept, were it never to be decoded again: max_bytes_in_use() is the most that this came to at one time.
  void note_decoded(const ChunkId& chunk, std::uint64_t bytes);
  std::uint64_t max_bytes_in_use() const { return max_in_use_; }

 private:
  struct OfChunk {
    std::vector<SampleUse> uses;  // rising, from `first` on
    std::size_t first = 0;
    std::uint64_t bytes_in_use = 0;  // once it was decoded

    std::span<const SampleUse> left() const { return std::span(uses).subspan(first); }
    bool remove(const SampleUse& use);
  };
  using Entries = std::unordered_map<ChunkId, OfChunk>;

  bool is_open(const SampleUse& use) const;
  Entries::iterator drop_if_empty(Entries::iterator entry);

  Entries uses_;
  std::unordered_map<std::uint64_t, std::uint64_t> open_;  // by walk: the end of what is in the making
  std::size_t size_ = 0;
  std::uint64_t in_use_ = 0, max_in_use_ = 0;
};

}  // namespace penstock

template <>
struct std::hash<penstock::SampleUse> {
  std::size_t operator()(const penstock::SampleUse& use) const {
    return penstock::mix64(use.due ^ (use.walk << 48));
  }
};
