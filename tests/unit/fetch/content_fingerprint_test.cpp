#include "fetch/content_fingerprint.h"

#include <gtest/gtest.h>

#include "support/chunked_letters.h"
#include "support/fault_store.h"
#include "support/listed_source.h"
#include "support/watched_store.h"

namespace penstock {
namespace {

// Files of these bytes, a sample each.
struct Files {
  explicit Files(const std::vector<std::string>& texts, const std::string& folder = "data/") {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      store->put(folder + std::to_string(i), texts[i]);
      source.extents.push_back({extent_of_file(*store, folder + std::to_string(i))});
    }
  }
  std::uint64_t fingerprint() const { return *content_fingerprint(source); }

  std::shared_ptr<WatchedStore> store = std::make_shared<WatchedStore>();
  ListedSource source{{{"text", FieldKind::kText}}, store};
};

TEST(ContentFingerprint, is_that_of_a_copy_at_another_place_and_of_another_time) {
  const std::vector<std::string> texts{"one", "two", "three"};
  const Files here(texts);
  Files there(texts, "elsewhere/");
  EXPECT_EQ(here.fingerprint(), there.fingerprint());
  EXPECT_NE(here.fingerprint(), 0u);
  there.store->put("elsewhere/0", "one");
  there.source.extents[0][0] = extent_of_file(*there.store, "elsewhere/0");
  EXPECT_EQ(here.fingerprint(), there.fingerprint());
}

TEST(ContentFingerprint, differs_where_a_byte_of_any_of_a_few_samples_does) {
  const std::vector<std::string> texts{"one", "two", "three"};
  const std::uint64_t before = Files(texts).fingerprint();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto changed = texts;
    changed[i].back() ^= 1;
    EXPECT_NE(Files(changed).fingerprint(), before) << "sample " << i;
  }
  EXPECT_NE(Files({"two", "one", "three"}).fingerprint(), before) << "the same samples in another order";
}

TEST(ContentFingerprint, looks_at_the_beginning_the_middle_and_the_end_of_what_is_large) {
  const std::vector<std::string> texts(16, std::string(100'000, 'x'));
  const std::uint64_t before = Files(texts).fingerprint();
  for (const auto& [sample, at] : {std::pair{0, 0}, {7, 46'000}, {15, 99'999}}) {
    auto changed = texts;
    changed[static_cast<std::size_t>(sample)][static_cast<std::size_t>(at)] = 'y';
    EXPECT_NE(Files(changed).fingerprint(), before) << "byte " << at;
  }
}

TEST(ContentFingerprint, reads_sixteen_places_of_4_kib_at_most) {
  const Files files(std::vector<std::string>(1000, std::string(100'000, 'x')));
  (void)files.fingerprint();
  EXPECT_EQ(files.store->counts().read, 16);
}

TEST(ContentFingerprint, numbers_of_the_index_count_and_its_texts_do_not) {
  const auto of_value = [](IndexValue value) {
    ListedSource source({{"value", FieldKind::kText, FieldForm::kIndex}});
    source.values = {{std::move(value)}};
    return *content_fingerprint(source);
  };
  EXPECT_NE(of_value(std::int64_t{1}), of_value(std::int64_t{2}));
  EXPECT_NE(of_value(0.5), of_value(0.25));
  EXPECT_NE(of_value(0.5F), of_value(0.25F));
  EXPECT_NE(of_value(std::vector<std::int64_t>{1, 2}), of_value(std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(of_value("/here/a.jpg"), of_value("/there/a.jpg")) << "a text may be a path";
}

TEST(ContentFingerprint, elements_of_few_bytes_are_read_together_with_those_behind_them) {
  const auto of_shard = [](const std::string& shard) {
    auto store = std::make_shared<WatchedStore>();
    store->put("shard", shard);
    ListedSource source({{"number", FieldKind::kArray, FieldForm::kElements}}, store);
    for (std::uint64_t i = 0; i < shard.size(); ++i) source.extents.push_back({extent_in_shard(*store, "shard", i, 1)});
    return *content_fingerprint(source);
  };
  const std::string shard(2000, 'x');
  for (const std::size_t at : {0, 133, 777, 1999}) {
    std::string changed = shard;
    changed[at] = 'y';
    EXPECT_NE(of_shard(changed), of_shard(shard)) << at << " is none of the sixteen samples";
  }
}

TEST(ContentFingerprint, a_compressed_shard_is_known_by_the_checksums_of_its_index_and_not_read) {
  const auto of_checksums = [](const std::vector<std::uint32_t>& checksums) {
    auto store = std::make_shared<WatchedStore>();
    store->put("shard.gz", "not read");
    ListedSource source({{"text", FieldKind::kText}}, store);
    source.stored.streams = {{"shard.gz", 0, 8, checksums, store.get()}};
    source.stored.blocks = {{0, 0, 3 << 20}};
    for (std::uint64_t i = 0; i < 3; ++i) {
      Extent extent = extent_in_shard(*store, "shard.gz", i << 20, 10);
      extent.block = 0;
      source.extents.push_back({extent});
    }
    const auto before = store->counts();
    const std::uint64_t fingerprint = *content_fingerprint(source);
    EXPECT_EQ(store->counts(), before);
    return fingerprint;
  };
  EXPECT_EQ(of_checksums({1, 2, 3}), of_checksums({1, 2, 3}));
  EXPECT_NE(of_checksums({1, 2, 3}), of_checksums({1, 2, 4}));
}

TEST(ContentFingerprint, chunks_count_and_so_does_which_of_them_are_missing) {
  const auto of_chunk = [](const std::optional<std::string>& chunk) {
    ChunkedLetters letters;
    letters.put(ChunkedLetters::kTopRight, "defjkl");
    if (chunk) letters.put(ChunkedLetters::kTopLeft, *chunk);
    letters.add_sample(0, 0);
    letters.add_sample(0, 3);
    return *content_fingerprint(*letters.source);
  };
  EXPECT_EQ(of_chunk("abcghi"), of_chunk("abcghi"));
  EXPECT_NE(of_chunk("abcghi"), of_chunk("abcghj"));
  EXPECT_NE(of_chunk("abcghi"), of_chunk(std::nullopt));
}

TEST(ContentFingerprint, a_field_that_a_sample_may_lack_is_passed_over_and_one_that_it_must_have_is_an_error) {
  const auto of_second = [](bool is_everywhere) {
    auto store = std::make_shared<WatchedStore>();
    store->put("a", "text");
    ListedSource source({{"a", FieldKind::kText, FieldForm::kFile, is_everywhere}}, store);
    source.extents = {{extent_of_file(*store, "a")}, {}};
    return content_fingerprint(source);
  };
  EXPECT_TRUE(of_second(false));
  EXPECT_EQ(of_second(true).error().code, ErrorCode::kNotFound);
}

TEST(ContentFingerprint, a_place_that_cannot_be_read_is_an_error) {
  auto store = std::make_shared<WatchedStore>();
  for (const char* name : {"0", "1", "2"}) store->put(name, "text");
  auto failing = std::make_shared<FaultStore>(store, FaultPlan{});
  ListedSource source({{"text", FieldKind::kText}}, failing);
  for (const char* name : {"0", "1", "2"}) source.extents.push_back({extent_of_file(*failing, name)});
  const std::uint64_t opened = failing->operations();
  ASSERT_TRUE(content_fingerprint(source));
  const std::uint64_t all = failing->operations() - opened;
  ASSERT_GT(all, 0u);
  for (std::uint64_t operation = 1; operation <= all; ++operation) {
    auto broken = std::make_shared<FaultStore>(store, FaultPlan{.fail_at = operation});
    for (auto& extents : source.extents) extents[0].store = broken.get();
    EXPECT_EQ(content_fingerprint(source).error().code, ErrorCode::kIo) << "operation " << operation;
  }
}

}  // namespace
}  // namespace penstock
