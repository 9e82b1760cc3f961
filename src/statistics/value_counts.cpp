#include "statistics/value_counts.h"

#include <algorithm>
#include <array>

#include "statistics/view_pieces.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxValues = 100'000;
constexpr std::int64_t kCountedAtOnce = 8192;

}  // namespace

void ValueCounts::add(const View& value) {
  ++samples_;
  if (!value.is_image) return add_elements(value);
  std::array<std::uint64_t, 256> pixels{};
  for (std::int64_t y = 0; y < value.height(); ++y)
    for (std::int64_t x = 0; x < value.width(); ++x)
      ++pixels[static_cast<std::size_t>(value.data[y * value.stride[0] + x * value.stride[1]])];
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] == 0) continue;
    const auto number = static_cast<double>(i);
    moments_.add(NumberSummary{pixels[i], number, 0, number, number});
    count(static_cast<std::int64_t>(i), pixels[i]);
  }
}

// `value` is one label, or the labels of a patch.
void ValueCounts::add_elements(const View& value) {
  if (value.dtype > DType::kInt64) return;  // only integers can be classes
  for_each_piece(value, kCountedAtOnce, [&](const View& piece, std::int64_t elements) {
    converted_.resize(static_cast<std::size_t>(elements));
    auto* out = reinterpret_cast<std::byte*>(converted_.data());
    copy_view(piece, out, view_of_array(out, {DType::kInt64, piece.shape_vector()}));
    std::ranges::sort(converted_);
    for (auto same = converted_.begin(); same != converted_.end();) {
      const auto end = std::ranges::upper_bound(same, converted_.end(), *same);
      const auto times = static_cast<std::uint64_t>(end - same);
      const auto number = static_cast<double>(*same);
      moments_.add(NumberSummary{times, number, 0, number, number});
      count(*same, times);
      same = end;
    }
  });
}

void ValueCounts::add(const ValueCounts& other) {
  samples_ += other.samples_;
  moments_.add(other.moments_);
  too_many_ = too_many_ || other.too_many_;
  for (const auto& [value, times] : other.counts_) count(value, times);
  if (too_many_) counts_.clear();
}

void ValueCounts::count(std::int64_t value, std::uint64_t times) {
  if (too_many_) return;
  counts_[value] += times;
  too_many_ = counts_.size() > kMaxValues;
  if (too_many_) counts_.clear();
}

}  // namespace penstock
