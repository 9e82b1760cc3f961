// The link that gives bytes of compressed shards. It takes them from blocks that all workers share.
#pragma once

#include "base/stats.h"
#include "fetch/bytes/byte_provider.h"

namespace penstock {

class BlockBytes final : public ByteProvider {
 public:
  BlockBytes(StageClock& clock, ReadOrigin& origin, ByteProvider& next)
      : clock_(clock),
        origin_(origin),
        next_(next) {}

  Result<RecordValue> read(const FieldRead& wanted, const Extent& extent) override;
  Result<bool> read_into(const FieldRead& wanted, const Extent& extent,
                         std::span<const MutableBytes> parts) override;
  void turn_to(const SharedReads& shared) override;
  void end_sample() override;

 private:
  StageClock& clock_;
  ReadOrigin& origin_;
  ByteProvider& next_;
  StreamBlocks* streams_ = nullptr;
  StreamBlocks::BlockPtr block_;  // a worker holds at most one
};

}  // namespace penstock
