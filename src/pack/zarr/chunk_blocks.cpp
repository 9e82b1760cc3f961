// Blocks of chunked arrays. The boxes of all samples of a block are joined and cut at the borders of the source's chunks.
// Each of these chunks is then read and decoded once, and scattered to all samples of the block that need it, so that the
// size of the block alone decides how often a chunk is decoded.
#include <algorithm>

#include "pack/zarr/block_reader.h"
#include "pack/zarr/run_tasks.h"
#include "plan/chunk_pieces.h"
#include "plan/sample_boxes.h"
#include "sample/chunks/chunk_decoder.h"
#include "sample/chunks/chunk_scatter.h"
#include "source/array_layout.h"
#include "source/source_storage.h"
#include "transform/scratch_use.h"
#include "base/text/byte_units.h"

namespace penstock {
namespace {

constexpr std::size_t kMinListed = 1 << 12;        // chunks, before a list is shortened
constexpr std::uint64_t kLibraryBytes = 2 * kMiB;  // what decompressors allocate by themselves

// Whether `next`, a box of the sample after, continues `box` along an axis on which both have one element. Then `box`
// takes it in.
bool takes_in(ArrayBox& box, const ArrayBox& next, std::int64_t joined, std::int64_t sample_elements) {
  if (next.array != box.array || next.coding != box.coding || next.to != box.to + joined * sample_elements)
    return false;
  int along = -1;
  for (std::size_t d = 0; d < box.origin.size(); ++d) {
    const bool is_same = next.origin[d] == box.origin[d] && next.count[d] == box.count[d];
    if (is_same && next.step[d] == box.step[d] && next.to_stride[d] == box.to_stride[d]) continue;
    if (along >= 0 || next.count[d] != 1) return false;
    along = static_cast<int>(d);
  }
  if (along < 0) return false;  // the same elements in both samples
  const auto d = static_cast<std::size_t>(along);
  const std::int64_t step = (next.origin[d] - box.origin[d]) / joined;
  if (step <= 0 || box.origin[d] + joined * step != next.origin[d]) return false;
  if (joined > 1 && (box.count[d] != joined || box.step[d] != step)) return false;
  if (joined == 1 && box.count[d] != 1) return false;
  box.count[d] = joined + 1;
  box.step[d] = step;
  box.to_stride[d] = sample_elements;
  return true;
}

// Appends the boxes of samples [first, first + count), joined where they can be.
void join_boxes(const Source& source, std::size_t field, std::uint64_t first, std::uint64_t count,
                std::int64_t sample_elements, std::vector<ArrayBox>& out) {
  std::vector<ArrayBox> own;
  std::size_t run = out.size();  // the boxes that the next sample may continue
  std::int64_t joined = 0;       // the number of samples in them
  for (std::uint64_t i = 0; i < count; ++i) {
    own.clear();
    source.boxes(first + i, field, own);
    for (ArrayBox& box : own) box.to += static_cast<std::int64_t>(i) * sample_elements;
    bool continues = joined > 0 && own.size() == out.size() - run;
    if (continues) {
      std::vector<ArrayBox> longer(out.begin() + static_cast<std::ptrdiff_t>(run), out.end());
      for (std::size_t b = 0; b < own.size() && continues; ++b)
        continues = takes_in(longer[b], own[b], joined, sample_elements);
      if (continues) std::ranges::copy(longer, out.begin() + static_cast<std::ptrdiff_t>(run));
    }
    if (continues) {
      ++joined;
      continue;
    }
    run = out.size();
    joined = 1;
    out.insert(out.end(), own.begin(), own.end());
  }
}

class ChunkBlocks final : public BlockReader {
 public:
  ChunkBlocks(SourcePtr source, std::vector<std::size_t> fields, const ReaderMemory& memory)
      : source_(std::move(source)),
        fields_(std::move(fields)),
        ledger_(memory.ledger),
        budget_(memory.ledger, memory.bytes / memory.threads, 0),
        scatter_(source_->storage().arrays) {
    for (unsigned i = 0; i < memory.threads; ++i) workers_.push_back(std::make_unique<Worker>(*source_, budget_));
  }

  ~ChunkBlocks() override { ledger_.release(listed_bytes_); }

  Status read(const SampleBlock& block, const std::function<bool()>& go_on) override {
    aim(block);
    const auto chunks = chunks_of_block(block);
    if (!chunks) return std::unexpected(chunks.error());
    Status done = run_tasks(
        static_cast<unsigned>(workers_.size()), chunks->size(),
        [&](unsigned thread, std::uint64_t task) { return copy_chunk(*workers_[thread], (*chunks)[task]); }, go_on);
    chunks_decoded_ += chunks->size();
    ledger_.release(listed_bytes_);
    listed_bytes_ = 0;
    return done;
  }

  std::uint64_t chunks_decoded() const override { return chunks_decoded_; }

 private:
  struct Worker {
    Worker(const Source& source, ScratchBudget& budget)
        : scratch(budget), clock(counters), decoder(source, scratch, clock, nullptr) {}

    WorkerCounters counters;
    Scratch scratch;
    StageClock clock;
    ChunkDecoder decoder;
    std::vector<ChunkPiece> pieces;
  };

  void aim(const SampleBlock& block) {
    boxes_.targets.clear();
    boxes_.boxes.clear();
    boxes_.first_box.clear();
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      ArraySpec spec = source_->array_layout(fields_[i])->spec;
      const auto sample_elements = static_cast<std::int64_t>(element_count(spec.shape));
      spec.shape.insert(spec.shape.begin(), static_cast<std::int64_t>(block.samples));
      const View view = view_of_array(block.memory[i], spec);
      boxes_.first_box.push_back(boxes_.boxes.size());
      boxes_.targets.push_back(
          {fields_[i], spec.dtype, view.rank, view.shape, block.memory[i], view.stride, {}, false});
      join_boxes(*source_, fields_[i], block.first, block.samples, sample_elements, boxes_.boxes);
    }
  }

  // Each chunk once, in ascending order. Neighbouring samples need the same chunks, so the list is shortened as it grows.
  Result<std::vector<ChunkId>> chunks_of_block(const SampleBlock& block) {
    std::vector<ChunkId> chunks;
    std::size_t shorten_at = kMinListed;
    const auto shorten = [&] {
      std::ranges::sort(chunks);
      chunks.erase(std::ranges::unique(chunks).begin(), chunks.end());
      shorten_at = std::max(2 * chunks.size(), kMinListed);
    };
    PENSTOCK_CHECK(list_bytes(boxes_.boxes.capacity() * sizeof(ArrayBox), block));
    for (const ArrayBox& box : boxes_.boxes) {
      const std::span<const ArrayBox> one(&box, 1);
      const std::uint64_t more = count_pieces(source_->storage().arrays, one);
      if (const std::size_t needed = chunks.size() + more; needed > chunks.capacity()) {
        const std::size_t capacity = std::max(needed, 2 * chunks.capacity());
        PENSTOCK_CHECK(list_bytes(capacity * sizeof(ChunkId), block));
        chunks.reserve(capacity);
      }
      list_chunks(source_->storage().arrays, one, chunks);
      if (chunks.size() > shorten_at) shorten();
    }
    shorten();
    return chunks;
  }

  // Reserves memory for lists until the block is read.
  Status list_bytes(std::uint64_t bytes, const SampleBlock& block) {
    if (!ledger_.try_reserve(bytes))
      return fail(ErrorCode::kNoMemory, "no memory left for the list of chunks: give more memory",
                  {source_->uri(), -1, -1, static_cast<std::int64_t>(block.first)});
    listed_bytes_ += bytes;
    return {};
  }

  Status copy_chunk(Worker& worker, const ChunkId& chunk) {
    worker.clock.start();
    const Status copied = try_copy_chunk(worker, chunk);
    worker.decoder.end_chunk();
    if (copied) return {};
    Error error = copied.error();
    if (error.where.uri.empty()) error.where = worker.decoder.reader().where();
    return std::unexpected(std::move(error));
  }

  Status try_copy_chunk(Worker& worker, const ChunkId& chunk) {
    const ChunkedArray& array = *source_->storage().arrays[chunk.array];
    worker.pieces.clear();
    cut_boxes_at(source_->storage().arrays, boxes_.boxes, chunk, worker.pieces);
    if (const MutableBytes target = scatter_.direct_target(boxes_, worker.pieces); !target.empty())
      return worker.decoder.decode(chunk, target);
    const auto memory = worker.scratch.get(kScratchChunk, array.chunk_bytes(chunk.number));
    if (!memory) return std::unexpected(memory.error());
    const MutableBytes decoded = memory->first(array.chunk_bytes(chunk.number));
    PENSTOCK_CHECK(worker.decoder.decode(chunk, decoded));
    const auto bytes = scatter_.copy(boxes_, worker.pieces, decoded, 0);
    if (!bytes) return std::unexpected(bytes.error());
    return {};
  }

  const SourcePtr source_;
  const std::vector<std::size_t> fields_;
  Ledger& ledger_;
  ScratchBudget budget_;
  const ChunkScatter scatter_;
  std::vector<std::unique_ptr<Worker>> workers_;
  SampleBoxes boxes_;
  std::uint64_t chunks_decoded_ = 0;
  std::uint64_t listed_bytes_ = 0;  // reserved for the lists of a block
};

}  // namespace

std::uint64_t chunk_block_bytes(const Source& source, std::span<const std::size_t> fields) {
  std::uint64_t most = 0;
  std::vector<ArrayBox> boxes;
  for (const std::size_t field : fields)
    for (const std::uint64_t sample : {std::uint64_t{0}, source.size() - 1}) source.boxes(sample, field, boxes);
  for (const ArrayBox& box : boxes) {
    const ChunkedArray& array = *source.storage().arrays[box.array];
    if (array.chunks() == 0) continue;
    const std::uint64_t bytes = array.chunk_bytes(0);
    most = std::max(most, 2 * bytes + bytes / 8 + array.decode_scratch_bytes());
  }
  return most + kLibraryBytes;
}

Result<std::unique_ptr<BlockReader>> read_chunk_blocks(SourcePtr source, std::vector<std::size_t> fields,
                                                       const ReaderMemory& memory) {
  return std::make_unique<ChunkBlocks>(std::move(source), std::move(fields), memory);
}

}  // namespace penstock
