// An image whose decoded pixels are cached. The cached pixels are the result of the first steps, which are the same in
// every epoch.
#pragma once

#include <memory>

#include "sample/fields/image_field.h"

namespace penstock {

class CachedImageField final : public ImageField {
 public:
  static bool applies(const FieldSetup& setup, std::size_t field);
  CachedImageField(const FieldSetup& setup, std::size_t field);

  void turn_to(const SharedReads& shared) override { ahead_ = shared.ahead(); }
  void end_sample() override { entry_.reset(); }

 private:
  Result<View> load(const SampleTask& task) override;
  Result<View> decode_and_cache(const SampleTask& task, const Extent& extent, const SampleCache::Subject& subject);

  const CacheTier::Allocate allocate_;
  ReadAhead* ahead_ = nullptr;
  std::shared_ptr<const void> entry_;  // owns the pixels that the cache gave
};

}  // namespace penstock
