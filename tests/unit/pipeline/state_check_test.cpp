#include "pipeline/state_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock {
namespace {

LoaderState own_state() {
  LoaderState state;
  state.fingerprint = 11;
  state.order = 12;
  state.list = 13;
  state.seed = 14;
  state.epoch_size = 100;
  state.content = 15;
  return state;
}

std::string refusal(const LoaderState& saved) {
  const Status status = check_state(saved, own_state());
  return status ? "" : status.error().message;
}

TEST(StateCheckTest, accepts_a_state_of_the_same_run_at_another_place) {
  LoaderState saved = own_state();
  saved.epoch = 3;
  saved.position = 100;
  EXPECT_EQ(refusal(saved), "");
}

TEST(StateCheckTest, says_what_differs) {
  const auto with = [](auto member, std::uint64_t value) {
    LoaderState saved = own_state();
    saved.position = 10;
    saved.*member = value;
    return refusal(saved);
  };
  EXPECT_THAT(with(&LoaderState::fingerprint, 1), testing::HasSubstr("keys or sizes"));
  EXPECT_THAT(with(&LoaderState::content, 1), testing::HasSubstr("content differs"));
  EXPECT_THAT(with(&LoaderState::seed, 1), testing::HasSubstr("seed 1, the loader 14"));
  EXPECT_THAT(with(&LoaderState::order, 1), testing::HasSubstr("another order"));
  EXPECT_THAT(with(&LoaderState::list, 1), testing::HasSubstr("another list"));
  EXPECT_THAT(with(&LoaderState::position, 101), testing::HasSubstr("past the end"));
  EXPECT_THAT(with(&LoaderState::bucket_run, 1), testing::HasSubstr("bucket_by"));
}

TEST(StateCheckTest, content_that_one_side_does_not_know_is_not_compared) {
  LoaderState saved = own_state();
  saved.content = 0;
  EXPECT_EQ(refusal(saved), "");
}

TEST(StateCheckTest, the_list_of_a_sampler_counts_only_in_the_middle_of_an_epoch) {
  LoaderState saved = own_state();
  saved.list = 1;
  EXPECT_EQ(refusal(saved), "");
}

}  // namespace
}  // namespace penstock
