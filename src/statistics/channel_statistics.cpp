#include "statistics/channel_statistics.h"

#include <algorithm>
#include <cmath>

#include "statistics/view_pieces.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

// A longer first axis probably counts time, depth or height. Levels of the atmosphere are more numerous than colours.
constexpr std::int64_t kMaxChannels = 32, kMaxLevels = 64;
constexpr std::int64_t kConvertedAtOnce = 8192;

// Sums of bytes are exact integers: the squares of a row of 2^31 pixels fit into 64 bits.
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

NumberSummary moments_of(const ByteSums& sums, std::uint64_t count) {
  const auto n = static_cast<double>(count), sum = static_cast<double>(sums.sum);
  return {count, sum / n, static_cast<double>(sums.squares) - sum * sum / n, static_cast<double>(sums.min),
          static_cast<double>(sums.max)};
}

// Returns the axis that counts channels, or -1 if there is none. If the source does not name it, a short first axis is
// taken.
int channel_axis_of(const View& view) {
  if (view.channel_axis) return *view.channel_axis;
  if (view.rank < 3) return -1;
  const std::int64_t first = view.shape[0], last = view.shape[static_cast<std::size_t>(view.rank - 1)];
  return first <= kMaxChannels || (first <= kMaxLevels && first < last) ? 0 : -1;
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
  } else if (const int found = channel_axis_of(value); found >= 0) {
    const auto axis = static_cast<std::size_t>(found);
    set_channels(static_cast<std::size_t>(value.shape[axis]));
    for (std::int64_t channel = 0; channel < value.shape[axis]; ++channel) {
      View one = without_axis(value, axis);
      one.data += channel * value.stride[axis];
      add_array(one, channels_[by_channel_ ? static_cast<std::size_t>(channel) : 0]);
    }
  } else {
    set_channels(1);
    add_array(value, channels_.front());
  }
}

void ChannelStatistics::add_pixels(const View& image) {
  set_channels(static_cast<std::size_t>(image.channels()));
  for (std::int64_t channel = 0; channel < image.channels(); ++channel) {
    NumberSummary& into = channels_[by_channel_ ? static_cast<std::size_t>(channel) : 0];
    for (std::int64_t row = 0; row < image.height(); ++row) {
      const std::byte* at = image.data + row * image.stride[0] + channel * image.stride[2];
      into.add(
          moments_of(sums_of_row(reinterpret_cast<const std::uint8_t*>(at), image.stride[1], image.width()),
                     static_cast<std::uint64_t>(image.width())));
    }
  }
}

void ChannelStatistics::add_array(const View& array, NumberSummary& into) {
  for_each_piece(array, kConvertedAtOnce, [&](const View& piece, std::int64_t count) {
    converted_.resize(static_cast<std::size_t>(count));
    auto* out = reinterpret_cast<std::byte*>(converted_.data());
    copy_view(piece, out, view_of_array(out, {DType::kFloat64, piece.shape_vector()}));
    const auto strange =
        std::ranges::partition(converted_, [](double value) { return std::isfinite(value); });
    for (const double value : strange) ++(std::isnan(value) ? not_a_number_ : infinite_);
    into.add(NumberSummary::of({converted_.begin(), strange.begin()}));
  });
}

// The first sample sets the number of channels. If a later sample has another number, all channels are merged into one.
void ChannelStatistics::set_channels(std::size_t count) {
  if (channels_.empty()) {
    channels_.resize(std::max<std::size_t>(count, 1));
    by_channel_ = count > 1;
  } else if (by_channel_ && count != channels_.size()) {
    channels_ = {[&] {
      NumberSummary all;
      for (const NumberSummary& channel : channels_) all.add(channel);
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

std::vector<NumberSummary> ChannelStatistics::channels() const { return channels_; }

}  // namespace penstock
