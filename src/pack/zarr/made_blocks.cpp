// Blocks of samples that are made one by one, as a loader makes them, and copied to their places.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/text/byte_units.h"
#include "pack/zarr/block_reader.h"
#include "pack/zarr/run_tasks.h"
#include "penstock/interruption.h"
#include "plan/field_plan.h"
#include "sample/sample_worker.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxMadeShare = 32 * kMiB;
constexpr std::uint64_t kMadeRun = 16;  // consecutive samples that a thread takes at a time

class MadeBlocks final : public BlockReader {
 public:
  MadeBlocks(SamplePlan plan, std::vector<ArraySpec> specs, const ReaderMemory& memory, std::uint64_t stream_bytes)
      : plan_(std::move(plan)),
        specs_(std::move(specs)),
        share_(std::min((memory.bytes - stream_bytes) / (2 * memory.threads), kMaxMadeShare)),
        budget_(memory.ledger, share_, memory.bytes - stream_bytes - share_ * memory.threads) {}

  void add_streams(std::unique_ptr<StreamBlocks> streams) { streams_ = std::move(streams); }

  void start(unsigned threads) {
    const SharedReads shared{.streams = streams_.get()};
    for (unsigned i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>(plan_, budget_, shared));
  }

  Status read(const SampleBlock& block, const std::function<bool()>& go_on) override {
    const std::uint64_t runs = (block.samples + kMadeRun - 1) / kMadeRun;
    const auto still_on = [&] {
      const bool does = go_on();
      if ((!does || Interruption::is_requested()) && streams_) streams_->interrupt();
      return does;
    };
    return run_tasks(
        static_cast<unsigned>(workers_.size()), runs,
        [&](unsigned thread, std::uint64_t run) -> Status {
          const std::uint64_t end = std::min((run + 1) * kMadeRun, block.samples);
          for (std::uint64_t i = run * kMadeRun; i < end; ++i) PENSTOCK_CHECK(make(*workers_[thread], block, i));
          return {};
        },
        still_on);
  }

 private:
  struct Worker {
    Worker(const SamplePlan& plan, ScratchBudget& budget, const SharedReads& shared)
        : maker(plan, budget, counters, shared) {}

    WorkerCounters counters;
    SampleWorker maker;
  };

  Status make(Worker& worker, const SampleBlock& block, std::uint64_t index) {
    const std::uint64_t sample = block.first + index;
    Status fits;
    const LookAtField copy = [&](const SeenField& seen) {
      const int place = plan_.delivered_as[seen.field];
      if (place < 0 || !fits) return;
      fits = copy_value(seen, static_cast<std::size_t>(place), block, index);
    };
    PENSTOCK_CHECK(worker.maker.look_at(sample, copy));
    if (!fits) fits.error().where = {plan_.source->uri(), -1, -1, static_cast<std::int64_t>(sample)};
    return fits;
  }

  Status copy_value(const SeenField& seen, std::size_t place, const SampleBlock& block, std::uint64_t index) const {
    const ArraySpec& spec = specs_[place];
    const FieldPlan& field = plan_.fields[seen.field];
    if (seen.view == nullptr)
      return fail(ErrorCode::kShapeMismatch, fmt::format("field {} is a text, not an array", field.name));
    const ArraySpec own = field.program.spec_of(*seen.view);
    if (own != spec)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("field {} is {} {}, the array has samples of {} {}; all samples need one type and shape, "
                              "which a transform such as Resize gives them",
                              field.name, penstock::name_of(own.dtype), own.shape, penstock::name_of(spec.dtype),
                              spec.shape));
    return field.program.store(*seen.view, spec, {block.memory[place] + index * spec.bytes(), spec.bytes()});
  }

  const SamplePlan plan_;
  const std::vector<ArraySpec> specs_;
  const std::uint64_t share_;
  ScratchBudget budget_;
  std::unique_ptr<StreamBlocks> streams_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

Result<std::unique_ptr<BlockReader>> read_made_blocks(SourcePtr source, const LoaderOptions& options,
                                                      std::vector<ArraySpec> specs, const ReaderMemory& memory) {
  auto plan = plan_fields(source, options);
  if (!plan) return std::unexpected(std::move(plan).error());
  plan->opened_at_ns = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  if (!source->storage().is_forward_only()) {
    auto blocks = std::make_unique<MadeBlocks>(std::move(*plan), std::move(specs), memory, 0);
    blocks->start(memory.threads);
    return blocks;
  }
  // Compressed shards are read forward, in the order of their samples.
  const auto streams = plan_streams(*source, {.window_units = 1, .prefetch = 1, .max_bytes = memory.bytes / 2});
  if (!streams) return std::unexpected(streams.error());
  ReaderMemory one = memory;
  one.threads = 1;
  auto blocks = std::make_unique<MadeBlocks>(std::move(*plan), std::move(specs), one, streams->bytes());
  // The ledger is the caller's, who outlives the reader.
  const std::shared_ptr<Ledger> ledger(&memory.ledger, [](Ledger*) {});
  blocks->add_streams(
      std::make_unique<StreamBlocks>(*source, std::make_shared<Area>(ledger, streams->bytes()), *streams));
  blocks->start(1);
  return blocks;
}

}  // namespace penstock
