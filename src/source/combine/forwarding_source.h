// A source that is another source with a few differences.
#pragma once

#include "penstock/source.h"

namespace penstock {

// Forwards every function to the source behind it. Derived classes override what differs, and translate sample numbers
// in sample_behind() where theirs are others.
class ForwardingSource : public Source {
 public:
  std::uint64_t size() const override { return behind_->size(); }
  const std::vector<FieldInfo>& fields() const override { return behind_->fields(); }
  std::string kind() const override { return behind_->kind(); }
  std::string uri() const override { return behind_->uri(); }
  std::string key(std::uint64_t sample) const override;
  const std::vector<std::string>& classes() const override { return behind_->classes(); }
  std::uint64_t fingerprint() const override { return behind_->fingerprint(); }
  const LeftOutFiles* left_out() const override { return behind_->left_out(); }
  std::uint64_t windows_left_out() const override { return behind_->windows_left_out(); }

  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override;
  IndexValue value(std::uint64_t sample, std::size_t field) const override;
  void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const override;
  const ArrayLayout* array_layout(std::size_t field) const override { return behind_->array_layout(field); }
  Result<OpenedRecord> open_record(std::uint64_t sample, std::span<const std::byte> stored,
                                   const Charge& charge) const override;
  Result<RecordValue> find_in_record(std::uint64_t sample, std::size_t field, const OpenedRecord& record,
                                     const Allocate& allocate) const override;
  std::uint64_t record_reading(std::size_t field) const override { return behind_->record_reading(field); }

  const SourceStorage& storage() const override { return behind_->storage(); }
  std::uint64_t stored_bytes_of(std::uint64_t sample) const override;

  const SampleDraws* draws() const override { return behind_->draws(); }
  const Mixture* mixture() const override { return behind_->mixture(); }

 protected:
  explicit ForwardingSource(SourcePtr behind) : behind_(std::move(behind)) {}

  const Source& behind() const { return *behind_; }
  virtual std::uint64_t sample_behind(std::uint64_t sample) const { return sample; }

 private:
  SourcePtr behind_;
};

}  // namespace penstock
