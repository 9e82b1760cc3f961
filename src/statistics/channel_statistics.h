// The mean and deviation of each channel of images and arrays, for Normalize.
#pragma once

#include <cstdint>
#include <vector>

#include "statistics/number_summary.h"
#include "transform/view.h"

namespace penstock {

// Belongs to one thread until it is added to another.
class ChannelStatistics {
 public:
  // `value` has pixels (channels last) or is an array. The channel axis is the one that the source names; otherwise the
  // first of three or more axes, if it is short. If samples disagree about the number of channels, all are merged into
  // one.
  void add(const View& value);
  void add(const ChannelStatistics& other);

  // Returns one summary per channel; a single one if there are no channels.
  std::vector<NumberSummary> channels() const;
  bool is_by_channel() const { return by_channel_; }

  std::uint64_t samples() const { return samples_; }
  std::uint64_t not_a_number() const { return not_a_number_; }
  std::uint64_t infinite() const { return infinite_; }
  std::uint64_t complex_samples() const { return complex_; }  // left out, because they have no order
  bool is_bytes() const { return is_bytes_; }                 // uint8, which Normalize divides by 255

 private:
  void add_pixels(const View& image);
  void add_array(const View& array, NumberSummary& into);
  void set_channels(std::size_t count);

  std::vector<NumberSummary> channels_;
  std::vector<double> converted_;
  bool by_channel_ = true, is_bytes_ = true;
  std::uint64_t samples_ = 0, not_a_number_ = 0, infinite_ = 0, complex_ = 0;
};

}  // namespace penstock
