// Sources that consist of chosen samples of another source, and seeded divisions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "penstock/source.h"
#include "source/combine/forwarding_source.h"
#include "source/combine/subset.h"
#include "source/source_storage.h"

namespace penstock {
namespace {

// Chosen samples that follow one another and belong to the same unit of the source form one unit.
std::shared_ptr<const StorageUnits> units_of_subset(const StorageUnits& whole, const std::vector<std::uint64_t>& indices) {
  auto units = std::make_shared<StorageUnits>();
  std::ptrdiff_t last = -1;
  for (std::uint64_t i = 0; i < indices.size(); ++i) {
    const auto unit = std::ranges::upper_bound(whole.first_sample, indices[i]) - whole.first_sample.begin() - 1;
    if (unit == last) continue;
    last = unit;
    units->first_sample.push_back(i);
    if (!whole.stream.empty()) units->stream.push_back(whole.stream[static_cast<std::size_t>(unit)]);
  }
  units->first_sample.push_back(indices.size());
  return units;
}

class SubsetSource final : public ForwardingSource {
 public:
  SubsetSource(SourcePtr whole, std::vector<std::uint64_t> indices)
      : ForwardingSource(std::move(whole)),
        indices_(std::move(indices)),
        storage_(behind().storage()) {
    fingerprint_ = behind().fingerprint();
    for (const std::uint64_t index : indices_) fingerprint_ = mix64(fingerprint_ ^ index);
    storage_.stored_bytes = 0;
    for (const std::uint64_t index : indices_) storage_.stored_bytes += behind().stored_bytes_of(index);
    if (storage_.units) storage_.units = units_of_subset(*storage_.units, indices_);
  }

  std::uint64_t size() const override { return indices_.size(); }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  const SourceStorage& storage() const override { return storage_; }
  // Files that the folder left out do not belong to a subset of its samples.
  const LeftOutFiles* left_out() const override { return nullptr; }
  // Each chosen sample is visited once per epoch, even if the source behind draws its samples at random.
  const SampleDraws* draws() const override { return nullptr; }

 protected:
  std::uint64_t sample_behind(std::uint64_t sample) const override { return indices_[sample]; }

 private:
  std::vector<std::uint64_t> indices_;
  SourceStorage storage_;
  std::uint64_t fingerprint_ = 0;
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
  if (source->storage().is_forward_only() && !std::ranges::is_sorted(indices))
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
