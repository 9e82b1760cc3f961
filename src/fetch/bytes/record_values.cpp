#include "fetch/bytes/record_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "transform/op.h"

namespace penstock {

void RecordValues::end_sample() {
  record_ = {};
  next_.end_sample();
}

Result<RecordValue> RecordValues::read(const FieldRead& wanted, const Extent& extent) {
  auto stored = next_.read(wanted, extent);
  if (!stored) return stored;
  if (wanted.field.form == FieldForm::kRecord) return find_in_record(wanted, stored->bytes);
  if (wanted.field.form != FieldForm::kElements) return stored;
  const ArraySpec& spec = source_.array_layout(static_cast<std::size_t>(wanted.field.source_field))->spec;
  if (stored->bytes.size() != spec.bytes())
    return fail(ErrorCode::kShapeMismatch, fmt::format("{} bytes, where {} {} takes {}", stored->bytes.size(),
                                                       name_of(spec.dtype), spec.shape, spec.bytes()));
  stored->elements = spec;
  return stored;
}

bool RecordValues::is_open(ConstBytes stored) const {
  const ConstBytes opened = record_.bytes;
  return !opened.empty() && record_read_ == origin_.reads && opened.data() >= stored.data() &&
         opened.data() <= stored.data() + stored.size();
}

Result<RecordValue> RecordValues::find_in_record(const FieldRead& wanted, ConstBytes stored) {
  if (!is_open(stored)) {
    record_ = {};
    auto record = source_.open_record(wanted.sample, stored,
                                      [this](std::uint64_t more) { return scratch_.charge(more); });
    if (!record) return origin_.located(std::move(record).error());
    record_ = std::move(*record);
    record_read_ = origin_.reads;
  }
  auto value = source_.find_in_record(wanted.sample, static_cast<std::size_t>(wanted.field.source_field), record_,
                                      [this](std::size_t size) -> Result<MutableBytes> {
                                        const auto memory =
                                            scratch_.get(kScratchRecord, std::max<std::size_t>(size, 1));
                                        if (!memory) return memory;
                                        return memory->first(size);
                                      });
  if (!value) return origin_.located(std::move(value).error());
  return value;
}

Result<bool> RecordValues::read_into(const FieldRead& wanted, const Extent& extent,
                                     std::span<const MutableBytes> parts) {
  if (wanted.field.form == FieldForm::kRecord) return false;
  return next_.read_into(wanted, extent, parts);
}

}  // namespace penstock
