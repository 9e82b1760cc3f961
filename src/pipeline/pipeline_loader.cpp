#include "pipeline/pipeline_loader.h"

#include "pipeline/loader_core.h"

namespace penstock {
namespace {

class PipelineEpoch final : public Epoch {
 public:
  PipelineEpoch(std::shared_ptr<LoaderCore> core, std::shared_ptr<EpochRecord> record)
      : core_(std::move(core)),
        record_(std::move(record)) {}
  ~PipelineEpoch() override { core_->close_epoch(*record_); }

  std::uint64_t number() const override { return record_->task.epoch; }
  Result<Next> next(Batch& out, std::chrono::milliseconds patience) override {
    return core_->next(record_, out, patience);
  }
  void close() override { core_->close_epoch(*record_); }

 private:
  const std::shared_ptr<LoaderCore> core_;
  const std::shared_ptr<EpochRecord> record_;
};

class PipelineLoader final : public Loader {
 public:
  explicit PipelineLoader(std::shared_ptr<LoaderCore> core) : core_(std::move(core)) {}
  ~PipelineLoader() override { core_->close(); }

  Result<std::unique_ptr<Epoch>> start_epoch() override {
    auto record = core_->start_epoch();
    if (!record) return std::unexpected(std::move(record).error());
    return std::make_unique<PipelineEpoch>(core_, std::move(*record));
  }
  std::uint64_t batches_per_epoch() const override { return core_->batches_per_epoch(); }
  void set_epoch(std::uint64_t epoch) override { core_->set_epoch(epoch); }
  Status set_sampler(std::shared_ptr<const std::vector<std::uint64_t>> indices) override {
    return core_->set_sampler(std::move(indices));
  }
  Status set_ranks(std::uint32_t rank, std::uint32_t world_size, std::uint32_t local_ranks) override {
    return core_->set_ranks(rank, world_size, local_ranks);
  }
  Tuning tune(const Tuning& wanted) override { return core_->tune(wanted); }
  Status read_content() override { return core_->read_content(); }
  LoaderState state() const override { return core_->state(); }
  Status load_state(const LoaderState& state) override { return core_->load_state(state); }
  LoaderStats stats() const override { return core_->stats(); }
  std::vector<BatchField> sample_fields() const override { return core_->sample_fields(); }
  const Source& source() const override { return core_->source(); }
  void close() override { core_->close(); }

 private:
  const std::shared_ptr<LoaderCore> core_;  // shared with the epochs
};

}  // namespace

std::unique_ptr<Loader> make_pipeline_loader(SourcePtr source, LoaderParts parts) {
  return std::make_unique<PipelineLoader>(
      std::make_shared<LoaderCore>(std::move(source), std::move(parts)));
}

}  // namespace penstock
