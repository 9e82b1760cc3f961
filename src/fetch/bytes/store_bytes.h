// The last link of the chain: reads files, and parts of shards, from the store.
//
// Objects that hold several samples stay open between samples. The version of each is checked once per epoch, because
// the name may refer to another file now, and after each read, because the file may have been written to meanwhile.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/stats.h"
#include "fetch/bytes/byte_provider.h"
#include "fetch/bytes/stretch.h"
#include "transform/op.h"

namespace penstock {

class StoreBytes final : public ByteProvider {
 public:
  StoreBytes(const SamplePlan& plan, Scratch& scratch, StageClock& clock, ReadOrigin& origin);

  Result<RecordValue> read(const FieldRead& wanted, const Extent& extent) override;
  Result<bool> read_into(const FieldRead& wanted, const Extent& extent,
                         std::span<const MutableBytes> parts) override;
  void turn_to(const SharedReads& shared) override { epoch_ = shared.epoch; }
  void end_sample() override;

 private:
  struct OpenedObject {
    std::unique_ptr<Object> object;
    std::uint64_t epoch = 0;  // the epoch in which the version of the name was last checked
  };

  Result<Object*> open(const Extent& extent);
  Object* find_open(const Extent& extent);
  Status check_unchanged(const Object& object) const;
  Status read_file(const Extent& extent);
  Status read_stretch(const FieldRead& wanted, const Extent& extent);
  Result<MutableBytes> buffer(std::uint64_t bytes);

  const SamplePlan& plan_;
  const std::vector<std::size_t> stored_fields_;
  Scratch& scratch_;
  StageClock& clock_;
  ReadOrigin& origin_;
  std::uint64_t epoch_ = 0;
  std::unordered_map<std::string, OpenedObject> shared_objects_;
  std::unique_ptr<Object> object_;  // an object that only this sample needs
  Stretch stretch_;                 // the bytes in the worker's buffer of encoded bytes
};

}  // namespace penstock
