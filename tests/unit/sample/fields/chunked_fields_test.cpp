#include "sample/fields/chunked_fields.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/field_plan.h"
#include "support/chunked_letters.h"
#include "support/layout_fields.h"
#include "support/test_batch.h"
#include "support/test_lookahead.h"
#include "support/test_worker.h"

namespace penstock {
namespace {

using Stored = ChunkedLetters::Stored;

std::vector<LayoutField> slots_of(DType dtype = DType::kUInt8, Shape shape = {2, 3}) {
  return {field("letters", dtype, std::move(shape))};
}

LoaderOptions with_steps(std::vector<Transform> steps) {
  LoaderOptions options;
  options.transforms = {{"letters", std::move(steps), ""}};
  return options;
}

// A worker that makes the one field of letters.
struct LettersRun {
  explicit LettersRun(const ChunkedLetters& letters, std::vector<LayoutField> slots = slots_of(),
                      const LoaderOptions& options = {}, Lookahead* lookahead_ = nullptr)
      : plan(*plan_fields(letters.source, options)),
        batch(std::move(slots), 4),
        lookahead(lookahead_) {
    fields.turn_to({.lookahead = lookahead});
  }
  Status make(std::uint64_t sample, std::uint64_t index = 0) {
    if (lookahead != nullptr) lookahead->extend();
    worker.context.draws = Draws(0, 0, sample);
    delivery.begin({&batch.target, index});
    fields.begin_sample();
    const Status made = fields.make({0, sample, sample});
    if (lookahead != nullptr) lookahead->finish(sample, fields.chunks());
    fields.end_sample();
    flow.end_sample();
    worker.scratch.end_sample();
    return made;
  }
  std::string text(std::uint64_t index = 0) const {
    return std::string(text_of(batch.layout.slot(batch.contents.block.data(), 0, index)));
  }

  SamplePlan plan;
  TestBatch batch;
  TestWorker worker;
  ImageDecoder decoder;
  SampleBytes bytes{plan, worker.scratch, worker.clock, worker.origin, nullptr};
  Delivery delivery{plan, worker.clock};
  ValueFlow flow{plan, worker.context, delivery};
  ChunkedFields fields{{plan, worker.context, decoder, bytes, worker.origin, flow}, {0}, worker.budget};
  Lookahead* const lookahead;
};

TEST(ChunkedFields, a_box_over_four_chunks_reaches_its_slot) {
  ChunkedLetters letters;
  letters.put_all();
  letters.add_sample(1, 2);
  letters.add_sample(0, 0);
  LettersRun run(letters);
  ASSERT_TRUE(run.make(0, 1));
  ASSERT_TRUE(run.make(1, 0));
  EXPECT_EQ(run.text(1), "ijkopq");
  EXPECT_EQ(run.text(0), "abcghi");
  EXPECT_EQ(run.fields.chunks().size(), 1u);
}

TEST(ChunkedFields, flips_and_turns_are_made_on_the_way_to_the_slot) {
  ChunkedLetters letters(Stored::kPlain, 0, {2, 2});
  letters.put_all();
  for (int i = 0; i < 64; ++i) letters.add_sample(1, 2);
  LettersRun run(letters, slots_of(DType::kUInt8, {2, 2}), with_steps({RandomRot90{}}));
  std::vector<std::string> seen;
  for (std::uint64_t sample = 0; sample < 64; ++sample) {
    ASSERT_TRUE(run.make(sample));
    if (std::ranges::find(seen, run.text()) == seen.end()) seen.push_back(run.text());
  }
  std::ranges::sort(seen);
  // "ij" above "op", turned four ways.
  EXPECT_EQ(seen, (std::vector<std::string>{"ijop", "jpio", "oipj", "poji"}));
}

TEST(ChunkedFields, one_normalize_is_made_on_the_way_and_a_step_of_the_users_in_memory_of_the_worker) {
  ChunkedLetters letters;
  letters.put_all();
  letters.add_sample(1, 2);
  const Normalize halves{.mean = {0}, .std = {2}, .max_value = 1.0};
  LettersRun normalized(letters, slots_of(DType::kFloat32), with_steps({halves}));
  ASSERT_TRUE(normalized.make(0));
  const auto doubled = Map::of_array([](const ArraySpec& spec, const void* data) -> Result<OwnedArray> {
    auto out = std::make_shared<std::vector<float>>();
    for (std::uint64_t i = 0; i < spec.bytes(); ++i)
      out->push_back(2 * static_cast<float>(static_cast<const std::uint8_t*>(data)[i]));
    return OwnedArray{{DType::kFloat32, spec.shape}, {out, out->data()}};
  });
  LettersRun mapped(letters, slots_of(DType::kFloat32), with_steps({doubled}));
  ASSERT_TRUE(mapped.make(0));
  const std::string expected = "ijkopq";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(normalized.batch.number<float>(0, 0, i), static_cast<float>(expected[i]) / 2) << i;
    EXPECT_EQ(mapped.batch.number<float>(0, 0, i), static_cast<float>(expected[i]) * 2) << i;
  }
}

// The second field of a sample is what the next sample has as its first.
class TwoFieldsSource final : public ListedSource {
 public:
  explicit TwoFieldsSource(const ListedSource& letters)
      : ListedSource({{"one", FieldKind::kArray, FieldForm::kChunks}, {"two", FieldKind::kArray, FieldForm::kChunks}}) {
    chunked = letters.chunked;
    stored.arrays = letters.stored.arrays;
    layouts = {letters.layouts[0], letters.layouts[0]};
  }
  void boxes(std::uint64_t sample, std::size_t field, std::vector<ArrayBox>& out) const override {
    ListedSource::boxes(sample + field, 0, out);
  }
};

TEST(ChunkedFields, two_fields_of_one_sample_have_memory_of_their_own_where_both_need_it) {
  ChunkedLetters letters;
  letters.put_all();
  letters.add_sample(0, 0);
  letters.add_sample(2, 3);
  const auto pass_on = std::make_shared<const Map::Function>(
      [](std::vector<MapValue> values, const MapDraws&) -> Result<std::vector<MapValue>> { return values; });
  LoaderOptions options;
  options.transforms = {{"one", {Map{pass_on, {}}}, ""}, {"two", {Map{pass_on, {}}}, ""}};
  const SamplePlan plan = *plan_fields(std::make_shared<TwoFieldsSource>(*letters.source), options);
  TestBatch batch({field("one", DType::kUInt8, {2, 3}), field("two", DType::kUInt8, {2, 3})});
  TestWorker worker;
  ImageDecoder decoder;
  SampleBytes bytes{plan, worker.scratch, worker.clock, worker.origin, nullptr};
  Delivery delivery{plan, worker.clock};
  ValueFlow flow{plan, worker.context, delivery};
  ChunkedFields fields({plan, worker.context, decoder, bytes, worker.origin, flow}, {0, 1}, worker.budget);
  delivery.begin({&batch.target, 0});
  fields.begin_sample();
  ASSERT_TRUE(fields.make({0, 0, 0}));
  EXPECT_EQ(text_of(batch.layout.slot(batch.contents.block.data(), 0, 0)), "abcghi");
  EXPECT_EQ(text_of(batch.layout.slot(batch.contents.block.data(), 1, 0)), "pqrvwx");
}

TEST(ChunkedFields, a_damaged_chunk_is_named) {
  ChunkedLetters letters(Stored::kGzip);
  letters.put(ChunkedLetters::kTopLeft, "no gzip");
  letters.add_sample(0, 0);
  LettersRun run(letters);
  EXPECT_FALSE(run.make(0));
  EXPECT_NE(run.worker.origin.where.uri.find("c/0/0"), std::string::npos) << run.worker.origin.where.uri;
}

TEST(ChunkedFields, a_chunk_that_must_go_is_copied_before_to_the_samples_in_the_making_that_need_it) {
  ChunkedLetters letters(Stored::kPlain);
  letters.put_all();
  letters.add_sample(0, 2);  // both chunks above
  letters.add_sample(2, 2);  // both chunks below
  letters.add_sample(0, 1);  // both chunks above again
  // Memory for one decoded chunk.
  const LookaheadPlan room{.decoded_chunk_bytes = 6, .samples_ahead = 64};
  TestLookahead ahead(*letters.source, room, 3);
  LettersRun run(letters, slots_of(), {}, &ahead.lookahead);
  ahead.lookahead.open_batch({0, 3}, run.batch.contents);
  for (std::uint64_t sample = 0; sample < 3; ++sample) ASSERT_TRUE(run.make(sample, sample));
  ahead.lookahead.close_batch({0, 3});
  EXPECT_EQ(run.text(0), "cdeijk");
  EXPECT_EQ(run.text(1), "opquvw");
  EXPECT_EQ(run.text(2), "bcdhij");
  EXPECT_EQ(ahead.memory->counters.decoded, 4u) << "each chunk once, although one fits";
}

TEST(ChunkedFields, measuring_tells_what_one_chunk_takes) {
  ChunkedLetters letters;
  letters.put_all();
  letters.add_sample(0, 0);
  LettersRun run(letters);
  UnitCost cost;
  ASSERT_TRUE(run.fields.measure({0, 0, 0}, cost));
  EXPECT_EQ(cost.encoded_bytes, 6);
  EXPECT_EQ(cost.decoded_bytes, 6);
}

}  // namespace
}  // namespace penstock
