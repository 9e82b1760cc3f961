#include <gtest/gtest.h>

#include "plan/field_plan.h"
#include "sample/field_maker.h"
#include "sample/fields/array_field.h"
#include "sample/fields/cached_image_field.h"
#include "sample/fields/image_field.h"
#include "sample/fields/index_field.h"
#include "sample/fields/text_field.h"
#include "support/listed_source.h"
#include "support/memory_cache.h"
#include "support/test_worker.h"

namespace penstock {
namespace {

class FieldMakersTest : public testing::Test {
 protected:
  // The maker of a field, if it is one of this class and not of one that derives from it.
  template <typename Maker>
  bool is_made_by(const std::string& name, const SampleCache* cache = nullptr) {
    const auto maker = maker_of(name, cache);
    if (maker == nullptr) return false;
    const FieldMaker& made = *maker;
    return typeid(made) == typeid(Maker);
  }
  std::unique_ptr<FieldMaker> maker_of(const std::string& name, const SampleCache* cache = nullptr) {
    std::size_t field = 0;
    while (plan.fields[field].name != name) ++field;
    return make_field_maker({plan, worker.context, decoder, bytes, worker.origin, flow, cache}, field);
  }

  static SamplePlan make_plan() {
    auto source = std::make_shared<ListedSource>(
        std::vector<FieldInfo>{{"image", FieldKind::kImage},
                               {"mask", FieldKind::kMask},
                               {"array", FieldKind::kArray},
                               {"elements", FieldKind::kArray, FieldForm::kElements},
                               {"label", FieldKind::kInteger},
                               {"caption", FieldKind::kText},
                               {"meta", FieldKind::kJson, FieldForm::kRecord},
                               {"raw", FieldKind::kBytes},
                               {"class", FieldKind::kInteger, FieldForm::kIndex},
                               {"title", FieldKind::kText, FieldForm::kIndex},
                               {"chunks", FieldKind::kArray, FieldForm::kChunks}});
    LoaderOptions options;
    for (const FieldInfo& field : source->fields()) options.fields.push_back(field.name);
    options.fields.push_back("key");
    options.fields.push_back("one hot");
    options.transforms = {{"one hot", {OneHot{3}}, "label"}};
    return *plan_fields(source, options);
  }

  SamplePlan plan = make_plan();
  TestWorker worker;
  ImageDecoder decoder;
  SampleBytes bytes{plan, worker.scratch, worker.clock, worker.origin, nullptr};
  Delivery delivery{plan, worker.clock};
  ValueFlow flow{plan, worker.context, delivery};
};

TEST_F(FieldMakersTest, pictures_are_decoded) {
  EXPECT_TRUE(is_made_by<ImageField>("image"));
  EXPECT_TRUE(is_made_by<ImageField>("mask"));
}

TEST_F(FieldMakersTest, pictures_come_from_the_cache_where_it_keeps_pixels) {
  const SampleCache decoded(memory_cache(), plan, CacheForm::kDecoded);
  const SampleCache encoded(memory_cache(), plan, CacheForm::kEncoded);
  EXPECT_TRUE(is_made_by<CachedImageField>("image", &decoded));
  EXPECT_TRUE(is_made_by<ImageField>("image", &encoded));
  EXPECT_TRUE(is_made_by<ArrayField>("array", &decoded)) << "only pictures have pixels";
}

TEST_F(FieldMakersTest, numbers_are_arrays_or_stored_labels) {
  EXPECT_TRUE(is_made_by<ArrayField>("array"));
  EXPECT_TRUE(is_made_by<ArrayField>("elements"));
  EXPECT_TRUE(is_made_by<ArrayField>("label"));
}

TEST_F(FieldMakersTest, texts_json_and_bytes_are_texts) {
  for (const char* name : {"caption", "meta", "raw"}) EXPECT_TRUE(is_made_by<TextField>(name)) << name;
}

TEST_F(FieldMakersTest, what_the_index_holds_comes_from_it_whatever_its_kind) {
  for (const char* name : {"class", "title", "key"}) EXPECT_TRUE(is_made_by<IndexField>(name)) << name;
}

TEST_F(FieldMakersTest, derived_and_chunked_fields_are_made_by_others) {
  EXPECT_EQ(maker_of("one hot"), nullptr);
  EXPECT_EQ(maker_of("chunks"), nullptr);
}

}  // namespace
}  // namespace penstock
