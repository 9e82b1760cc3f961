// Records which upcoming samples use which chunk, so that the cache of decoded chunks can evict those that
// are used last.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "plan/chunk_id.h"

namespace penstock {

// An upcoming sample. Several epochs may run at once; each is a "walk" through its samples. `due` says when
// the sample is needed, and can be compared between walks.
struct SampleUse {
  SampleUse(std::uint64_t due_, std::uint64_t walk_ = 0) : due(due_), walk(walk_) {}
  std::uint64_t due = 0, walk = 0;
  auto operator<=>(const SampleUse&) const = default;
};

// A sample is "open" while workers make the batch that it belongs to: chunks can be handed to it at any time.
// Not thread-safe.
class ChunkUses {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  // Plans the uses of chunks by a sample.
  void add(const SampleUse& use, std::span<const ChunkId> chunks);
  // Records that a sample uses a chunk now. Returns false if that was not planned, or was recorded before.
  bool take(const SampleUse& use, const ChunkId& chunk);
  // Forgets the remaining uses by a sample, because it is finished or abandoned.
  void finish(const SampleUse& use, std::span<const ChunkId> chunks);
  // Forgets all uses by the samples of a walk.
  void forget_walk(std::uint64_t walk);

  // The samples of this walk that are due before `end` are open.
  void set_open(std::uint64_t walk, std::uint64_t end);

  // Returns when the chunk is used next; kNever if no use is planned.
  std::uint64_t next(const ChunkId& chunk) const;
  // Returns when the chunk is next used by a sample that is not open.
  std::uint64_t next_not_open(const ChunkId& chunk) const;
  // Returns the open samples that have not used the chunk yet.
  std::vector<SampleUse> open(const ChunkId& chunk) const;
  // Every open sample is due before this.
  std::uint64_t open_end() const;
  std::size_t size() const { return size_; }  // planned uses, over all chunks

  // Records that a chunk was decoded and takes this many bytes. To decode no chunk twice, every chunk would have to be
  // cached from its decoding until its last planned use. max_bytes_in_use() is the largest sum of their sizes so far.
  void note_decoded(const ChunkId& chunk, std::uint64_t bytes);
  std::uint64_t max_bytes_in_use() const { return max_in_use_; }

 private:
  struct UsesOfChunk {
    std::vector<SampleUse> uses;  // ascending, from index `first` on
    std::size_t first = 0;
    std::uint64_t bytes_in_use = 0;  // its size once it was decoded, else 0

    std::span<const SampleUse> left() const { return std::span(uses).subspan(first); }
    bool remove(const SampleUse& use);
  };
  using Entries = std::unordered_map<ChunkId, UsesOfChunk>;

  bool is_open(const SampleUse& use) const;
  Entries::iterator drop_if_empty(Entries::iterator entry);

  Entries uses_;
  std::unordered_map<std::uint64_t, std::uint64_t> open_;  // by walk: open samples are due before this
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
