#include "sample/fields/array_field.h"

#include <gtest/gtest.h>

#include "decode/npy.h"
#include "support/field_run.h"
#include "support/layout_fields.h"
#include "support/listed_source.h"
#include "support/make_npy.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

using Int16s = std::vector<std::int16_t>;

class ArrayFieldTest : public testing::Test {
 protected:
  // One sample, of one field, whose file or part of a shard this is.
  std::shared_ptr<ListedSource> source_of(const FieldInfo& field, std::vector<Extent> extents) const {
    auto source = std::make_shared<ListedSource>(std::vector{field}, store);
    for (Extent& extent : extents) source->extents.push_back({std::move(extent)});
    return source;
  }
  // Files of int16, of which the first says how all are stored.
  std::shared_ptr<ListedSource> npy_files(const std::vector<std::vector<std::byte>>& files) const {
    std::vector<Extent> extents;
    for (std::size_t i = 0; i < files.size(); ++i) {
      store->put(std::to_string(i), files[i]);
      extents.push_back(extent_of_file(*store, std::to_string(i)));
    }
    auto source = source_of({"array", FieldKind::kArray}, std::move(extents));
    const NpyHeader header = *parse_npy_header(files[0], Limits{});
    source->layouts = {{header.array, header.fortran_order, header.big_endian,
                        {files[0].begin(), files[0].begin() + static_cast<std::ptrdiff_t>(header.data_offset)}}};
    return source;
  }
  static Int16s numbers(const FieldRun& run, std::size_t count, std::uint64_t index = 0) {
    Int16s out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(run.batch.number<std::int16_t>(0, index, i));
    return out;
  }
  // Elements of a shard from its second byte on.
  std::shared_ptr<ListedSource> elements(const Int16s& values, std::uint64_t bytes) const {
    std::vector<std::byte> shard(1);
    append(shard, values.data(), values.size() * sizeof(std::int16_t));
    store->put("shard", shard);
    auto source = source_of({"array", FieldKind::kArray, FieldForm::kElements},
                            {extent_in_shard(*store, "shard", 1, bytes)});
    source->layouts = {{{DType::kInt16, {2}}}};
    return source;
  }

  const std::vector<LayoutField> two_numbers{field("array", DType::kInt16, {2})};
  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
};

TEST_F(ArrayFieldTest, elements_that_need_no_work_are_read_straight_into_their_slot) {
  FieldRun run(elements({7, -8}, 4), two_numbers);
  ASSERT_TRUE(run.make(0, 1));
  EXPECT_EQ(numbers(run, 2, 1), (Int16s{7, -8}));
  EXPECT_EQ(run.worker.ledger->peak(), 0u) << "no memory of the worker was used";
}

TEST_F(ArrayFieldTest, elements_that_a_step_changes_are_read_into_memory_of_the_worker) {
  LoaderOptions options;
  options.dtype = DType::kFloat32;
  FieldRun run(elements({7, -8}, 4), {field("array", DType::kFloat32, {2})}, options);
  ASSERT_TRUE(run.make(0));
  EXPECT_EQ(run.batch.number<float>(0, 0, 0), 7.0F);
  EXPECT_EQ(run.batch.number<float>(0, 0, 1), -8.0F);
  EXPECT_GT(run.worker.ledger->peak(), 0u);
}

TEST_F(ArrayFieldTest, elements_of_the_other_byte_order_are_swapped) {
  const auto source = elements({0x0100, 0x0200}, 4);
  source->layouts[0].swap_bytes = true;
  FieldRun run(source, two_numbers);
  ASSERT_TRUE(run.make(0));
  EXPECT_EQ(numbers(run, 2), (Int16s{1, 2}));
}

TEST_F(ArrayFieldTest, elements_of_another_size_than_the_layout_says_are_an_error) {
  FieldRun run(elements({7, -8}, 2), two_numbers);
  const Status made = run.make(0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kShapeMismatch);
}

TEST_F(ArrayFieldTest, a_file_with_the_usual_header_is_read_in_one_call) {
  FieldRun run(npy_files({make_npy<std::int16_t>("<i2", {2}, {1, 2}), make_npy<std::int16_t>("<i2", {2}, {3, 4})}),
               two_numbers);
  ASSERT_TRUE(run.make(1));
  EXPECT_EQ(numbers(run, 2), (Int16s{3, 4}));
  EXPECT_EQ(store->counts().read, 1);
  EXPECT_EQ(run.worker.ledger->peak(), 0u);
}

TEST_F(ArrayFieldTest, a_file_with_another_header_of_the_same_size_is_parsed) {
  FieldRun run(npy_files({make_npy<std::int16_t>("<i2", {2}, {1, 2}),
                          make_npy<std::int16_t>(">i2", {2}, {0x0300, 0x0400})}),
               two_numbers);
  ASSERT_TRUE(run.make(1));
  EXPECT_EQ(numbers(run, 2), (Int16s{3, 4})) << "not the bytes that the first attempt left in the slot";
}

TEST_F(ArrayFieldTest, a_file_in_fortran_order_is_delivered_in_c_order) {
  FieldRun run(npy_files({make_npy<std::int16_t>("<i2", {2, 2}, {1, 3, 2, 4}, true)}),
               {field("array", DType::kInt16, {2, 2})});
  ASSERT_TRUE(run.make(0));
  EXPECT_EQ(numbers(run, 4), (Int16s{1, 2, 3, 4}));
}

TEST_F(ArrayFieldTest, a_file_that_grew_since_it_was_indexed_is_an_error) {
  const auto source = npy_files({make_npy<std::int16_t>("<i2", {2}, {1, 2})});
  auto longer = make_npy<std::int16_t>("<i2", {2}, {1, 2});
  longer.resize(longer.size() + 1);
  store->put("0", longer);
  FieldRun run(source, two_numbers);
  const Status made = run.make(0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kChanged);
}

TEST_F(ArrayFieldTest, a_file_that_is_longer_or_shorter_than_its_header_says_is_an_error) {
  const auto whole = make_npy<std::int16_t>("<i2", {2}, {1, 2});
  for (const std::size_t size : {whole.size() - 1, whole.size() + 1}) {
    auto other = whole;
    other.resize(size);
    FieldRun run(npy_files({whole, other}), two_numbers);
    EXPECT_TRUE(run.make(0));
    EXPECT_FALSE(run.make(1)) << size << " bytes";
  }
}

TEST_F(ArrayFieldTest, a_file_of_another_shape_than_the_batch_has_is_an_error) {
  FieldRun run(npy_files({make_npy<std::int16_t>("<i2", {2}, {1, 2}), make_npy<std::int16_t>("<i2", {3}, {3, 4, 5})}),
               two_numbers);
  const Status made = run.make(1);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kShapeMismatch);
}

TEST_F(ArrayFieldTest, a_label_that_is_stored_as_text_becomes_a_number) {
  for (const auto& [text, number] : {std::pair{" -42\n", -42}, {"7", 7}}) {
    store->put("label", text);
    FieldRun run(source_of({"label", FieldKind::kInteger}, {extent_of_file(*store, "label")}),
                 {field("label", DType::kInt64, {})});
    ASSERT_TRUE(run.make(0)) << text;
    EXPECT_EQ(run.batch.number<std::int64_t>(0, 0), number);
  }
}

TEST_F(ArrayFieldTest, a_label_that_is_no_number_is_an_error) {
  store->put("label", "cat");
  FieldRun run(source_of({"label", FieldKind::kInteger}, {extent_of_file(*store, "label")}),
               {field("label", DType::kInt64, {})});
  const Status made = run.make(0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kCorrupt);
}

TEST_F(ArrayFieldTest, measuring_counts_what_is_stored) {
  FieldRun run(elements({7, -8}, 4), two_numbers);
  const auto cost = run.measure(0);
  ASSERT_TRUE(cost) << cost.error().describe();
  EXPECT_EQ(cost->encoded_bytes, 4);
  EXPECT_EQ(cost->decoded_bytes, 4);
}

}  // namespace
}  // namespace penstock
