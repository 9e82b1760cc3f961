#include "cache/admission.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace penstock {
namespace {

constexpr std::uint64_t kEntry = 1000;

struct Epoch {
  std::uint64_t let_in = 0;
  double mean_share = 0;
};

// So many visits with random shares, into a cache that holds `capacity` entries.
Epoch run(Admission& admission, std::uint64_t visits, std::uint64_t capacity, bool all_alike = false) {
  Draws draws(9, 0, 0);
  Epoch epoch;
  admission.start(visits);
  for (std::uint64_t i = 0; i < visits; ++i) {
    const double share = all_alike ? 0.3 : draws.uniform(0.25, 1);
    // Now and then one that is much larger.
    const std::uint64_t bytes = i % 10 == 0 ? 2 * kEntry : kEntry;
    const std::uint64_t free = (capacity > epoch.let_in ? capacity - epoch.let_in : 0) * kEntry * 11 / 10;
    if (!admission.admits(share, bytes, free) || epoch.let_in == capacity) continue;
    ++epoch.let_in;
    epoch.mean_share += share;
  }
  epoch.mean_share /= static_cast<double>(epoch.let_in);
  return epoch;
}

TEST(Admission, fills_the_cache_in_the_first_epoch_with_what_costs_least) {
  for (const std::uint64_t capacity : {500, 1000, 1500, 1900}) {
    Admission admission;
    const Epoch epoch = run(admission, 2000, capacity);
    EXPECT_GE(epoch.let_in, capacity - 10) << capacity;
    const double best = 1 - 0.75 * static_cast<double>(capacity) / 2000 / 2;  // the highest shares alone
    EXPECT_NEAR(epoch.mean_share, best, 0.04) << capacity;
  }
}

TEST(Admission, lets_all_in_where_all_fit) {
  Admission admission;
  EXPECT_EQ(run(admission, 300, 300).let_in, 300u);
}

TEST(Admission, lets_all_in_where_nothing_tells_them_apart) {
  Admission admission;
  EXPECT_GE(run(admission, 1000, 400, true).let_in, 400u);
}

TEST(Admission, lets_all_in_from_the_second_epoch_on) {
  Admission admission;
  run(admission, 1000, 100);
  admission.start(1000);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(admission.admits(0.01, kEntry, 5 * kEntry));
}

TEST(Admission, copes_with_more_visits_than_were_announced) {
  Admission admission;
  admission.start(3);
  for (int i = 0; i < 100; ++i) admission.admits(0.5, kEntry, kEntry);
  EXPECT_TRUE(admission.admits(0.5, kEntry, 10 * kEntry));
}

}  // namespace
}  // namespace penstock
