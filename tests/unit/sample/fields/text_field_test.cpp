#include "sample/fields/text_field.h"

#include <gtest/gtest.h>

#include "support/field_run.h"
#include "support/layout_fields.h"
#include "support/listed_source.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

// Records whose one field is all of them.
class RecordSource final : public ListedSource {
 public:
  using ListedSource::ListedSource;
  Result<OpenedRecord> open_record(std::uint64_t, std::span<const std::byte> stored, const Charge&) const override {
    return OpenedRecord{stored, nullptr};
  }
  Result<RecordValue> find_in_record(std::uint64_t, std::size_t, const OpenedRecord& record,
                                     const Allocate&) const override {
    return RecordValue{record.bytes, std::nullopt};
  }
};

// One text, which stands in a shard behind four letters.
struct TextRun {
  TextRun(FieldKind kind, std::string_view text, FieldForm form = FieldForm::kFile) {
    auto store = std::make_shared<WatchedStore>();
    store->put("shard", "xxxx" + std::string(text));
    auto source = std::make_shared<RecordSource>(std::vector<FieldInfo>{{"text", kind, form}}, store);
    source->extents = {{extent_in_shard(*store, "shard", 4, text.size())}};
    LayoutField words = text_field("text");
    words.field.kind = kind;
    run = std::make_unique<FieldRun>(source, std::vector{words}, LoaderOptions{});
  }
  // Why it could not be made; no message where it was made.
  Error error() {
    const Status made = run->make(0);
    return made ? Error{} : made.error();
  }
  std::unique_ptr<FieldRun> run;
};

TEST(TextField, texts_json_and_bytes_are_delivered_as_they_are_stored) {
  for (const auto& [kind, text] : {std::pair{FieldKind::kText, std::string("a caf\xC3\xA9")},
                                   {FieldKind::kJson, R"({"a": [1, null]})"},
                                   {FieldKind::kBytes, std::string("\xFF\0x", 3)}}) {
    TextRun text_run(kind, text);
    EXPECT_EQ(text_run.error().message, "") << text;
    EXPECT_EQ(text_run.run->batch.text(0, 0), text);
  }
}

TEST(TextField, a_text_that_is_not_utf8_is_an_error_at_its_place_in_the_object) {
  const Error error = TextRun(FieldKind::kText, "abc\xFFz").error();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_EQ(error.where.offset, 4 + 3);
}

TEST(TextField, json_that_is_not_valid_is_an_error_at_its_place_in_the_object) {
  const Error error = TextRun(FieldKind::kJson, "[1, }").error();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_EQ(error.where.offset, 4 + 4);
}

TEST(TextField, the_place_within_a_record_is_not_told_because_it_is_not_known) {
  const Error error = TextRun(FieldKind::kText, "abc\xFFz", FieldForm::kRecord).error();
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_EQ(error.where.offset, -1);
}

TEST(TextField, json_whose_check_would_take_more_than_the_worker_has_is_an_error) {
  const std::string large = "[" + std::string(2 << 20, ' ') + "]";
  EXPECT_EQ(TextRun(FieldKind::kJson, large).error().code, ErrorCode::kNoMemory);
  EXPECT_EQ(TextRun(FieldKind::kText, large).error().message, "") << "a text takes no more than itself";
}

TEST(TextField, measuring_counts_what_is_stored) {
  TextRun text_run(FieldKind::kText, "four");
  const auto cost = text_run.run->measure(0);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->encoded_bytes, 4);
  EXPECT_EQ(cost->decoded_bytes, 4);
}

}  // namespace
}  // namespace penstock
