// The link that gives what was read ahead, where the store answers many reads at a time.
//
// A read that was planned for the sample is handed over. Whatever was not planned (a stand-in for a bad sample, or no
// memory was left) is read now, by the same engine, so that cancelling the epoch breaks it off.
#pragma once

#include <memory>
#include <vector>

#include "base/stats.h"
#include "fetch/bytes/byte_provider.h"
#include "fetch/bytes/stretch.h"
#include "transform/op.h"

namespace penstock {

class AheadBytes final : public ByteProvider {
 public:
  AheadBytes(const SamplePlan& plan, Scratch& scratch, StageClock& clock, ReadOrigin& origin,
             ByteProvider& next);

  Result<RecordValue> read(const FieldRead& wanted, const Extent& extent) override;
  Result<bool> read_into(const FieldRead& wanted, const Extent& extent,
                         std::span<const MutableBytes> parts) override;
  void turn_to(const SharedReads& shared) override;
  void end_sample() override;

 private:
  bool reads_ahead(const Extent& extent) const;
  Status bring(const FieldRead& wanted, const Extent& extent);

  const SamplePlan& plan_;
  const std::vector<std::size_t> stored_fields_;
  Scratch& scratch_;
  StageClock& clock_;
  ReadOrigin& origin_;
  ByteProvider& next_;
  ReadAhead* ahead_ = nullptr;
  Stretch stretch_;
  std::shared_ptr<const void> memory_;  // owns the bytes that were read ahead
};

}  // namespace penstock
