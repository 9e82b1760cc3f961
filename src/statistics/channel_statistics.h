// What Normalize wants to know of images and arrays: the moments of each channel.
#pragma once

#include <cstdint>
#include <vector>

#include "statistics/number_summary.h"
#include "transform/view.h"

namespace penstock {

// Belongs to one thread until it is joined to another.
class ChannelStatistics {
 public:
  // Pixels (channels last), or an array. The axis that counts channels is the one that the source names, else
  // the first of three or more, if it is short. Samples that disagree about their channels are taken as one.
  void add(const View& value);
  void add(const ChannelStatistics& other);

  // One where there are no channels.
  std::vector<NumberSummary> channels() const;
  bool is_by_channel() const { return by_channel_; }

  std::uint64_t samples() const { return samples_; }
  std::uint64_t not_a_number() const { return not_a_number_; }
  std::uint64_t infinite() const { return infinite_; }
  std::uint64_t complex_samples() const { return complex_; }  // have no order, and are left out
  bool is_bytes() const { return is_bytes_; }                 // Normalize divides those by 255

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
