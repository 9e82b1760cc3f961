#include "pipeline/cache_setup.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

// A photograph: 100 kB that become 1 MB.
UnitCost photo(double read_ms, double decode_ms) { return {read_ms / 1e3, decode_ms / 1e3, 1e5, 1e6}; }

TEST(BetterForm, is_decoded_where_all_of_it_fits) {
  EXPECT_EQ(better_form(photo(1, 5), 1000, 1'000'000'000), CacheForm::kDecoded);
  EXPECT_EQ(better_form(photo(100, 1), 1000, 1'000'000'000), CacheForm::kDecoded);
}

TEST(BetterForm, is_what_saves_more_seconds_a_byte_where_it_does_not) {
  // Half of it decoded saves 3 ms a sample; all of it as stored, what reading takes.
  EXPECT_EQ(better_form(photo(0.1, 6), 1000, 500'000'000), CacheForm::kDecoded);
  EXPECT_EQ(better_form(photo(20, 6), 1000, 500'000'000), CacheForm::kEncoded);
  // Neither fits: seconds a byte.
  EXPECT_EQ(better_form(photo(1, 5), 1'000'000, 500'000'000), CacheForm::kEncoded);
  EXPECT_EQ(better_form(photo(0.5, 5), 1'000'000, 500'000'000), CacheForm::kDecoded);
}

TEST(BetterForm, is_decoded_where_nothing_is_known) {
  EXPECT_EQ(better_form({}, 0, 1000), CacheForm::kDecoded);
  EXPECT_EQ(better_form({}, 1000, 1000), CacheForm::kDecoded);
}

}  // namespace
}  // namespace penstock
