// Sources made of another source: chosen samples, and seeded divisions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "penstock/source.h"
#include "source/combine/subset.h"

namespace penstock {
namespace {

class SubsetSource final : public Source {
 public:
  SubsetSource(SourcePtr whole, std::vector<std::uint64_t> indices)
      : whole_(std::move(whole)),
        indices_(std::move(indices)) {
    fingerprint_ = whole_->fingerprint();
    for (const std::uint64_t index : indices_) fingerprint_ = mix64(fingerprint_ ^ index);
    for (const std::uint64_t index : indices_) stored_bytes_ += whole_->stored_bytes_of(index);
  }

  std::uint64_t size() const override { return indices_.size(); }
  const std::vector<FieldInfo>& fields() const override { return whole_->fields(); }
  std::string kind() const override { return whole_->kind(); }
  std::string uri() const override { return whole_->uri(); }
  std::string key(std::uint64_t sample) const override { return whole_->key(indices_[sample]); }
  Result<Extent> extent(std::uint64_t sample, std::size_t field) const override {
    return whole_->extent(indices_[sample], field);
  }
  Result<OpenedRecord> open_record(std::uint64_t sample, std::span<const std::byte> stored,
                                   const Charge& charge) const override {
    return whole_->open_record(indices_[sample], stored, charge);
  }
  Result<RecordValue> find_in_record(std::uint64_t sample, std::size_t field, const OpenedRecord& record,
                                     const Room& room) const override {
    return whole_->find_in_record(indices_[sample], field, record, room);
  }
  std::uint64_t reading(std::size_t field) const override { return whole_->reading(field); }
  const ArrayLayout* array_layout(std::size_t field) const override { return whole_->array_layout(field); }
  IndexValue value(std::uint64_t sample, std::size_t field) const override {
    return whole_->value(indices_[sample], field);
  }
  const std::vector<std::string>& classes() const override { return whole_->classes(); }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  std::uint64_t stored_bytes() const override { return stored_bytes_; }
  std::uint64_t stored_bytes_of(std::uint64_t sample) const override {
    return whole_->stored_bytes_of(indices_[sample]);
  }
  std::uint64_t unit_samples() const override { return whole_->unit_samples(); }
  bool shares_units() const override { return whole_->shares_units(); }
  std::uint64_t windows_left_out() const override { return whole_->windows_left_out(); }
  std::uint64_t suggested_window() const override { return whole_->suggested_window(); }
  std::span<const std::shared_ptr<const ChunkedArray>> chunked_arrays() const override {
    return whole_->chunked_arrays();
  }
  void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const override {
    whole_->boxes(indices_[sample], field, out);
  }
  const std::vector<StreamBlock>& blocks() const override { return whole_->blocks(); }
  const std::vector<Stream>& streams() const override { return whole_->streams(); }

  // Chosen samples that follow one another and lie in one unit of the whole.
  std::shared_ptr<const StorageUnits> units() const override {
    const auto whole = whole_->units();
    if (!whole) return nullptr;
    auto units = std::make_shared<StorageUnits>();
    std::ptrdiff_t last = -1;
    for (std::uint64_t i = 0; i < indices_.size(); ++i) {
      const auto unit =
          std::ranges::upper_bound(whole->first_sample, indices_[i]) - whole->first_sample.begin() - 1;
      if (unit == last) continue;
      last = unit;
      units->first_sample.push_back(i);
      if (!whole->stream.empty()) units->stream.push_back(whole->stream[static_cast<std::size_t>(unit)]);
    }
    units->first_sample.push_back(indices_.size());
    return units;
  }
  bool index_was_saved() const override { return whole_->index_was_saved(); }
  void discard_saved_index() const override { whole_->discard_saved_index(); }
  const Store& store() const override { return whole_->store(); }

 private:
  SourcePtr whole_;
  std::vector<std::uint64_t> indices_;
  std::uint64_t fingerprint_ = 0, stored_bytes_ = 0;
};

Status check_has_list(const Source& source) {
  if (source.draws() == nullptr) return {};
  return fail(ErrorCode::kInvalidArgument,
              "random patches have no list of samples to choose from; divide the volumes instead",
              {source.uri(), -1, -1, -1});
}

}  // namespace

Result<SourcePtr> subset(SourcePtr source, std::vector<std::uint64_t> indices) {
  PENSTOCK_CHECK(check_has_list(*source));
  return choose_samples(std::move(source), std::move(indices));
}

Result<SourcePtr> choose_samples(SourcePtr source, std::vector<std::uint64_t> indices) {
  for (const std::uint64_t index : indices)
    if (index >= source->size())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("subset index {}, the source has {} samples", index, source->size()),
                  {source->uri(), -1, -1, -1});
  if (source->mixture() != nullptr)
    return fail(ErrorCode::kInvalidArgument, "a weighted mixture has no subset; take it of the parts",
                {source->uri(), -1, -1, -1});
  if (source->is_forward_only() && !std::ranges::is_sorted(indices))
    return fail(ErrorCode::kUnsupported,
                "compressed shards can only be read forward: indices of a subset must be in ascending order",
                {source->uri(), -1, -1, -1});
  if (indices.empty()) return fail(ErrorCode::kInvalidArgument, "empty subset", {source->uri(), -1, -1, -1});
  return std::make_shared<SubsetSource>(std::move(source), std::move(indices));
}

std::vector<std::uint64_t> shuffled(std::uint64_t size, std::uint64_t seed) {
  std::vector<std::uint64_t> order(size);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  Draws draws(seed, 0, 0);
  for (std::uint64_t i = size; i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
  return order;
}

Result<Split> split(const SourcePtr& source, double fraction, std::uint64_t seed) {
  PENSTOCK_CHECK(check_has_list(*source));
  if (source->mixture() != nullptr)
    return fail(ErrorCode::kInvalidArgument, "a weighted mixture cannot be split; split its parts",
                {source->uri(), -1, -1, -1});
  const std::uint64_t size = source->size();
  const auto first_size = static_cast<std::uint64_t>(std::llround(fraction * static_cast<double>(size)));
  if (!(fraction > 0) || !(fraction < 1) || first_size == 0 || first_size == size)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("split({}) of {} samples leaves one side empty", fraction, size),
                {source->uri(), -1, -1, -1});
  std::vector<std::uint64_t> first = shuffled(size, seed);
  std::vector<std::uint64_t> second(first.begin() + static_cast<std::ptrdiff_t>(first_size), first.end());
  first.resize(first_size);
  std::ranges::sort(first);
  std::ranges::sort(second);
  return Split{std::make_shared<SubsetSource>(source, std::move(first)),
               std::make_shared<SubsetSource>(source, std::move(second))};
}

}  // namespace penstock
