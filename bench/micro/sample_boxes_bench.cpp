// What it costs to find the boxes and chunks of a sample in the lookahead and again in the worker, and what it would
// cost to hand them over (docs/decisions/0033). Both are shown for one sample, in nanoseconds.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/memory/area.h"
#include "fetch/lookahead.h"
#include "penstock/source.h"
#include "penstock/loader.h"
#include "plan/chunk_pieces.h"
#include "plan/sample_boxes.h"

namespace penstock {
namespace {

// ---- data

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / fmt::format("penstock-boxes-{}", getpid())) {}
  ~Folder() { std::filesystem::remove_all(path); }
  const std::filesystem::path path;
};

// An array of bytes whose chunks are stored as they are, so that hardly anything is cheaper to decode.
void write_array(const std::filesystem::path& folder, const Shape& shape, const Shape& chunk) {
  std::filesystem::create_directories(folder);
  const auto list = [](const Shape& values) { return fmt::format("[{}]", fmt::join(values, ", ")); };
  std::ofstream(folder / ".zarray") << fmt::format(
      R"({{"zarr_format": 2, "shape": {}, "chunks": {}, "dtype": "|u1", "compressor": null, "filters": null, )"
      R"("order": "C", "fill_value": 0}})",
      list(shape), list(chunk));
  std::ofstream(folder / ".zattrs") << R"({"_ARRAY_DIMENSIONS": ["time", "y", "x"]})";
  const std::string bytes(element_count(chunk), 'x');
  for (std::int64_t z = 0; z * chunk[0] < shape[0]; ++z)
    for (std::int64_t y = 0; y * chunk[1] < shape[1]; ++y)
      for (std::int64_t x = 0; x * chunk[2] < shape[2]; ++x)
        std::ofstream(folder / fmt::format("{}.{}.{}", z, y, x)) << bytes;
}

SourcePtr opened(Result<SourcePtr> source) {
  if (!source) throw std::runtime_error(source.error().describe());
  return *source;
}

SourcePtr grid_source(const std::string& name, int variables, const Shape& chunk, std::vector<std::int64_t> history) {
  static const Folder folder;
  const auto path = folder.path / name;
  for (int i = 0; i < variables; ++i) write_array(path / fmt::format("v{}", i), {256, 64, 64}, chunk);
  std::ofstream(path / ".zgroup") << R"({"zarr_format": 2})";
  ZarrOptions options;
  options.sample_dim = "time";
  options.history = std::move(history);
  return opened(open_zarr(path.string(), options));
}

SourcePtr patch_source() {
  static const Folder folder;
  write_array(folder.path / "volume", {256, 256, 256}, {32, 32, 32});
  PatchOptions options;
  options.size = {72, 136, 136};
  options.per_epoch = 256;
  return opened(open_patches({(folder.path / "volume").string()}, options));
}

enum Kind : std::int64_t { kOneChunk, kWindow, kPatches, kManyChunks };

const SourcePtr& source_of(std::int64_t kind) {
  static const SourcePtr one = grid_source("one", 1, {1, 64, 64}, {0});
  static const SourcePtr window = grid_source("window", 5, {1, 64, 64}, {-3, -2, -1, 0});
  static const SourcePtr patches = patch_source();
  static const SourcePtr many = grid_source("many", 5, {1, 16, 16}, {-3, -2, -1, 0});
  switch (kind) {
    case kOneChunk: return one;
    case kWindow: return window;
    case kPatches: return patches;
    default: return many;
  }
}

std::vector<std::size_t> chunked_fields(const Source& source) {
  std::vector<std::size_t> fields;
  for (std::size_t i = 0; i < source.fields().size(); ++i)
    if (source.fields()[i].form == FieldForm::kChunks) fields.push_back(i);
  return fields;
}

// ---- what the worker makes of a sample (ChunkAssembler::find_needs)

struct Need {
  ChunkId chunk;
  std::size_t first_piece = 0, pieces = 0;
};

struct Found {
  SampleBoxes boxes;
  std::vector<ChunkPiece> pieces;

  void find(const Source& source, std::uint64_t sample) {
    boxes.find(source, sample);
    pieces.clear();
    cut_boxes(source.storage().arrays, boxes.boxes, pieces);
    sort_by_chunk(pieces);
  }
  std::uint64_t bytes() const {
    return boxes.boxes.size() * sizeof(ArrayBox) + pieces.size() * sizeof(ChunkPiece);
  }
};

void list_needs(const std::vector<ChunkPiece>& pieces, std::vector<Need>& needs, std::vector<ChunkId>& chunks) {
  needs.clear();
  chunks.clear();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (needs.empty() || needs.back().chunk != pieces[i].chunk) {
      needs.push_back({pieces[i].chunk, i, 0});
      chunks.push_back(pieces[i].chunk);
    }
    ++needs.back().pieces;
  }
}

// As it was at first: the lookahead cut all pieces and kept their chunks, and both sorted what they had.
void found_twice_and_sorted(benchmark::State& state) {
  const Source& source = *source_of(state.range(0));
  const std::vector<std::size_t> fields = chunked_fields(source);
  Found found;
  found.boxes.targets.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) found.boxes.targets[i].field = fields[i];
  std::vector<Need> needs;
  std::vector<ChunkId> chunks;
  std::uint64_t sample = 0;
  for (auto _ : state) {
    {
      std::vector<ArrayBox> boxes;
      for (const std::size_t field : fields) source.boxes(sample, field, boxes);
      std::vector<ChunkPiece> pieces;
      cut_boxes(source.storage().arrays, boxes, pieces);
      std::vector<ChunkId> of_pieces;
      of_pieces.reserve(pieces.size());
      for (const ChunkPiece& piece : pieces) of_pieces.push_back(piece.chunk);
      std::ranges::sort(of_pieces);
      of_pieces.erase(std::ranges::unique(of_pieces).begin(), of_pieces.end());
      benchmark::DoNotOptimize(of_pieces.data());
    }
    found.boxes.find(source, sample);
    found.pieces.clear();
    cut_boxes(source.storage().arrays, found.boxes.boxes, found.pieces);
    std::ranges::stable_sort(found.pieces, {}, &ChunkPiece::chunk);
    list_needs(found.pieces, needs, chunks);
    benchmark::DoNotOptimize(needs.data());
    sample = (sample + 1) % source.size();
  }
}
BENCHMARK(found_twice_and_sorted)->DenseRange(kOneChunk, kManyChunks);

// As it is: the lookahead lists the chunks, the worker cuts the pieces.
void found_twice(benchmark::State& state) {
  const Source& source = *source_of(state.range(0));
  const std::vector<std::size_t> fields = chunked_fields(source);
  Found found;
  found.boxes.targets.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) found.boxes.targets[i].field = fields[i];
  std::vector<Need> needs;
  std::vector<ChunkId> chunks;
  std::uint64_t sample = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(chunks_of(source, fields, sample));
    found.find(source, sample);
    list_needs(found.pieces, needs, chunks);
    benchmark::DoNotOptimize(needs.data());
    sample = (sample + 1) % source.size();
  }
  state.counters["chunks"] = static_cast<double>(needs.size());
  state.counters["bytes_handed"] = static_cast<double>(found.bytes());
}
BENCHMARK(found_twice)->DenseRange(kOneChunk, kManyChunks);

// The half of it that handing over would save at most.
void found_by_the_worker(benchmark::State& state) {
  const Source& source = *source_of(state.range(0));
  const std::vector<std::size_t> fields = chunked_fields(source);
  Found found;
  found.boxes.targets.resize(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) found.boxes.targets[i].field = fields[i];
  std::uint64_t sample = 0;
  for (auto _ : state) {
    found.find(source, sample);
    benchmark::DoNotOptimize(found.pieces.data());
    sample = (sample + 1) % source.size();
  }
}
BENCHMARK(found_by_the_worker)->DenseRange(kOneChunk, kManyChunks);

// Handed over by position, in memory that is reserved; `distance` samples lie between the two.
struct Handed {
  std::shared_ptr<Area> area = std::make_shared<Area>(std::make_shared<Ledger>(1ull << 40), 1ull << 40);
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::unique_ptr<Found>> by_position;
};

void handed_over(benchmark::State& state) {
  Handed handed;
  const Source& source = *source_of(state.range(0));
  const auto distance = static_cast<std::uint64_t>(state.range(1));
  const std::vector<std::size_t> fields = chunked_fields(source);
  const auto look = [&](std::uint64_t position) {
    auto found = std::make_unique<Found>();
    found->boxes.targets.resize(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) found->boxes.targets[i].field = fields[i];
    found->find(source, position % source.size());
    std::vector<ChunkId> chunks;  // for the plan of uses
    chunks.reserve(found->pieces.size());
    for (const ChunkPiece& piece : found->pieces)
      if (chunks.empty() || chunks.back() != piece.chunk) chunks.push_back(piece.chunk);
    benchmark::DoNotOptimize(chunks.data());
    if (!handed.area->try_reserve(found->bytes())) return;
    const std::lock_guard lock(handed.mutex);
    handed.by_position.emplace(position, std::move(found));
  };
  const auto take = [&](std::uint64_t position, std::vector<Need>& needs, std::vector<ChunkId>& chunks) {
    std::unique_ptr<Found> found;
    {
      const std::lock_guard lock(handed.mutex);
      if (auto node = handed.by_position.extract(position)) found = std::move(node.mapped());
    }
    if (!found) return state.SkipWithError("it was not handed over");
    handed.area->release(found->bytes());
    list_needs(found->pieces, needs, chunks);
    benchmark::DoNotOptimize(needs.data());
  };
  std::vector<Need> needs;
  std::vector<ChunkId> chunks;
  std::uint64_t position = 0;
  for (; position < distance; ++position) look(position);
  for (auto _ : state) {
    look(position);
    take(position - distance, needs, chunks);
    ++position;
  }
}
BENCHMARK(handed_over)
    ->ArgsProduct({{kOneChunk, kWindow, kPatches, kManyChunks}, {64, 1024}});

// A whole sample, read from the page cache by one thread, for comparison.
void whole_sample(benchmark::State& state) {
  LoaderOptions options;
  options.batch_size = 16;
  options.threads = 1;
  options.memory_bytes = 1ull << 30;
  auto loader = Loader::open(source_of(state.range(0)), options);
  if (!loader) return state.SkipWithError(loader.error().describe().c_str());
  std::uint64_t samples = 0;
  for (auto _ : state) {
    auto epoch = (*loader)->start_epoch();
    if (!epoch) return state.SkipWithError(epoch.error().describe().c_str());
    while (true) {
      const auto batch = (*epoch)->next();
      if (!batch || !*batch) break;
      samples += (*batch)->size;
    }
  }
  const auto per_sample = benchmark::Counter::kIsRate | benchmark::Counter::kInvert;
  state.counters["ns_a_sample"] = benchmark::Counter(static_cast<double>(samples) * 1e-9, per_sample);
}
BENCHMARK(whole_sample)->DenseRange(kOneChunk, kManyChunks)->MeasureProcessCPUTime();

}  // namespace
}  // namespace penstock
