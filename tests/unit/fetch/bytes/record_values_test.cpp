#include "fetch/bytes/record_values.h"

#include <gtest/gtest.h>

#include "fetch/bytes/store_bytes.h"
#include "plan/field_plan.h"
#include "support/listed_source.h"
#include "support/test_worker.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

// Records of 8 letters. Field "a" is the first half, field "b" the second; 'x' is damage.
class RecordSource final : public ListedSource {
 public:
  using ListedSource::ListedSource;

  Result<OpenedRecord> open_record(std::uint64_t, std::span<const std::byte> stored, const Charge&) const override {
    ++opened;
    const auto damage = text_of(stored).find('x');
    if (damage != std::string::npos)
      return fail(ErrorCode::kCorrupt, "damaged", {"", static_cast<std::int64_t>(damage), -1, -1});
    return OpenedRecord{stored, nullptr};
  }
  Result<RecordValue> find_in_record(std::uint64_t, std::size_t field, const OpenedRecord& record,
                                     const Allocate&) const override {
    return RecordValue{record.bytes.subspan(4 * field, 4), std::nullopt};
  }

  mutable int opened = 0;
};

class RecordValuesTest : public testing::Test {
 protected:
  RecordValuesTest() {
    store->put("shard", "aaaabbbbccccddddeeexffff");
    for (const std::uint64_t offset : {0, 8, 16}) {
      const Extent record = extent_in_shard(*store, "shard", offset, 8);
      source->extents.push_back({record, record, extent_in_shard(*store, "shard", offset, 4)});
    }
    source->layouts.assign(3, {{DType::kInt16, {2}}});
  }
  Result<RecordValue> read(std::uint64_t sample, std::size_t field) {
    const Extent& extent = source->extents[sample][field];
    worker.origin.where = where_of(extent);
    return values.read({plan.fields[field], field, 0, sample}, extent);
  }
  std::string text(std::uint64_t sample, std::size_t field) {
    const auto value = read(sample, field);
    return value ? std::string(text_of(value->bytes)) : value.error().describe();
  }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  std::shared_ptr<RecordSource> source = std::make_shared<RecordSource>(
      std::vector<FieldInfo>{{"a", FieldKind::kText, FieldForm::kRecord},
                             {"b", FieldKind::kText, FieldForm::kRecord},
                             {"n", FieldKind::kArray, FieldForm::kElements}},
      store);
  SamplePlan plan = *plan_fields(source, {});
  TestWorker worker;
  StoreBytes store_bytes{plan, worker.scratch, worker.clock, worker.origin};
  RecordValues values{*source, worker.scratch, worker.origin, store_bytes};
};

TEST_F(RecordValuesTest, a_record_is_opened_once_for_all_fields_of_its_sample) {
  EXPECT_EQ(text(0, 0), "aaaa");
  EXPECT_EQ(text(0, 1), "bbbb");
  EXPECT_EQ(source->opened, 1);
}

TEST_F(RecordValuesTest, the_record_of_the_next_sample_is_opened_though_it_is_in_the_same_memory) {
  text(0, 0);
  values.end_sample();
  EXPECT_EQ(text(1, 1), "dddd");
  EXPECT_EQ(source->opened, 2);
}

TEST_F(RecordValuesTest, an_error_says_where_in_the_object_it_is) {
  const auto value = read(2, 0);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(value.error().where.offset, 16 + 3);
}

TEST_F(RecordValuesTest, bare_elements_have_their_type_and_must_be_as_many_as_it_has) {
  const auto value = read(0, 2);
  ASSERT_TRUE(value);
  EXPECT_EQ(value->elements, (ArraySpec{DType::kInt16, {2}}));
  values.end_sample();
  source->extents[1][2].length = 5;
  EXPECT_EQ(read(1, 2).error().code, ErrorCode::kShapeMismatch);
}

TEST_F(RecordValuesTest, only_what_is_no_record_is_read_straight_into_a_slot) {
  std::vector<std::byte> slot(4);
  const std::vector<MutableBytes> parts{slot};
  auto filled = values.read_into({plan.fields[2], 2, 0, 0}, source->extents[0][2], parts);
  ASSERT_TRUE(filled && *filled);
  EXPECT_EQ(text_of(slot), "aaaa");
  filled = values.read_into({plan.fields[0], 0, 0, 0}, source->extents[0][0], parts);
  EXPECT_TRUE(filled && !*filled);
}

}  // namespace
}  // namespace penstock
