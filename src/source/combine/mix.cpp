// Several sources seen as one, drawn from by weight or simply one after another.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "penstock/source.h"
#include "source/array_box.h"
#include "source/array_layout.h"
#include "source/extent.h"
#include "source/mixture.h"
#include "source/opened_record.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

class MixSource final : public Source {
 public:
  MixSource(std::vector<SourcePtr> parts, std::vector<double> weights) : parts_(std::move(parts)) {
    mixture_.weights = std::move(weights);
    for (const SourcePtr& part : parts_) {
      first_.push_back(size_);
      size_ += part->size();
      mixture_.sizes.push_back(part->size());
      fingerprint_ = mix64(fingerprint_ ^ part->fingerprint());
      add_storage(part->storage());
    }
    storage_.units = join_units();
    // A field that is missing in some samples of a part cannot be in every batch.
    fields_ = parts_.front()->fields();
    for (std::size_t i = 0; i < fields_.size(); ++i)
      for (const SourcePtr& part : parts_)
        fields_[i].is_everywhere = fields_[i].is_everywhere && part->fields()[i].is_everywhere;
  }

  std::uint64_t size() const override { return size_; }
  const std::vector<FieldInfo>& fields() const override { return fields_; }
  std::string kind() const override { return "mixture"; }
  std::string uri() const override {
    std::string text;
    for (const SourcePtr& part : parts_) text += (text.empty() ? "" : " + ") + part->uri();
    return text;
  }
  std::string key(std::uint64_t sample) const override {
    const Position at = find(sample);
    return at.part->key(at.sample);
  }
  const std::vector<std::string>& classes() const override { return parts_.front()->classes(); }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  std::uint64_t windows_left_out() const override {
    std::uint64_t left_out = 0;
    for (const SourcePtr& part : parts_) left_out += part->windows_left_out();
    return left_out;
  }

  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    const Position at = find(sample);
    return at.part->extent(at.sample, field);
  }
  IndexValue value(std::uint64_t sample, std::size_t field) const override {
    const Position at = find(sample);
    return at.part->value(at.sample, field);
  }
  void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const override {
    const Position at = find(sample);
    const std::size_t before = out.size();
    at.part->boxes(at.sample, field, out);
    for (std::size_t i = before; i < out.size(); ++i) out[i].array += first_array_[at.number];
  }
  const ArrayLayout* array_layout(std::size_t field) const override {
    return parts_.front()->array_layout(field);
  }
  Result<OpenedRecord> open_record(std::uint64_t sample, std::span<const std::byte> stored,
                                   const Charge& charge) const override {
    const Position at = find(sample);
    return at.part->open_record(at.sample, stored, charge);
  }
  Result<RecordValue> find_in_record(std::uint64_t sample, std::size_t field, const OpenedRecord& record,
                                     const Allocate& allocate) const override {
    const Position at = find(sample);
    return at.part->find_in_record(at.sample, field, record, allocate);
  }
  std::uint64_t record_reading(std::size_t field) const override {
    std::uint64_t hash = 0;
    for (const SourcePtr& part : parts_) hash = mix64(hash ^ part->record_reading(field));
    return hash;
  }

  const SourceStorage& storage() const override { return storage_; }
  std::uint64_t stored_bytes_of(std::uint64_t sample) const override {
    const Position at = find(sample);
    return at.part->stored_bytes_of(at.sample);
  }
  const Mixture* mixture() const override { return mixture_.weights.empty() ? nullptr : &mixture_; }

 private:
  struct Position {
    const Source* part;
    std::uint64_t sample;
    std::size_t number;  // number of the part
  };

  Position find(std::uint64_t sample) const {
    const auto part = std::ranges::upper_bound(first_, sample) - first_.begin() - 1;
    const auto number = static_cast<std::size_t>(part);
    return {parts_[number].get(), sample - first_[number], number};
  }

  void add_storage(const SourceStorage& part) {
    const auto append = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
    first_array_.push_back(storage_.arrays.size());
    append(storage_.arrays, part.arrays);
    append(storage_.stores, part.stores);
    append(storage_.discardable_indexes, part.discardable_indexes);
    storage_.stored_bytes += part.stored_bytes;
    storage_.shares_units = storage_.shares_units || part.shares_units;
    storage_.index_was_saved = storage_.index_was_saved || part.index_was_saved;
  }

  // nullptr where a part does not list its units.
  std::shared_ptr<const StorageUnits> join_units() const {
    auto units = std::make_shared<StorageUnits>();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto& own = parts_[i]->storage().units;
      if (!own) return nullptr;
      for (std::size_t unit = 0; unit + 1 < own->first_sample.size(); ++unit)
        units->first_sample.push_back(first_[i] + own->first_sample[unit]);
    }
    units->first_sample.push_back(size_);
    return units;
  }

  std::vector<SourcePtr> parts_;
  std::vector<std::uint64_t> first_;  // the first sample of each part
  std::vector<FieldInfo> fields_;
  SourceStorage storage_;
  std::vector<std::size_t> first_array_;  // the first array of each part
  Mixture mixture_;
  std::uint64_t size_ = 0, fingerprint_ = 0;
};

// A batch has one plan: names, kinds and forms of fields must agree, and numbers must mean the same.
Status check_alike(const Source& first, const Source& other) {
  const auto differ = [&](const std::string& what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", first.uri(), what),
                {other.uri(), -1, -1, -1});
  };
  if (first.classes() != other.classes())
    return differ("the parts of a mixture have other classes: their labels would clash");
  if (first.fields().size() != other.fields().size())
    return differ("the parts of a mixture have other fields");
  for (std::size_t i = 0; i < first.fields().size(); ++i) {
    const FieldInfo &a = first.fields()[i], &b = other.fields()[i];
    if (a.name != b.name || a.kind != b.kind || a.form != b.form)
      return differ(fmt::format("the parts of a mixture have other fields: {} ({}) and {} ({})", a.name,
                                name_of(a.kind), b.name, name_of(b.kind)));
    const ArrayLayout *mine = first.array_layout(i), *its = other.array_layout(i);
    if ((a.form == FieldForm::kElements || a.form == FieldForm::kChunks) && mine != nullptr &&
        its != nullptr && (mine->spec != its->spec || mine->swap_bytes != its->swap_bytes))
      return differ(fmt::format("field {} has another shape or type in a part of the mixture", a.name));
    if (a.form == FieldForm::kChunks && mine != nullptr && its != nullptr &&
        (mine->channel_axis != its->channel_axis || mine->axes_not_in_space != its->axes_not_in_space))
      return differ(
          fmt::format("the channels of field {} are another axis in a part of the mixture", a.name));
  }
  return {};
}

}  // namespace

Result<SourcePtr> mix(std::vector<SourcePtr> parts, std::vector<double> weights) {
  if (parts.empty()) return fail(ErrorCode::kInvalidArgument, "a mixture of nothing");
  if (!weights.empty() && weights.size() != parts.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} weights for {} sources", weights.size(), parts.size()));
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight > 0) || !std::isfinite(weight))
      return fail(ErrorCode::kInvalidArgument, "weights of a mixture must be above 0 and finite");
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  for (const SourcePtr& part : parts) {
    if (part->mixture() != nullptr)
      return fail(ErrorCode::kInvalidArgument, "a mixture of mixtures; give all parts to one");
    if (part->draws() != nullptr)
      return fail(ErrorCode::kUnsupported,
                  "random patches cannot be part of a mixture; give all volumes to one Patches",
                  {part->uri(), -1, -1, -1});
    if (part->storage().is_forward_only())
      return fail(ErrorCode::kUnsupported,
                  "compressed shards can only be read forward, which a mixture does not; unpack them",
                  {part->uri(), -1, -1, -1});
    PENSTOCK_CHECK(check_alike(*parts.front(), *part));
  }
  return std::make_shared<MixSource>(std::move(parts), std::move(weights));
}

}  // namespace penstock
