#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "order/epoch_order.h"
#include "support/samples_of.h"

namespace penstock {
namespace {

// Streams of units of these sizes.
OrderSpec spec_of(const std::vector<std::vector<std::uint64_t>>& streams, bool forward_only,
                  std::uint64_t window) {
  auto units = std::make_shared<StorageUnits>();
  std::uint64_t samples = 0;
  for (std::uint32_t stream = 0; stream < streams.size(); ++stream)
    for (const std::uint64_t size : streams[stream]) {
      units->first_sample.push_back(samples);
      if (forward_only) units->stream.push_back(stream);
      samples += size;
    }
  units->first_sample.push_back(samples);
  OrderSpec spec;
  spec.samples = samples;
  spec.shuffle = Shuffle::kWindow;
  spec.window_units = window;
  spec.units = std::move(units);
  return spec;
}

std::uint64_t unit_of(const OrderSpec& spec, std::uint64_t sample) {
  const auto& first = spec.units->first_sample;
  return static_cast<std::uint64_t>(std::ranges::upper_bound(first, sample) - first.begin()) - 1;
}

const std::vector<std::vector<std::uint64_t>> kStreams = {{3, 1, 7}, {5}, {2, 2, 2, 2}, {1, 9}, {4, 4}};

TEST(UnitPass, has_every_sample_once_for_all_windows) {
  for (const bool forward_only : {false, true})
    for (std::uint64_t window = 1; window < 14; ++window)
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        const OrderSpec spec = spec_of(kStreams, forward_only, window);
        auto samples = samples_of(spec, epoch);
        std::ranges::sort(samples);
        std::vector<std::uint64_t> all(spec.samples);
        std::iota(all.begin(), all.end(), 0);
        ASSERT_EQ(samples, all);
      }
}

TEST(UnitPass, differs_by_epoch_and_seed_and_not_by_call) {
  OrderSpec spec = spec_of(kStreams, true, 4);
  const auto first = samples_of(spec, 0);
  EXPECT_EQ(first, samples_of(spec, 0));
  EXPECT_NE(first, samples_of(spec, 1));
  spec.seed = 1;
  EXPECT_NE(first, samples_of(spec, 0));
}

TEST(UnitPass, streams_are_read_forward_window_by_window) {
  // A unit is done with before the window that holds the next one of its stream but `window` is over,
  // and windows never go back.
  for (std::uint64_t window = 1; window < 7; ++window) {
    const OrderSpec spec = spec_of(kStreams, true, window);
    const auto samples = samples_of(spec, 5);
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> span_of_unit;  // first and last position
    for (std::uint64_t p = 0; p < samples.size(); ++p) {
      const auto [found, is_new] = span_of_unit.try_emplace(unit_of(spec, samples[p]), p, p);
      found->second.second = p;
    }
    for (const auto& [unit, span] : span_of_unit) {
      const std::uint64_t later = unit + window;
      if (!span_of_unit.contains(later) || spec.units->stream[unit] != spec.units->stream[later]) continue;
      EXPECT_LT(span.second, span_of_unit[later].first) << "unit " << unit << ", window " << window;
    }
  }
}

TEST(UnitPass, neighbours_come_from_different_streams) {
  std::vector<std::vector<std::uint64_t>> streams(8, std::vector<std::uint64_t>(10, 16));
  const OrderSpec spec = spec_of(streams, true, 8);
  const auto samples = samples_of(spec, 0);
  std::vector<int> seen(8, 0);
  for (std::uint64_t p = 0; p < 8 * 16; ++p) ++seen[spec.units->stream[unit_of(spec, samples[p])]];
  for (const int count : seen) EXPECT_EQ(count, 16) << "the first window holds a unit of each";
}

TEST(UnitPass, a_walk_over_several_passes_goes_through_each_once) {
  OrderSpec spec = spec_of(kStreams, false, 3);
  spec.epoch_size = spec.samples * 3 + 5;
  const auto samples = samples_of(spec, 2);
  std::map<std::uint64_t, int> counts;
  const std::uint64_t skip = (spec.samples - spec.epoch_size * 2 % spec.samples) % spec.samples;
  for (std::uint64_t p = skip; p < skip + 2 * spec.samples; ++p) ++counts[samples[p]];
  EXPECT_EQ(counts.size(), spec.samples);
  for (const auto& [sample, count] : counts) EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace penstock
