// Writes finished values to the batch: into their slots or, if they vary in size, into memory of their own.
//
// Belongs to one worker thread. The plan and the clock are borrowed and outlive it; a target must outlive the sample.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/stats.h"
#include "plan/sample_plan.h"
#include "sample/batch_target.h"

namespace penstock {

class Delivery {
 public:
  Delivery(const SamplePlan& plan, StageClock& clock) : plan_(plan), clock_(clock) {}

  void begin(const SampleTarget& target);
  const SampleTarget& target() const { return target_; }

  Status deliver(std::size_t field, const View& value);
  Status deliver_text(std::size_t field, FieldKind kind, std::string_view text);

  // The slot that a value of the field can be written to without a copy in between. There is one only if the field is
  // delivered to a slot and no other field is made from it.
  struct Slot {
    MutableBytes bytes;
    const ArraySpec& spec;
  };
  std::optional<Slot> direct_slot(std::size_t field, const SampleTarget& target) const;

  // Called after a failure: removes everything of the sample from the batch.
  void withdraw();
  // Whether the sample failed because memory for it becomes free only when earlier batches are delivered.
  bool is_too_early() const { return is_too_early_; }
  // Whether the sample failed because the batch as a whole needs too much memory.
  bool is_batch_too_large() const { return is_batch_too_large_; }

 private:
  Status deliver_part(std::size_t field, const View& value);
  Status reserve(std::uint64_t bytes);

  const SamplePlan& plan_;
  StageClock& clock_;
  SampleTarget target_;
  std::uint64_t reserved_ = 0;  // bytes of variable memory that this sample holds
  bool is_too_early_ = false, is_batch_too_large_ = false;
};

}  // namespace penstock
