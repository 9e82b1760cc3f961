// Makes the fields of samples into a batch, one sample after another, as a worker does.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plan/field_plan.h"
#include "sample/field_maker.h"
#include "support/memory_cache.h"
#include "support/test_batch.h"
#include "support/test_worker.h"

namespace penstock {

struct FieldRun {
  // `cached`: in memory of this process, in this form, without looking whether objects have changed.
  FieldRun(SourcePtr source, std::vector<LayoutField> slots, const LoaderOptions& options = {},
           std::optional<CacheForm> cached = {})
      : plan(*plan_fields(std::move(source), options)),
        batch(std::move(slots), 2, 16 << 20) {
    if (cached) {
      cache = std::make_unique<SampleCache>(memory_cache(false), plan, *cached);
      cache->start_epoch(plan.source->size());
    }
    bytes = std::make_unique<SampleBytes>(plan, worker.scratch, worker.clock, worker.origin, cache.get());
    for (std::size_t field = 0; field < plan.fields.size(); ++field)
      makers.push_back(
          make_field_maker({plan, worker.context, decoder, *bytes, worker.origin, flow, cache.get()}, field));
  }

  // Makes the sample at this index of the batch.
  Status make(std::uint64_t sample, std::uint64_t index = 0, std::uint64_t epoch = 0) {
    worker.context.draws = Draws(plan.seed, epoch, sample);
    delivery.begin({&batch.target, index});
    Status status;
    for (const auto& maker : makers)
      if (status && maker) status = maker->make({epoch, sample, sample});
    end_sample();
    return status;
  }
  Result<UnitCost> measure(std::uint64_t sample) {
    UnitCost cost;
    Status status;
    for (const auto& maker : makers)
      if (status && maker) status = maker->measure({0, 0, sample}, cost);
    end_sample();
    if (!status) return std::unexpected(status.error());
    return cost;
  }
  // The bytes of a field in its slot.
  std::vector<std::byte> slot(std::size_t field, std::uint64_t index = 0) const {
    const MutableBytes slot = batch.layout.slot(batch.contents.block.data(), field, index);
    return {slot.begin(), slot.end()};
  }

  SamplePlan plan;
  TestBatch batch;
  TestWorker worker;
  ImageDecoder decoder;
  Delivery delivery{plan, worker.clock};
  ValueFlow flow{plan, worker.context, delivery};
  std::unique_ptr<SampleCache> cache;
  std::unique_ptr<SampleBytes> bytes;
  std::vector<std::unique_ptr<FieldMaker>> makers;  // by field

 private:
  void end_sample() {
    bytes->end_sample();
    for (const auto& maker : makers)
      if (maker) maker->end_sample();
    flow.end_sample();
    worker.context.held.reset();
    worker.context.picture.reset();
    worker.context.keep_buffer = -1;
    worker.scratch.end_sample();
  }
};

}  // namespace penstock
