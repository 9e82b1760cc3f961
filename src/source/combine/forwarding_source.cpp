#include "source/combine/forwarding_source.h"

#include "source/array_box.h"
#include "source/extent.h"
#include "source/opened_record.h"

namespace penstock {

std::string ForwardingSource::key(std::uint64_t sample) const { return behind_->key(sample_behind(sample)); }

Result<Extent> ForwardingSource::extent(std::uint64_t sample, std::size_t field) const {
  return behind_->extent(sample_behind(sample), field);
}

IndexValue ForwardingSource::value(std::uint64_t sample, std::size_t field) const {
  return behind_->value(sample_behind(sample), field);
}

void ForwardingSource::boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const {
  behind_->boxes(sample_behind(sample), field, out);
}

Result<OpenedRecord> ForwardingSource::open_record(std::uint64_t sample, std::span<const std::byte> stored,
                                                   const Charge& charge) const {
  return behind_->open_record(sample_behind(sample), stored, charge);
}

Result<RecordValue> ForwardingSource::find_in_record(std::uint64_t sample, std::size_t field,
                                                     const OpenedRecord& record, const Allocate& allocate) const {
  return behind_->find_in_record(sample_behind(sample), field, record, allocate);
}

std::uint64_t ForwardingSource::stored_bytes_of(std::uint64_t sample) const {
  return behind_->stored_bytes_of(sample_behind(sample));
}

}  // namespace penstock
