#include "value_counts.h"

#include <array>
#include <cstring>

namespace penstock::cli {
namespace {

constexpr std::size_t kMostValues = 100'000;

}  // namespace

void ValueCounts::add(const View& value) {
  ++samples_;
  if (!value.is_image) {
    if (value.dtype != DType::kInt64) return;
    std::int64_t integer = 0;  // a label is one int64, whatever it was stored as
    std::memcpy(&integer, value.data, sizeof(integer));
    moments_.add(static_cast<double>(integer));
    return count(integer, 1);
  }
  std::array<std::uint64_t, 256> pixels{};
  for (std::int64_t y = 0; y < value.height(); ++y)
    for (std::int64_t x = 0; x < value.width(); ++x)
      ++pixels[static_cast<std::size_t>(value.data[y * value.stride[0] + x * value.stride[1]])];
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (pixels[i] == 0) continue;
    const auto number = static_cast<double>(i);
    moments_.add(Moments{pixels[i], number, 0, number, number});
    count(static_cast<std::int64_t>(i), pixels[i]);
  }
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
  too_many_ = counts_.size() > kMostValues;
  if (too_many_) counts_.clear();
}

}  // namespace penstock::cli
