#include "pack/zarr/group_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/memory/memory_block.h"
#include "base/text/byte_units.h"
#include "pack/zarr/block_reader.h"
#include "pack/zarr/chunk_encoder.h"
#include "pack/zarr/run_tasks.h"
#include "pack/zarr/shard_check.h"
#include "pack/zarr/shard_writer.h"
#include "source/array_box.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMadeBytesPerThread = 16 * kMiB;  // for samples that are made, before the block gets its part
constexpr std::uint64_t kMaxDistantReaders = 32;

// Memory that is reserved in the ledger as long as this lives.
class Reserved {
 public:
  Reserved(Ledger& ledger, std::uint64_t bytes) : ledger_(ledger), bytes_(ledger.try_reserve(bytes) ? bytes : 0) {}
  Reserved(const Reserved&) = delete;
  ~Reserved() { ledger_.release(bytes_); }
  bool is_granted(std::uint64_t bytes) const { return bytes_ == bytes; }

 private:
  Ledger& ledger_;
  const std::uint64_t bytes_;
};

class GroupPack {
 public:
  GroupPack(const GroupTask& task, ZarrPackReport& report)
      : source_(task.source),
        store_(task.store),
        root_(task.root),
        options_(task.options),
        group_(task.group),
        ledger_(task.ledger),
        go_on_(task.go_on),
        done_(task.done),
        report_(report) {
    for (const std::size_t number : group_.arrays) arrays_.push_back(&task.plan.arrays[number]);
  }

  Status run() {
    const std::uint64_t begin = group_.shards * options_.part / options_.parts;
    const std::uint64_t end = group_.shards * (options_.part + 1) / options_.parts;
    report_.shards += (end - begin) * arrays_.size();
    const auto missing = find_missing(begin, end);
    if (!missing) return std::unexpected(missing.error());
    if (missing->empty()) return {};
    PENSTOCK_CHECK(divide_memory());
    const MemoryBlock block = MemoryBlock::allocate(block_bytes_);
    if (block.data() == nullptr) return fail(ErrorCode::kNoMemory, "the system has no memory left", {root_, -1, -1, -1});
    memory_ = block.data();
    for (std::size_t i = 0; i < missing->size();) {
      // Consecutive shards of which all arrays lack their shard are read together.
      std::size_t count = 1;
      while (count < shards_per_pass_ && i + count < missing->size() && (*missing)[i + count] == (*missing)[i] + count)
        ++count;
      count = std::min<std::size_t>(count, shards_up_to_unit((*missing)[i], count));
      PENSTOCK_CHECK(pack_shards((*missing)[i], count));
      i += count;
    }
    report_.chunks_decoded += reader_->chunks_decoded();
    return {};
  }

 private:
  // The shards that some array does not have yet. Checks those that there are.
  Result<std::vector<std::uint64_t>> find_missing(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t shards = end - begin;
    present_.assign(arrays_.size(), {});
    for (auto& of_array : present_) of_array.assign(group_.shards, 0);
    std::atomic<std::uint64_t> kept{0}, damaged{0};
    const std::uint64_t index_bytes = 3 * ShardWriter::memory_bytes(most_chunks());
    const auto threads = static_cast<unsigned>(
        std::clamp<std::uint64_t>(ledger_.budget() / (kShardCheckBytes + index_bytes), 1, report_.threads));
    const Status checked = run_tasks(
        threads, shards * arrays_.size(),
        [&](unsigned, std::uint64_t task) -> Status {
          const std::size_t array = task % arrays_.size();
          const std::uint64_t shard = begin + task / arrays_.size();
          if (shard >= arrays_[array]->shards()) return mark_present(array, shard);
          const auto size = check_shard(store_, arrays_[array]->shard_key(root_, shard), *arrays_[array], shard,
                                        ShardDepth::kChunks);
          if (size) {
            kept.fetch_add(1);
            done_.fetch_add(arrays_[array]->samples_of(shard) * arrays_[array]->sample.bytes());
            return mark_present(array, shard);
          }
          const ErrorCode code = size.error().code;
          if (code == ErrorCode::kCorrupt || code == ErrorCode::kTruncated || code == ErrorCode::kTooLarge) {
            damaged.fetch_add(1);
            return {};
          }
          if (code == ErrorCode::kNotFound) return {};
          return std::unexpected(size.error());
        },
        go_on_);
    if (!checked) return std::unexpected(checked.error());
    report_.shards_kept += kept.load();
    report_.shards_damaged += damaged.load();
    std::vector<std::uint64_t> missing;
    for (std::uint64_t shard = begin; shard < end; ++shard)
      if (std::ranges::any_of(present_, [&](const auto& of_array) { return of_array[shard] == 0; }))
        missing.push_back(shard);
    return missing;
  }

  Status mark_present(std::size_t array, std::uint64_t shard) {
    present_[array][shard] = 1;  // a byte per shard, each written by one task
    return {};
  }

  std::uint64_t most_chunks() const {
    std::uint64_t most = 0;
    for (const PackedArray* array : arrays_) most = std::max(most, array->chunks_per_shard());
    return most;
  }

  // Divides the budget: readers and encoders of all threads get what they need, the block everything else.
  Status divide_memory() {
    std::uint64_t encode = 0;
    for (const PackedArray* array : arrays_) encode += ChunkEncoder::memory_bytes(*array);
    const std::uint64_t read = group_.is_chunked() ? chunk_block_bytes(*source_, group_.source_fields) : kMadeBytesPerThread;
    const std::uint64_t slab = static_cast<std::uint64_t>(group_.slab_samples) * group_.sample_bytes;
    // Two indexes of each array may be in memory: that of the shard being written, and its copy while it is checked.
    const std::uint64_t indexes = 2 * arrays_.size() * ShardWriter::memory_bytes(most_chunks());
    const std::uint64_t budget = ledger_.budget() - ledger_.budget() / 16;  // the rest is for lists of chunks
    const std::uint64_t needed = slab + indexes + encode + read;
    if (needed > budget)
      return fail(ErrorCode::kNoMemory,
                  fmt::format("packing {} needs at least {} MiB for {} samples at a time, the budget is {} MiB; give more "
                              "memory, or chunks of fewer samples",
                              arrays_.front()->name, (needed + needed / 15) / kMiB + 1, group_.slab_samples,
                              ledger_.budget() / kMiB),
                  {root_, -1, -1, -1});
    // Half of the budget is for the block, unless one thread takes more than the other half.
    const std::uint64_t for_threads = std::min(budget - slab - indexes, std::max(budget / 2, encode + read));
    threads_ = static_cast<unsigned>(std::clamp<std::uint64_t>(for_threads / (encode + read), 1, report_.threads));
    const std::uint64_t left = budget - slab - indexes - encode * threads_;
    // A distant store answers many requests at a time, so more threads wait for it than there are cores.
    const std::uint64_t wanted = std::min<std::uint64_t>(source_->storage().reads_ahead(), kMaxDistantReaders);
    readers_ = std::max(threads_, static_cast<unsigned>(std::min(wanted, std::min(budget / 4, left) / read)));
    std::uint64_t reading = read * readers_;
    if (!group_.is_chunked()) reading = std::max(reading, std::min(budget / 4, left));
    const std::uint64_t rest = budget - indexes - encode * threads_ - reading;
    slabs_per_pass_ = std::clamp<std::uint64_t>(rest / slab, 1, most_slabs());
    const auto length = static_cast<std::uint64_t>(group_.shard_samples / group_.slab_samples);
    shards_per_pass_ = std::clamp<std::uint64_t>(slabs_per_pass_ / length, 1, group_.shards);
    const std::uint64_t shard = length * slab;
    block_bytes_ = std::min(shards_per_pass_ * shard, slabs_per_pass_ * slab);
    block_.emplace(ledger_, block_bytes_ + indexes + encode * threads_);
    if (!block_->is_granted(block_bytes_ + indexes + encode * threads_))
      return fail(ErrorCode::kNoMemory, "the memory of the pack is used up", {root_, -1, -1, -1});
    return open_reader(reading);
  }

  // The boxes of the samples of a pass are listed in the part of the budget that is left for lists.
  std::uint64_t most_slabs() const {
    if (!group_.is_chunked()) return UINT64_MAX;
    std::vector<ArrayBox> boxes;
    for (const std::size_t field : group_.source_fields) source_->boxes(0, field, boxes);
    const std::uint64_t samples = ledger_.budget() / 64 / (sizeof(ArrayBox) * boxes.size());
    return std::max<std::uint64_t>(samples / static_cast<std::uint64_t>(group_.slab_samples), 1);
  }

  Status open_reader(std::uint64_t bytes) {
    const ReaderMemory memory{ledger_, bytes, readers_};
    auto reader = group_.is_chunked() ? read_chunk_blocks(source_, group_.source_fields, memory) : read_made(memory);
    if (!reader) return std::unexpected(std::move(reader).error());
    reader_ = std::move(*reader);
    for (unsigned thread = 0; thread < threads_; ++thread) {
      auto& own = encoders_.emplace_back();
      for (const PackedArray* array : arrays_) {
        auto encoder = ChunkEncoder::make(*array);
        if (!encoder) return std::unexpected(std::move(encoder).error());
        own.push_back(std::move(*encoder));
      }
    }
    return {};
  }

  Result<std::unique_ptr<BlockReader>> read_made(const ReaderMemory& memory) const {
    std::vector<std::string> names;
    std::vector<ArraySpec> specs;
    for (const PackedArray* array : arrays_) {
      names.push_back(array->name);
      specs.push_back(array->sample);
    }
    return read_made_blocks(source_, loader_options_for(options_, std::move(names)), std::move(specs), memory);
  }

  // Ends a pass where a unit of the source ends, if that is among the shards of the pass.
  std::uint64_t shards_up_to_unit(std::uint64_t first, std::uint64_t count) const {
    const std::uint64_t unit = source_->storage().unit_samples;
    const auto length = static_cast<std::uint64_t>(group_.shard_samples);
    if (!group_.is_chunked() || unit % length != 0) return count;
    const std::uint64_t in_unit = unit / length, end = (first + count) / in_unit * in_unit;
    return end > first ? end - first : count;
  }

  // Packs consecutive shards: at once if they fit, and otherwise a single one slab by slab.
  Status pack_shards(std::uint64_t first, std::uint64_t count) {
    const auto length = static_cast<std::uint64_t>(group_.shard_samples);
    const std::uint64_t begin = first * length, end = std::min((first + count) * length, source_->size());
    const std::uint64_t step = slabs_per_pass_ * static_cast<std::uint64_t>(group_.slab_samples);
    PENSTOCK_CHECK(open_writers(first, count));
    Status packed;
    for (std::uint64_t at = begin; at < end && packed; at += step) packed = pack_samples(first, at, std::min(at + step, end));
    for (auto& of_shard : writers_)
      for (auto& writer : of_shard)
        if (writer) report_.stored_bytes += packed ? writer->bytes() : 0;
    writers_.clear();
    return packed;
  }

  Status open_writers(std::uint64_t first, std::uint64_t count) {
    writers_.clear();
    for (std::uint64_t shard = first; shard < first + count; ++shard) {
      auto& of_shard = writers_.emplace_back();
      for (std::size_t i = 0; i < arrays_.size(); ++i) {
        const PackedArray& array = *arrays_[i];
        auto& writer = of_shard.emplace_back();
        if (present_[i][shard] != 0) continue;
        auto object = store_.create(array.shard_key(root_, shard));
        if (!object) return std::unexpected(std::move(object).error());
        writer = std::make_unique<ShardWriter>(std::move(*object), array.chunks_per_shard(),
                                               slabs_of(array, array.samples_of(shard)) * array.chunks_of_slab());
      }
    }
    return {};
  }

  static std::uint64_t slabs_of(const PackedArray& array, std::uint64_t samples) {
    const auto length = static_cast<std::uint64_t>(array.chunk.front());
    return (samples + length - 1) / length;
  }

  // The chunks of one shard of one array that a block has.
  struct Stretch {
    std::size_t array = 0;
    ShardWriter* writer = nullptr;
    ArrayBlock samples;
    std::uint64_t first_chunk = 0, chunks = 0;
    std::uint64_t first_task = 0;
  };

  Status pack_samples(std::uint64_t first_shard, std::uint64_t begin, std::uint64_t end) {
    SampleBlock block{begin, end - begin, {}};
    std::byte* next = memory_;
    for (const PackedArray* array : arrays_) {
      block.memory.push_back(next);
      next += block.samples * array->sample.bytes();
    }
    PENSTOCK_CHECK(reader_->read(block, go_on_));
    std::vector<Stretch> stretches;
    std::uint64_t tasks = 0;
    const auto length = static_cast<std::uint64_t>(group_.shard_samples);
    for (std::uint64_t shard = begin / length; shard * length < end; ++shard) {
      const std::uint64_t from = std::max(begin, shard * length), to = std::min(end, (shard + 1) * length);
      for (std::size_t i = 0; i < arrays_.size(); ++i) {
        const PackedArray& array = *arrays_[i];
        ShardWriter* const writer = writers_[shard - first_shard][i].get();
        if (writer == nullptr) continue;
        const std::uint64_t in_shard = from - shard * length;
        const std::uint64_t first_chunk =
            in_shard / static_cast<std::uint64_t>(array.chunk.front()) * array.chunks_of_slab();
        const std::uint64_t chunks = slabs_of(array, to - from) * array.chunks_of_slab();
        stretches.push_back({i, writer,
                             {block.memory[i] + (from - begin) * array.sample.bytes(), in_shard, to - from},
                             first_chunk, chunks, tasks});
        tasks += chunks;
      }
    }
    return run_tasks(
        threads_, tasks,
        [&](unsigned thread, std::uint64_t task) {
          const auto after = std::ranges::upper_bound(stretches, task, {}, &Stretch::first_task);
          return pack_chunk(thread, *(after - 1), task);
        },
        go_on_);
  }

  // The turn of a chunk in its shard. Where the chunk does not come, also because of std::bad_alloc, the others are told.
  class Turn {
   public:
    explicit Turn(ShardWriter& writer) : writer_(writer) {}
    Turn(const Turn&) = delete;
    ~Turn() {
      if (!is_over_) writer_.give_up();
    }
    void end() { is_over_ = true; }

   private:
    ShardWriter& writer_;
    bool is_over_ = false;
  };

  Status pack_chunk(unsigned thread, const Stretch& stretch, std::uint64_t task) {
    const std::uint64_t chunk = stretch.first_chunk + task - stretch.first_task;
    Turn turn(*stretch.writer);
    const auto encoded = encoders_[thread][stretch.array]->encode(chunk, stretch.samples);
    if (!encoded) return std::unexpected(encoded.error());
    PENSTOCK_CHECK(stretch.writer->add(chunk, *encoded));
    turn.end();
    const PackedArray& array = *arrays_[stretch.array];
    // The progress of a slab counts when its last chunk is written, in proportion to its samples.
    if (task + 1 == stretch.first_task + stretch.chunks)
      done_.fetch_add(stretch.samples.samples * array.sample.bytes());
    return {};
  }

  const SourcePtr& source_;
  const Store& store_;
  const std::string& root_;
  const ZarrPackOptions& options_;
  const FieldGroup& group_;
  Ledger& ledger_;
  const std::function<bool()>& go_on_;
  std::atomic<std::uint64_t>& done_;
  ZarrPackReport& report_;
  std::vector<const PackedArray*> arrays_;
  std::vector<std::vector<std::uint8_t>> present_;  // by array and shard
  std::uint64_t shards_per_pass_ = 1, slabs_per_pass_ = 1, block_bytes_ = 0;
  unsigned threads_ = 1, readers_ = 1;
  std::optional<Reserved> block_;
  std::unique_ptr<BlockReader> reader_;
  std::vector<std::vector<std::unique_ptr<ChunkEncoder>>> encoders_;  // by thread and array
  std::byte* memory_ = nullptr;
  std::vector<std::vector<std::unique_ptr<ShardWriter>>> writers_;  // by shard of the pass and array; nullptr: it is there
};

}  // namespace

Status pack_group(const GroupTask& task, ZarrPackReport& report) { return GroupPack(task, report).run(); }

}  // namespace penstock
