#include "statistics/visit_samples.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "support/encode_images.h"
#include "support/make_npy.h"
#include "support/make_tar.h"
#include "support/make_tfrecord.h"
#include "support/run_loader.h"
#include "support/temporary_folder.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

// What was shown, by field.
struct Shown {
  std::mutex mutex;
  std::map<std::size_t, std::multiset<std::string>> texts;
  std::map<std::size_t, std::multiset<std::int64_t>> integers;
  std::map<std::size_t, std::uint64_t> values;

  LookForThread look() {
    return [this] {
      return [this](const SeenField& seen) {
        const std::lock_guard lock(mutex);
        ++values[seen.field];
        if (!seen.view) texts[seen.field].emplace(seen.text);
        if (seen.view && seen.view->dtype == DType::kInt64 && seen.view->rank == 0) {
          std::int64_t integer = 0;
          std::memcpy(&integer, seen.view->data, sizeof(integer));
          integers[seen.field].insert(integer);
        }
      };
    };
  }
};

SourcePtr open_or_fail(const std::string& uri, OpenOptions options = {}) {
  options.keep_index = false;
  auto source = open_source(uri, options);
  EXPECT_TRUE(source) << (source ? "" : source.error().describe());
  return source ? *source : nullptr;
}

std::size_t field_of(const Source& source, const std::string& name) {
  const auto found = std::ranges::find(source.fields(), name, &FieldInfo::name);
  EXPECT_NE(found, source.fields().end());
  return static_cast<std::size_t>(found - source.fields().begin());
}

TEST(VisitSamples, shows_every_sample_once_whatever_the_number_of_threads) {
  const SourcePtr source = source_of_numbers(1000);
  std::multiset<std::int64_t> all;
  for (std::int64_t i = 0; i < 1000; ++i) all.insert(i);
  for (const unsigned threads : {1u, 3u, 8u}) {
    Shown shown;
    VisitOptions options;
    options.threads = threads;
    const auto visit = visit_samples(source, options, shown.look());
    ASSERT_TRUE(visit) << visit.error().describe();
    EXPECT_EQ(shown.integers[0], all);
    EXPECT_EQ(visit->samples, 1000u);
    EXPECT_EQ(visit->bad_samples, 0u);
    EXPECT_EQ(visit->bytes, 8000u);
    EXPECT_EQ(visit->threads, threads);
  }
}

TEST(VisitSamples, a_bad_field_hides_no_other_field_and_shows_none_twice) {
  TarArchive tar;
  tar.add_file("a.txt", "first");
  tar.add_file("a.cls", "1");
  tar.add_file("b.txt", "\xff\xfe");
  tar.add_file("b.cls", "many");
  tar.add_file("b.json", "{}");
  tar.add_file("c.txt", "third");
  tar.add_file("c.cls", "3");
  tar.add_file("c.json", "{");
  const TemporaryFolder folder;
  const SourcePtr source = open_or_fail(folder.write("shard.tar", tar.finish()));
  ASSERT_TRUE(source);
  Shown shown;
  const auto visit = visit_samples(source, {}, shown.look());
  ASSERT_TRUE(visit) << visit.error().describe();
  EXPECT_EQ(shown.texts[field_of(*source, "txt")], (std::multiset<std::string>{"first", "third"}));
  EXPECT_EQ(shown.integers[field_of(*source, "cls")], (std::multiset<std::int64_t>{1, 3}));
  EXPECT_EQ(shown.texts[field_of(*source, "json")],
            (std::multiset<std::string>{"{}"}));  // a has none: no error
  std::multiset<std::pair<std::int64_t, std::string>> bad;
  for (const BadValue& value : visit->bad) bad.emplace(value.error.where.sample, value.field);
  EXPECT_EQ(bad, (std::multiset<std::pair<std::int64_t, std::string>>{{1, "txt"}, {1, "cls"}, {2, "json"}}));
  EXPECT_EQ(visit->bad_samples, 2u);
}

TEST(VisitSamples, a_record_whose_checksum_fails_is_bad_once_not_once_a_field) {
  std::string file;
  for (std::int64_t i = 0; i < 10; ++i)
    file += tfrecord_frame(example_message(
        {{"label", integer_feature({i})}, {"text", bytes_feature({"sample " + std::to_string(i)})}}));
  const std::size_t frame = file.size() / 10;
  file[4 * frame + 30] ^= 1;
  const TemporaryFolder folder;
  const SourcePtr source = open_or_fail(folder.write("a.tfrecord", bytes_of(file)));
  ASSERT_TRUE(source);
  Shown shown;
  const auto visit = visit_samples(source, {}, shown.look());
  ASSERT_TRUE(visit) << visit.error().describe();
  ASSERT_EQ(visit->bad.size(), 1u);
  EXPECT_EQ(visit->bad.front().error.where.sample, 4);
  EXPECT_EQ(visit->bad.front().field, "");
  EXPECT_EQ(shown.integers[field_of(*source, "label")].size(), 9u);
}

TEST(VisitSamples, a_feature_that_some_records_lack_is_no_error) {
  std::string file;
  for (std::int64_t i = 0; i < 20; ++i) {
    NamedMessages features = {{"label", integer_feature({i})}};
    if (i % 2) features.emplace_back("note", bytes_feature({"odd"}));
    file += tfrecord_frame(example_message(features));
  }
  const TemporaryFolder folder;
  const SourcePtr source = open_or_fail(folder.write("a.tfrecord", bytes_of(file)));
  ASSERT_TRUE(source);
  Shown shown;
  const auto visit = visit_samples(source, {}, shown.look());
  ASSERT_TRUE(visit) << visit.error().describe();
  EXPECT_TRUE(visit->bad.empty());
  EXPECT_EQ(shown.values[field_of(*source, "label")], 20u);
  EXPECT_EQ(shown.values[field_of(*source, "note")], 10u);
}

TEST(VisitSamples, only_the_fields_asked_for_are_made) {
  TarArchive tar;
  tar.add_file("a.txt", "first");
  tar.add_file("a.jpg", "no picture");
  const TemporaryFolder folder;
  const SourcePtr source = open_or_fail(folder.write("shard.tar", tar.finish()));
  ASSERT_TRUE(source);
  Shown shown;
  VisitOptions options;
  options.fields = {"txt"};
  const auto visit = visit_samples(source, options, shown.look());
  ASSERT_TRUE(visit) << visit.error().describe();
  EXPECT_TRUE(visit->bad.empty());
  EXPECT_EQ(shown.values.size(), 1u);
  options.fields = {"tx"};
  const auto mistyped = visit_samples(source, options, shown.look());
  ASSERT_FALSE(mistyped);
  EXPECT_EQ(mistyped.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(mistyped.error().message.find("did you mean \"txt\""), std::string::npos)
      << mistyped.error().message;
}

TEST(VisitSamples, a_file_that_has_gone_is_bad_and_the_others_are_shown) {
  const auto clean = store_of_pictures(6);
  auto less = std::make_shared<MemoryStore>();
  for (const char* name : {"data/a/0.jpg", "data/b/1.png", "data/a/2.png", "data/b/3.jpg"})
    less->put(name, *read_all(*clean, name, 1 << 20));
  less->put("elsewhere", {});  // versions count writes: the file after the one that has gone keeps its version
  less->put("data/b/5.png", *read_all(*clean, "data/b/5.png", 1 << 20));
  const auto source = folder_source(less, *clean);
  ASSERT_TRUE(source);
  Shown shown;
  const auto visit = visit_samples(*source, {}, shown.look());
  ASSERT_TRUE(visit) << visit.error().describe();
  ASSERT_EQ(visit->bad.size(), 1u);
  EXPECT_EQ(visit->bad.front().error.code, ErrorCode::kNotFound);
  EXPECT_EQ(visit->bad.front().field, "image");
  EXPECT_EQ(shown.values[0], 5u);
  EXPECT_EQ(shown.values[1], 6u);  // labels are not in the files
}

TEST(VisitSamples, can_be_stopped) {
  const SourcePtr source = source_of_numbers(50);
  VisitOptions options;
  options.threads = 1;
  options.progress = [](std::uint64_t) { return false; };
  const auto visit = visit_samples(source, options, [] {
    return [](const SeenField&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  });
  ASSERT_FALSE(visit);
  EXPECT_EQ(visit.error().code, ErrorCode::kStopped);
}

TEST(VisitSamples, holds_to_its_memory_and_says_which_samples_do_not_fit) {
  auto store = std::make_shared<MemoryStore>();
  store->put("data/a/0.npy", make_npy<float>("<f4", {16}, std::vector<float>(16, 1)));
  store->put("data/a/1.npy", make_npy<float>("<f4", {1 << 20}, std::vector<float>(1 << 20, 1)));
  const auto source = folder_source(store, *store);
  ASSERT_TRUE(source);
  Shown shown;
  VisitOptions options;
  options.threads = 2;
  options.memory_bytes = 2 << 20;
  const auto visit = visit_samples(*source, options, shown.look());
  ASSERT_TRUE(visit) << visit.error().describe();
  ASSERT_EQ(visit->bad.size(), 1u);
  EXPECT_EQ(visit->bad.front().error.code, ErrorCode::kNoMemory);
  EXPECT_EQ(visit->bad.front().error.where.sample, 1);
  EXPECT_EQ(shown.values[0], 1u);
}

}  // namespace
}  // namespace penstock
