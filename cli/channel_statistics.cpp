#include "channel_statistics.h"

#include <algorithm>
#include <cmath>

#include "transform/write_slot.h"

namespace penstock::cli {
namespace {

// A longer first axis is rather time, depth or height; levels of the air are more than colours are.
constexpr std::int64_t kMostChannels = 32, kMostLevels = 64;
constexpr std::int64_t kConvertedAtOnce = 8192;

// Whole numbers lose nothing: all squares of a row of 2^31 pixels fit into 64 bits.
struct ByteSums {
  std::uint64_t sum = 0, squares = 0;
  std::uint8_t min = 255, max = 0;
};

ByteSums sums_of_row(const std::uint8_t* at, std::int64_t step, std::int64_t count) {
  ByteSums sums;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint8_t value = at[i * step];
    sums.sum += value;
    sums.squares += static_cast<std::uint32_t>(value) * value;
    sums.min = std::min(sums.min, value);
    sums.max = std::max(sums.max, value);
  }
  return sums;
}

Moments moments_of(const ByteSums& sums, std::uint64_t count) {
  const auto n = static_cast<double>(count), sum = static_cast<double>(sums.sum);
  return {count, sum / n, static_cast<double>(sums.squares) - sum * sum / n, static_cast<double>(sums.min),
          static_cast<double>(sums.max)};
}

std::int64_t elements_of(const View& view) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(view.rank); ++axis) count *= view.shape[axis];
  return count;
}

View part_of(const View& view, std::int64_t from, std::int64_t count) {
  View part = view;
  part.data += from * view.stride[0];
  part.shape[0] = count;
  return part;
}

bool has_channels(const View& view) {
  if (view.rank < 3) return false;
  const std::int64_t first = view.shape[0], last = view.shape[static_cast<std::size_t>(view.rank - 1)];
  return first <= kMostChannels || (first <= kMostLevels && first < last);
}

View without_first_axis(View view) {
  std::shift_left(view.shape.begin(), view.shape.end(), 1);
  std::shift_left(view.stride.begin(), view.stride.end(), 1);
  --view.rank;
  return view;
}

}  // namespace

void ChannelStatistics::add(const View& value) {
  if (value.dtype == DType::kComplex64 || value.dtype == DType::kComplex128) {
    ++complex_;
    return;
  }
  ++samples_;
  is_bytes_ = is_bytes_ && value.dtype == DType::kUInt8;
  if (value.is_image && value.dtype == DType::kUInt8) {
    add_pixels(value);
  } else if (has_channels(value)) {
    set_channels(static_cast<std::size_t>(value.shape[0]));
    for (std::int64_t channel = 0; channel < value.shape[0]; ++channel)
      add_array(without_first_axis(part_of(value, channel, 1)),
                channels_[by_channel_ ? static_cast<std::size_t>(channel) : 0]);
  } else {
    set_channels(1);
    add_array(value, channels_.front());
  }
}

void ChannelStatistics::add_pixels(const View& image) {
  set_channels(static_cast<std::size_t>(image.channels()));
  for (std::int64_t channel = 0; channel < image.channels(); ++channel) {
    Moments& into = channels_[by_channel_ ? static_cast<std::size_t>(channel) : 0];
    for (std::int64_t row = 0; row < image.height(); ++row) {
      const std::byte* at = image.data + row * image.stride[0] + channel * image.stride[2];
      into.add(
          moments_of(sums_of_row(reinterpret_cast<const std::uint8_t*>(at), image.stride[1], image.width()),
                     static_cast<std::uint64_t>(image.width())));
    }
  }
}

// In short pieces, whatever the strides: memory must not grow with the sample.
void ChannelStatistics::add_array(const View& array, Moments& into) {
  const std::int64_t count = elements_of(array);
  if (count == 0) return;
  if (count > kConvertedAtOnce) {
    if (array.shape[0] == 1) return add_array(without_first_axis(array), into);
    const std::int64_t half = array.shape[0] / 2;
    add_array(part_of(array, 0, half), into);
    return add_array(part_of(array, half, array.shape[0] - half), into);
  }
  converted_.resize(static_cast<std::size_t>(count));
  auto* out = reinterpret_cast<std::byte*>(converted_.data());
  copy_view(array, out, view_of_array(out, {DType::kFloat64, array.shape_vector()}));
  const auto strange = std::ranges::partition(converted_, [](double value) { return std::isfinite(value); });
  for (const double value : strange) ++(std::isnan(value) ? not_a_number_ : infinite_);
  into.add(Moments::of({converted_.begin(), strange.begin()}));
}

// The first sample says how many; one that says otherwise joins them all.
void ChannelStatistics::set_channels(std::size_t count) {
  if (channels_.empty()) {
    channels_.resize(std::max<std::size_t>(count, 1));
    by_channel_ = count > 1;
  } else if (by_channel_ && count != channels_.size()) {
    channels_ = {[&] {
      Moments all;
      for (const Moments& channel : channels_) all.add(channel);
      return all;
    }()};
    by_channel_ = false;
  }
}

void ChannelStatistics::add(const ChannelStatistics& other) {
  complex_ += other.complex_;
  if (other.samples_ == 0) return;
  set_channels(other.channels_.size());
  for (std::size_t i = 0; i < other.channels_.size(); ++i)
    channels_[by_channel_ ? i : 0].add(other.channels_[i]);
  is_bytes_ = is_bytes_ && other.is_bytes_;
  samples_ += other.samples_;
  not_a_number_ += other.not_a_number_;
  infinite_ += other.infinite_;
}

std::vector<Moments> ChannelStatistics::channels() const { return channels_; }

}  // namespace penstock::cli
