#include "pack/zarr/zarr_pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>
#include <numeric>

#include "base/machine.h"
#include "base/memory/ledger.h"
#include "base/stats.h"
#include "base/text/byte_units.h"
#include "pack/transform_text.h"
#include "pack/zarr/block_reader.h"
#include "pack/zarr/chunk_encoder.h"
#include "pack/zarr/hierarchy.h"
#include "pack/zarr/pack_plan.h"
#include "pack/zarr/run_tasks.h"
#include "pack/zarr/shard_check.h"
#include "pack/zarr/shard_writer.h"
#include "source/array_box.h"
#include "source/array_layout.h"
#include "source/chunked_array.h"
#include "source/source_storage.h"
#include "store/key_path.h"
#include "store/store_of_uri.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMadeBytesPerThread = 16 * kMiB;  // for samples that are made, before the block gets its part

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

// Packs the shards of one group that belong to one part.
class GroupPack {
 public:
  GroupPack(const SourcePtr& source, const Store& store, const std::string& root, const ZarrPackOptions& options,
            const PackPlan& plan, const FieldGroup& group, Ledger& ledger, ZarrPackReport& report,
            const std::function<bool()>& go_on, std::atomic<std::uint64_t>& done)
      : source_(source),
        store_(store),
        root_(root),
        options_(options),
        group_(group),
        ledger_(ledger),
        report_(report),
        go_on_(go_on),
        done_(done) {
    for (const std::size_t number : group.arrays) arrays_.push_back(&plan.arrays[number]);
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
    std::uint64_t reading = read * threads_;
    if (!group_.is_chunked()) reading = std::max(reading, std::min(budget / 4, budget - slab - indexes - encode * threads_));
    const std::uint64_t rest = budget - indexes - encode * threads_ - reading;
    const std::uint64_t shard = static_cast<std::uint64_t>(group_.shard_samples) * group_.sample_bytes;
    shards_per_pass_ = std::max<std::uint64_t>(std::min(rest / shard, group_.shards), 1);
    slabs_per_pass_ = rest / slab;
    block_bytes_ = std::min(shards_per_pass_ * shard, slabs_per_pass_ * slab);
    block_.emplace(ledger_, block_bytes_ + indexes + encode * threads_);
    if (!block_->is_granted(block_bytes_ + indexes + encode * threads_))
      return fail(ErrorCode::kNoMemory, "the memory of the pack is used up", {root_, -1, -1, -1});
    return open_reader(reading);
  }

  Status open_reader(std::uint64_t bytes) {
    const ReaderMemory memory{ledger_, bytes, threads_};
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

  Status pack_chunk(unsigned thread, const Stretch& stretch, std::uint64_t task) {
    const std::uint64_t chunk = stretch.first_chunk + task - stretch.first_task;
    const auto encoded = encoders_[thread][stretch.array]->encode(chunk, stretch.samples);
    if (!encoded) {
      stretch.writer->give_up();
      return std::unexpected(encoded.error());
    }
    PENSTOCK_CHECK(stretch.writer->add(chunk, *encoded));
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
  ZarrPackReport& report_;
  const std::function<bool()>& go_on_;
  std::atomic<std::uint64_t>& done_;
  std::vector<const PackedArray*> arrays_;
  std::vector<std::vector<std::uint8_t>> present_;  // by array and shard
  std::uint64_t shards_per_pass_ = 1, slabs_per_pass_ = 1, block_bytes_ = 0;
  unsigned threads_ = 1;
  std::optional<Reserved> block_;
  std::unique_ptr<BlockReader> reader_;
  std::vector<std::vector<std::unique_ptr<ChunkEncoder>>> encoders_;  // by thread and array
  std::byte* memory_ = nullptr;
  std::vector<std::vector<std::unique_ptr<ShardWriter>>> writers_;  // by shard of the pass and array; nullptr: it is there
};

Status check_options(const SourcePtr& source, const ZarrPackOptions& options) {
  const Where where{source->uri(), -1, -1, -1};
  if (source->size() == 0) return fail(ErrorCode::kInvalidArgument, "there are no samples to pack", where);
  if (source->draws() != nullptr)
    return fail(ErrorCode::kInvalidArgument,
                "random patches have no end; open the volumes without per_epoch, so that a grid of patches is packed", where);
  if (source->mixture() != nullptr)
    return fail(ErrorCode::kInvalidArgument, "a mixture with weights has no end; mix without weights", where);
  if (options.level < -7 || options.level > 22)
    return fail(ErrorCode::kInvalidArgument, fmt::format("level {}: zstd has -7 to 22", options.level), where);
  if (options.parts == 0 || options.part >= options.parts)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("part {} of {}: parts count from 0", options.part, options.parts), where);
  if (options.shard_bytes == 0) return fail(ErrorCode::kInvalidArgument, "shard size 0", where);
  return {};
}

// Picks from the coordinate of a dimension the entries that are samples.
Result<std::optional<CoordinateValues>> coordinate_of_samples(const Source& source, const ArrayDescription& description) {
  if (!description.read_sample_coordinate || !source.kind().starts_with("zarr")) return std::nullopt;
  auto whole = description.read_sample_coordinate();
  if (!whole || !*whole) return whole;
  const std::size_t item = size_of((*whole)->dtype), count = (*whole)->count();
  std::vector<std::byte> chosen(source.size() * item);
  for (std::uint64_t sample = 0; sample < source.size(); ++sample) {
    const std::string key = source.key(sample);
    std::uint64_t entry = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), entry);
    if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size() || entry >= count) return std::nullopt;
    std::memcpy(chosen.data() + sample * item, (*whole)->values.data() + entry * item, item);
  }
  (*whole)->values = std::move(chosen);
  return whole;
}

// The coordinates of the axes of all arrays. One that has the name of a packed array is left out.
Result<std::vector<CoordinateValues>> coordinates_of(const Source& source, const PackPlan& plan) {
  std::vector<CoordinateValues> all;
  const auto add = [&](CoordinateValues values, std::size_t extent) {
    const auto is_same = [&](const auto& other) { return other.name == values.name; };
    if (!is_new_node_name(values.name) || values.name.contains('/')) return;  // names of dimensions are not trusted
    if (std::ranges::any_of(all, is_same) || std::ranges::any_of(plan.arrays, is_same) || values.count() != extent) return;
    all.push_back(std::move(values));
  };
  for (const FieldGroup& group : plan.groups)
    for (std::size_t i = 0; i < group.source_fields.size(); ++i) {
      const ArrayDescription* description = source.array_layout(group.source_fields[i])->description.get();
      if (description == nullptr) continue;
      const PackedArray& array = plan.arrays[group.arrays[i]];
      auto of_samples = coordinate_of_samples(source, *description);
      if (!of_samples) return std::unexpected(std::move(of_samples).error());
      if (*of_samples) add(std::move(**of_samples), source.size());
      if (!description->read_coordinates) continue;
      auto others = description->read_coordinates();
      if (!others) return std::unexpected(std::move(others).error());
      for (CoordinateValues& values : *others) {
        const auto axis = std::ranges::find(array.dimensions, values.name);
        if (axis == array.dimensions.begin() || axis == array.dimensions.end()) continue;
        const auto extent = array.sample.shape[static_cast<std::size_t>(axis - array.dimensions.begin()) - 1];
        add(std::move(values), static_cast<std::size_t>(extent));
      }
    }
  return all;
}

// Fails for transforms that draw at random.
Result<std::string> describe_source(const Source& source, const ZarrPackOptions& options) {
  std::string text = fmt::format("{:016x}", source.fingerprint());
  for (const FieldTransform& transform : options.transforms) {
    text += fmt::format(" {}:", transform.field);
    for (const Transform& step : transform.steps) {
      const auto word = text_of(step);
      if (!word) return std::unexpected(word.error());
      text += " " + *word;
    }
  }
  return text;
}

// The store of a destination, and its key there.
struct Destination {
  std::shared_ptr<const Store> store;
  std::string root;

  static Result<Destination> open(const std::string& uri, const std::vector<std::string>& headers) {
    auto store = make_store_for(uri, headers);
    if (!store) return std::unexpected(std::move(store).error());
    std::string root = absolute_key(object_key(uri));
    while (root.size() > 1 && root.ends_with('/')) root.pop_back();
    return Destination{std::move(*store), std::move(root)};
  }
};

void count_part(const PackPlan& plan, const Source& source, const ZarrPackOptions& options, ZarrPackReport& report) {
  for (const FieldGroup& group : plan.groups) {
    const auto length = static_cast<std::uint64_t>(group.shard_samples);
    const std::uint64_t begin = group.shards * options.part / options.parts * length;
    const std::uint64_t end = group.shards * (options.part + 1) / options.parts * length;
    report.bytes += (std::min(end, source.size()) - std::min(begin, source.size())) * group.sample_bytes;
  }
}

// Looks at every shard of every part.
Status check_all(const Destination& to, std::span<const PackedArray> arrays, const ZarrPackOptions& options,
                 ZarrPackReport& report) {
  for (const PackedArray& array : arrays) {
    report.shards += array.shards();
    report.bytes += array.samples * array.sample.bytes();
    std::atomic<std::uint64_t> stored{0};
    PENSTOCK_CHECK(run_tasks(
        report.threads, array.shards(),
        [&](unsigned, std::uint64_t shard) -> Status {
          const auto size = check_shard(*to.store, array.shard_key(to.root, shard), array, shard, ShardDepth::kIndex);
          if (size) {
            stored.fetch_add(*size);
            return {};
          }
          Error error = size.error();
          if (error.code == ErrorCode::kNotFound)
            error.message = fmt::format("shard {} of {} is missing: a part is not packed yet", shard, array.name);
          return std::unexpected(std::move(error));
        },
        [&] { return !options.progress || options.progress(report.bytes, report.bytes); }));
    report.stored_bytes += stored.load();
  }
  return {};
}

}  // namespace

Result<ZarrPackReport> pack_zarr(const SourcePtr& source, const std::string& destination,
                                 const ZarrPackOptions& options) {
  const Clock::time_point began = Clock::now();
  PENSTOCK_CHECK(check_options(source, options));
  const auto to = Destination::open(destination, options.headers);
  if (!to) return std::unexpected(to.error());
  Ledger ledger(options.memory_bytes ? options.memory_bytes : default_memory_bytes(1));
  const auto plan = plan_pack(source, options, ledger);
  if (!plan) return std::unexpected(plan.error());
  const auto coordinates = coordinates_of(*source, *plan);
  if (!coordinates) return std::unexpected(coordinates.error());
  auto description = describe_source(*source, options);
  if (!description) return std::unexpected(std::move(description).error());
  const std::string record = describe_pack(*description, plan->arrays, *coordinates);
  PENSTOCK_CHECK(claim_destination(*to->store, to->root, record, *coordinates));
  ZarrPackReport report;
  report.arrays = plan->arrays.size();
  report.samples = source->size();
  report.threads = options.threads ? options.threads : usable_cpus();
  count_part(*plan, *source, options, report);
  std::atomic<std::uint64_t> done{0};
  const std::function<bool()> go_on = [&] {
    return !options.progress || options.progress(done.load(), report.bytes);
  };
  for (const FieldGroup& group : plan->groups)
    PENSTOCK_CHECK(
        GroupPack(source, *to->store, to->root, options, *plan, group, ledger, report, go_on, done).run());
  if (options.parts == 1) {
    PENSTOCK_CHECK(write_metadata(*to->store, to->root, record));
    report.root_metadata = to->root + "/zarr.json";
  }
  report.seconds = seconds_between(began, Clock::now());
  report.peak_memory = ledger.peak();
  return report;
}

Result<bool> is_zarr_pack(const std::string& destination, const std::vector<std::string>& headers) {
  const auto to = Destination::open(destination, headers);
  if (!to) return std::unexpected(to.error());
  const auto record = read_record(*to->store, to->root);
  if (!record && record.error().code != ErrorCode::kNotFound) return std::unexpected(record.error());
  return record.has_value();
}

Result<ZarrPackReport> finish_zarr(const std::string& destination, const ZarrPackOptions& options) {
  const Clock::time_point began = Clock::now();
  const auto to = Destination::open(destination, options.headers);
  if (!to) return std::unexpected(to.error());
  const auto record = read_record(*to->store, to->root);
  if (!record) return std::unexpected(record.error());
  const auto arrays = arrays_of_record(*record, to->root);
  if (!arrays) return std::unexpected(arrays.error());
  ZarrPackReport report;
  report.arrays = arrays->size();
  report.threads = options.threads ? options.threads : usable_cpus();
  for (const PackedArray& array : *arrays) report.samples = std::max(report.samples, array.samples);
  PENSTOCK_CHECK(check_all(*to, *arrays, options, report));
  PENSTOCK_CHECK(write_metadata(*to->store, to->root, *record));
  report.root_metadata = to->root + "/zarr.json";
  report.seconds = seconds_between(began, Clock::now());
  return report;
}

}  // namespace penstock
