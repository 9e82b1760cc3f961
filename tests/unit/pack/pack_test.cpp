// Packing as a whole, into memory: the same bytes for any number of threads and parts, and again after every fault.
#include "penstock/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "penstock/interruption.h"
#include "source/records/tar_source.h"
#include "store/store_of_uri.h"
#include "support/fault_store.h"
#include "support/listed_source.h"
#include "support/run_loader.h"

namespace penstock {
namespace {

using testing::HasSubstr;

constexpr int kPictures = 60;
constexpr std::uint64_t kShardBytes = 40 << 10;

SourcePtr pictures() {
  const auto store = store_of_pictures(kPictures);
  auto source = folder_source(store, *store);
  return source ? *source : nullptr;
}

PackOptions small_shards() {
  PackOptions options;
  options.shard_bytes = kShardBytes;
  options.threads = 2;
  options.memory_bytes = 64 << 20;
  return options;
}

// Everything below mem://out, by name.
std::map<std::string, std::vector<std::byte>> contents(const Store& store) {
  std::map<std::string, std::vector<std::byte>> files;
  const auto listing = store.list("mem://out");
  if (!listing) return files;
  for (const FolderEntry& entry : *listing)
    if (auto bytes = read_all(store, "mem://out/" + entry.name, 1 << 30)) files[entry.name] = std::move(*bytes);
  return files;
}

class Packing : public testing::Test {
 protected:
  // Stores that pack() makes from now on fail as planned; all of them hold the same objects.
  void plan(FaultPlan plan) { store_ = std::make_shared<FaultStore>(memory_, plan); }
  Result<PackReport> pack_all(const PackOptions& options = small_shards()) {
    return penstock::pack(source_, "mem://out", options);
  }
  // What an undisturbed run makes.
  std::map<std::string, std::vector<std::byte>> undisturbed(const PackOptions& options = small_shards()) {
    const auto before = std::exchange(memory_, std::make_shared<MemoryStore>());
    plan({});
    EXPECT_TRUE(pack_all(options));
    auto files = contents(*memory_);
    memory_ = before;
    plan({});
    return files;
  }

  SourcePtr source_ = pictures();
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  std::shared_ptr<FaultStore> store_ = std::make_shared<FaultStore>(memory_, FaultPlan{});
  const StoreKindScope scope_{{{"mem"}, [this](const std::string&, const std::vector<std::string>&) {
                                 return Result<std::shared_ptr<const Store>>(store_);
                               }}};
};

TEST_F(Packing, makes_shards_with_an_index_each_and_a_manifest) {
  const auto report = pack_all();
  ASSERT_TRUE(report) << report.error().describe();
  const auto files = contents(*memory_);
  EXPECT_GT(report->shards, 3u);
  EXPECT_EQ(files.size(), 2 * report->shards + 1);
  EXPECT_EQ(report->samples, static_cast<std::uint64_t>(kPictures));
  EXPECT_EQ(report->manifest, "mem://out/penstock-pack.json");
  const auto packed = open_source("mem://out");
  ASSERT_TRUE(packed) << packed.error().describe();
  ASSERT_EQ((*packed)->size(), source_->size());
  EXPECT_EQ((*packed)->classes(), source_->classes());
  for (std::uint64_t i = 0; i < source_->size(); ++i) EXPECT_EQ((*packed)->key(i), source_->key(i));
  ASSERT_EQ((*packed)->fields().size(), source_->fields().size());
  for (std::size_t i = 0; i < source_->fields().size(); ++i) {
    EXPECT_EQ((*packed)->fields()[i].name, source_->fields()[i].name);
    EXPECT_EQ((*packed)->fields()[i].kind, source_->fields()[i].kind);
    EXPECT_EQ((*packed)->fields()[i].is_class, source_->fields()[i].is_class);
  }
}

TEST_F(Packing, threads_and_parts_do_not_change_a_byte) {
  for (const PackFormat format : {PackFormat::kTar, PackFormat::kTFRecord}) {
    PackOptions options = small_shards();
    options.format = format;
    options.shuffle_seed = 7;
    const auto expected = undisturbed(options);
    for (const unsigned threads : {1u, 3u, 8u}) {
      options.threads = threads;
      EXPECT_EQ(undisturbed(options), expected) << threads;
    }
    memory_ = std::make_shared<MemoryStore>();
    plan({});
    options.parts = 3;
    for (const std::uint32_t part : {2u, 0u, 1u}) {
      options.part = part;
      const auto report = pack_all(options);
      ASSERT_TRUE(report) << report.error().describe();
      EXPECT_EQ(report->manifest, "");
    }
    ASSERT_TRUE(finish_pack("mem://out"));
    EXPECT_EQ(contents(*memory_), expected);
  }
}

TEST_F(Packing, one_shard_larger_than_the_data_keeps_every_thread_and_the_order) {
  PackOptions options = small_shards();
  options.shard_bytes = std::uint64_t{1} << 40;
  const auto report = pack_all(options);
  ASSERT_TRUE(report) << report.error().describe();
  EXPECT_EQ(report->shards, 1u);
}

// Memory for little more than one sample: most samples are refused at first, and are made again.
TEST_F(Packing, a_small_budget_changes_nothing) {
  const auto expected = undisturbed();
  PackOptions options = small_shards();
  options.threads = 4;
  options.memory_bytes = 600 << 10;
  EXPECT_EQ(undisturbed(options), expected);
  options.memory_bytes = 1 << 10;
  const auto refused = pack_all(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNoMemory) << refused.error().describe();
}

// Every operation of the destination fails in turn. Nothing that is visible afterwards is wrong, and the next run makes the
// bytes of an undisturbed one.
TEST_F(Packing, after_any_fault_of_the_store_the_next_run_makes_the_same_bytes) {
  const auto expected = undisturbed();
  plan({});
  ASSERT_TRUE(pack_all());
  const std::uint64_t operations = store_->operations();
  ASSERT_GT(operations, 20u);
  for (std::uint64_t fail_at = 1; fail_at <= operations; fail_at += 1 + operations / 60) {
    memory_ = std::make_shared<MemoryStore>();
    plan({.fail_at = fail_at, .fault = Fault::kEio});
    const auto report = pack_all();
    if (!report) {
      EXPECT_THAT(report.error().message, HasSubstr("injected")) << fail_at;
      for (const auto& [name, bytes] : contents(*memory_)) {
        const auto whole = expected.find(name);
        ASSERT_NE(whole, expected.end()) << name;
        ASSERT_EQ(bytes, whole->second) << name << " after " << fail_at;
      }
      plan({});
      const auto again = pack_all();
      ASSERT_TRUE(again) << again.error().describe();
    }
    ASSERT_EQ(contents(*memory_), expected) << fail_at;
  }
}

TEST_F(Packing, a_store_that_is_full_is_one_clean_error) {
  plan({.fail_at = 5, .persistent = true, .fault = Fault::kNoAccess, .only = StoreCall::kWrite});
  const auto report = pack_all();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kNoAccess);
  EXPECT_THAT(report.error().where.uri, HasSubstr("mem://out/shard-"));
}

TEST_F(Packing, complete_shards_are_not_written_again) {
  ASSERT_TRUE(pack_all());
  const auto again = pack_all();
  ASSERT_TRUE(again) << again.error().describe();
  EXPECT_EQ(again->shards, 0u);
  EXPECT_GT(again->shards_skipped, 3u);
  EXPECT_EQ(again->bytes, 0u);
}

TEST_F(Packing, the_folder_of_another_data_set_is_left_alone) {
  ASSERT_TRUE(pack_all());
  const auto before = contents(*memory_);
  PackOptions others = small_shards();
  others.shuffle_seed = 1;
  const auto refused = pack_all(others);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("another source or with other options"));
  EXPECT_EQ(contents(*memory_), before);
}

TEST_F(Packing, missing_and_foreign_shards_are_named_when_parts_are_joined) {
  PackOptions options = small_shards();
  options.parts = 3;
  ASSERT_TRUE(pack_all(options));
  auto joined = finish_pack("mem://out");
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("these are missing: "));
  options.parts = 2;
  options.part = 1;
  options.jpeg_quality = 50;  // another data set
  options.name = "other";
  ASSERT_TRUE(pack_all(options));
  joined = finish_pack("mem://out");
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("different data sets"));
}

TEST_F(Packing, an_interruption_leaves_only_complete_shards) {
  PackOptions options = small_shards();
  options.progress = [](const PackProgress&) { return false; };
  options.threads = 1;
  const auto stopped = pack_all(options);
  const auto expected = undisturbed();
  if (!stopped) {
    EXPECT_EQ(stopped.error().code, ErrorCode::kStopped);
  }
  for (const auto& [name, bytes] : contents(*memory_)) EXPECT_EQ(bytes, expected.at(name));
  ASSERT_TRUE(pack_all());
  EXPECT_EQ(contents(*memory_), expected);
}

TEST_F(Packing, options_that_make_no_sense_are_refused) {
  const auto refusal = [&](const std::function<void(PackOptions&)>& change) {
    PackOptions options = small_shards();
    change(options);
    const auto report = pack_all(options);
    return report ? Error{ErrorCode::kStopped, "it was accepted", {}} : report.error();
  };
  EXPECT_THAT(refusal([](PackOptions& o) { o.transforms = {{"image", {RandomCrop{8, 8}}, ""}}; }).message,
              HasSubstr("RandomCrop draws at random"));
  EXPECT_THAT(refusal([](PackOptions& o) { o.part = o.parts = 3; }).message, HasSubstr("parts count from 0"));
  EXPECT_THAT(refusal([](PackOptions& o) { o.jpeg_quality = 101; }).message, HasSubstr("1 to 100"));
  EXPECT_THAT(refusal([](PackOptions& o) { o.fields = {"imag"}; }).message, HasSubstr("did you mean \"image\"?"));
  EXPECT_THAT(refusal([](PackOptions& o) { o.name = "a/b"; }).message, HasSubstr("cannot be the name"));
  EXPECT_TRUE(contents(*memory_).empty());
}

}  // namespace
}  // namespace penstock
