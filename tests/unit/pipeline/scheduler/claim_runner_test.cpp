#include "pipeline/scheduler/claim_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/layout_fields.h"
#include "support/test_batch.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Outcome = SampleMaker::Outcome;

constexpr std::uint64_t kSamples = 100, kFirst = 20;

// Writes down what it was asked to make.
class WatchedMaker final : public SampleMaker {
 public:
  std::set<std::uint64_t> bad, too_early, deferred;
  ErrorCode code = ErrorCode::kCorrupt;
  bool breaks_batch = false;  // a bad sample is the batch's fault
  std::vector<std::uint64_t> asked, positions;

  void turn_to(const SharedReads&) override {}
  Result<Outcome> make(const SampleTask& task, const BatchTarget&, std::uint64_t, Deferral& deferral) override {
    asked.push_back(task.sample);
    positions.push_back(task.position);
    if (too_early.contains(task.sample)) return Outcome::kTooEarly;
    if (deferred.contains(task.sample)) {
      (void)deferral.defer(8);
      return Outcome::kDeferred;
    }
    if (bad.contains(task.sample)) return fail(code, "bad sample " + std::to_string(task.sample));
    return Outcome::kMade;
  }
  bool is_batch_too_large() const override { return breaks_batch; }
};

class ClaimRunnerTest : public testing::Test {
 protected:
  ClaimRunnerTest() {
    batch->range = {kFirst, 4, false};
    claim.run = std::make_shared<RunningEpoch>(
        EpochTask{2, make_epoch_order({.samples = kSamples}, 2), {.epoch_size = kSamples, .batch_size = 4}});
    claim.batch = batch;
    claim.count = 4;
  }
  void run(OnError on_error, std::uint64_t seed = 0) {
    const ClaimRunner::Defer defer = [this](const Claim&, std::uint64_t index,
                                            const std::optional<Replacement>& replacement, std::size_t bytes) {
      deferred.push_back(index);
      deferred_for = replacement ? replacement->attempts : -1;
      EXPECT_EQ(bytes, 8u);
      return DeferredSample();
    };
    ClaimRunner(plan, memory.layout, *memory.variable, {.on_error = on_error, .seed = seed}, defer).run(claim, maker);
  }
  std::vector<std::string> messages() const {
    std::vector<std::string> out;
    for (const Error& error : trouble().errors) out.push_back(error.message);
    return out;
  }
  BatchTrouble trouble() const {
    const MutexLock lock(batch->trouble_mutex);
    return batch->trouble;
  }
  void forget_trouble() {
    const MutexLock lock(batch->trouble_mutex);
    batch->trouble = {};
  }

  SamplePlan plan;
  TestBatch memory{{field("number", DType::kInt64, {})}, 4};
  std::shared_ptr<OpenBatch> batch = std::make_shared<OpenBatch>();
  Claim claim;
  WatchedMaker maker;
  std::vector<std::uint64_t> deferred;
  int deferred_for = -2;
};

TEST_F(ClaimRunnerTest, makes_the_claimed_samples_of_the_batch_in_order) {
  claim.first = 1;
  claim.count = 2;
  run(OnError::kRaise);
  EXPECT_THAT(maker.asked, ElementsAre(kFirst + 1, kFirst + 2));
  EXPECT_THAT(maker.positions, ElementsAre(kFirst + 1, kFirst + 2));
  EXPECT_FALSE(trouble().failed);
  EXPECT_THAT(trouble().errors, IsEmpty());
}

TEST_F(ClaimRunnerTest, a_bad_sample_fails_its_batch_where_errors_are_raised) {
  maker.bad = {kFirst + 1};
  run(OnError::kRaise);
  EXPECT_TRUE(trouble().failed);
  EXPECT_THAT(messages(), ElementsAre("bad sample 21"));
  EXPECT_THAT(trouble().left_out, IsEmpty());
}

TEST_F(ClaimRunnerTest, a_bad_sample_is_left_out_where_errors_are_skipped) {
  maker.bad = {kFirst + 1, kFirst + 3};
  run(OnError::kSkip);
  EXPECT_FALSE(trouble().failed);
  EXPECT_THAT(trouble().left_out, ElementsAre(false, true, false, true));
  EXPECT_THAT(messages(), ElementsAre("bad sample 21", "bad sample 23"));
  EXPECT_THAT(maker.asked, SizeIs(4)) << "the others are made";
}

TEST_F(ClaimRunnerTest, an_interrupted_sample_is_neither_skipped_nor_replaced) {
  maker.bad = {kFirst};
  maker.code = ErrorCode::kStopped;
  for (const OnError on_error : {OnError::kSkip, OnError::kReplace}) {
    forget_trouble();
    maker.asked.clear();
    run(on_error);
    EXPECT_TRUE(trouble().failed);
    EXPECT_THAT(trouble().left_out, IsEmpty());
    EXPECT_EQ(trouble().replaced, 0u);
    EXPECT_THAT(maker.asked, ElementsAre(kFirst, kFirst + 1, kFirst + 2, kFirst + 3));
  }
}

TEST_F(ClaimRunnerTest, a_bad_sample_is_replaced_by_another_at_the_same_position) {
  maker.bad = {kFirst};
  run(OnError::kReplace);
  EXPECT_FALSE(trouble().failed);
  EXPECT_EQ(trouble().replaced, 1u);
  EXPECT_THAT(messages(), ElementsAre("bad sample 20"));
  ASSERT_THAT(maker.asked, SizeIs(5));
  EXPECT_NE(maker.asked[1], kFirst);
  EXPECT_EQ(maker.positions[1], kFirst) << "it has the draws of the sample that it stands in for";
}

TEST_F(ClaimRunnerTest, the_stand_in_depends_on_seed_epoch_and_position_alone) {
  claim.count = 1;
  maker.bad = {kFirst};
  run(OnError::kReplace, 7);
  run(OnError::kReplace, 7);
  EXPECT_EQ(maker.asked[1], maker.asked[3]);
  std::set<std::uint64_t> stand_ins;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    maker.asked.clear();
    run(OnError::kReplace, seed);
    stand_ins.insert(maker.asked[1]);
  }
  EXPECT_GT(stand_ins.size(), 4u);
}

TEST_F(ClaimRunnerTest, after_eight_bad_stand_ins_the_batch_fails_with_the_error_of_the_sample_itself) {
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) maker.bad.insert(sample);
  claim.count = 1;
  run(OnError::kReplace);
  EXPECT_THAT(maker.asked, SizeIs(1 + 8));
  EXPECT_TRUE(trouble().failed);
  EXPECT_EQ(trouble().replaced, 0u);
  EXPECT_THAT(messages(), ElementsAre("bad sample 20"));
}

TEST_F(ClaimRunnerTest, stand_ins_that_were_tried_before_are_not_tried_again) {
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) maker.bad.insert(sample);
  claim.count = 1;
  run(OnError::kReplace);
  const auto all = maker.asked;
  maker.asked.clear();
  claim.replacement = Replacement{0, {ErrorCode::kCorrupt, "failed elsewhere"}, 3};
  run(OnError::kReplace);
  EXPECT_EQ(maker.asked, (std::vector<std::uint64_t>{all.begin() + 1 + 3, all.end()}));
  EXPECT_EQ(messages().back(), "failed elsewhere");
}

TEST_F(ClaimRunnerTest, a_sample_that_comes_too_early_is_put_off) {
  maker.too_early = {kFirst + 2};
  run(OnError::kRaise);
  EXPECT_THAT(claim.put_off, ElementsAre(2));
  EXPECT_FALSE(trouble().failed);
}

TEST_F(ClaimRunnerTest, deferred_samples_are_counted_and_know_their_place) {
  maker.deferred = {kFirst + 1, kFirst + 2};
  run(OnError::kRaise);
  EXPECT_EQ(claim.deferred, 2u);
  EXPECT_THAT(deferred, ElementsAre(1, 2));
  EXPECT_EQ(deferred_for, -1) << "the samples themselves, not stand-ins";
}

TEST_F(ClaimRunnerTest, a_stand_in_that_is_deferred_is_not_counted_as_made_and_knows_what_was_tried) {
  for (std::uint64_t sample = 0; sample < kSamples; ++sample) maker.deferred.insert(sample);
  maker.deferred.erase(kFirst);
  maker.bad = {kFirst};
  claim.count = 1;
  run(OnError::kReplace);
  EXPECT_EQ(claim.deferred, 1u);
  EXPECT_EQ(deferred_for, 1);
  EXPECT_EQ(trouble().replaced, 0u) << "it is counted when it is completed";
  EXPECT_THAT(trouble().errors, IsEmpty());
}

TEST_F(ClaimRunnerTest, a_batch_that_takes_too_much_fails_as_a_whole_whatever_the_policy) {
  maker.bad = {kFirst};
  maker.code = ErrorCode::kNoMemory;
  maker.breaks_batch = true;
  for (const OnError on_error : {OnError::kSkip, OnError::kReplace}) {
    forget_trouble();
    maker.asked.clear();
    claim.count = 1;
    run(on_error);
    EXPECT_TRUE(trouble().failed);
    ASSERT_TRUE(trouble().too_large);
    EXPECT_EQ(trouble().too_large->message, "bad sample 20");
    EXPECT_THAT(trouble().errors, IsEmpty());
    EXPECT_THAT(maker.asked, ElementsAre(kFirst)) << "no stand-in is tried";
  }
}

}  // namespace
}  // namespace penstock
