// Real files that are missing, empty, unreadable, cut, flipped, renamed, or change while in use.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "source/files/npy_source.h"
#include "store/file/file_store.h"
#include "support/encode_images.h"
#include "support/fault_calls.h"
#include "support/make_npy.h"
#include "support/run_loader.h"
#include "support/temporary_folder.h"
#include "support/watchdog.h"

namespace penstock {
namespace {

constexpr int kSamples = 12, kBad = 5;

class BadFiles : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < kSamples; ++i) write(i);
  }

  std::string name(int i) const {
    return std::string("d/") + (i < 6 ? "a/" : "b/") + std::to_string(100 + i) + ".jpg";
  }
  Encoded picture(int i) const { return encode_jpeg(make_picture(24, 16, 3, static_cast<std::uint64_t>(i))); }
  void write(int i) { folder_.write(name(i), picture(i)); }

  SourcePtr open_folder() {
    OpenOptions options;
    options.keep_index = false;
    auto source = open_source(folder_ / "d", options);
    EXPECT_TRUE(source) << source.error().describe();
    return *source;
  }

  static LoaderOptions loader_options(OnError policy) {
    LoaderOptions options;
    options.batch_size = 4;
    options.threads = 2;
    options.memory_bytes = 8 << 20;
    options.on_error = policy;
    options.transforms = {{"image", {Resize{8, 8}}, ""}};
    options.fields = {"image", "key"};
    return options;
  }

  // The source was opened before the damage, or after it: either way one sample is bad.
  void expect_one_bad_sample(const SourcePtr& source, ErrorCode code) {
    const Watchdog watchdog("a bad file");
    {
      auto loader = Loader::open(source, loader_options(OnError::kRaise));
      ASSERT_TRUE(loader) << loader.error().describe();
      const EpochRun run = run_epoch(**loader);
      ASSERT_TRUE(run.error);
      EXPECT_EQ(run.error->code, code) << run.error->describe();
      EXPECT_NE(run.error->where.uri.find(name(kBad)), std::string::npos) << run.error->describe();
      EXPECT_EQ(run.error->where.sample, kBad);
      EXPECT_EQ(run.error->where.offset, 0);
      EXPECT_EQ(run.keys.size(), 1u) << "the batch before was delivered";
      EXPECT_EQ(run.stats.counts.planned, run.stats.counts.delivered + run.stats.counts.failed);
    }
    {
      auto loader = Loader::open(source, loader_options(OnError::kSkip));
      const EpochRun run = run_epoch(**loader);
      ASSERT_FALSE(run.error) << run.error->describe();
      EXPECT_EQ(run.stats.counts.skipped, 1u);
      EXPECT_EQ(run.stats.counts.delivered, kSamples - 1u);
      ASSERT_EQ(run.stats.errors.size(), 1u);
      EXPECT_EQ(run.stats.errors[0].where.sample, kBad);
      EXPECT_EQ(run.keys[1].size(), 3u);
      for (const auto& batch : run.keys)
        for (const std::string& key : batch) EXPECT_EQ(name(kBad).find(key), std::string::npos);
    }
    {
      auto loader = Loader::open(source, loader_options(OnError::kReplace));
      const EpochRun run = run_epoch(**loader);
      ASSERT_FALSE(run.error) << run.error->describe();
      EXPECT_EQ(run.stats.counts.delivered, static_cast<std::uint64_t>(kSamples));
      EXPECT_EQ(run.stats.counts.replaced, 1u);
      auto again = Loader::open(source, loader_options(OnError::kReplace));
      EXPECT_EQ(run_epoch(**again).keys, run.keys) << "the stand-in is chosen by the seed";
    }
  }

  TemporaryFolder folder_;
};

TEST_F(BadFiles, missing) {
  const SourcePtr source = open_folder();
  std::filesystem::remove(folder_ / name(kBad));
  expect_one_bad_sample(source, ErrorCode::kNotFound);
}

TEST_F(BadFiles, renamed) {
  const SourcePtr source = open_folder();
  std::filesystem::rename(folder_ / name(kBad), folder_ / "elsewhere.jpg");
  expect_one_bad_sample(source, ErrorCode::kNotFound);
}

TEST_F(BadFiles, empty) {
  folder_.write(name(kBad), {});
  expect_one_bad_sample(open_folder(), ErrorCode::kTruncated);
}

TEST_F(BadFiles, not_an_image) {
  folder_.write(name(kBad), std::vector<std::byte>(500, std::byte{'x'}));
  expect_one_bad_sample(open_folder(), ErrorCode::kCorrupt);
}

TEST_F(BadFiles, cut_short) {
  Encoded bytes = picture(kBad);
  bytes.resize(bytes.size() * 2 / 3);
  folder_.write(name(kBad), bytes);
  expect_one_bad_sample(open_folder(), ErrorCode::kTruncated);
}

TEST_F(BadFiles, claims_65500_squared_pixels) {
  Encoded bytes = picture(kBad);
  for (std::size_t at = 2; at + 9 < bytes.size(); ++at)
    if (bytes[at] == std::byte{0xFF} && bytes[at + 1] == std::byte{0xC0}) {
      bytes[at + 5] = bytes[at + 7] = std::byte{0xFF};
      bytes[at + 6] = bytes[at + 8] = std::byte{0xDC};
      break;
    }
  folder_.write(name(kBad), bytes);
  expect_one_bad_sample(open_folder(), ErrorCode::kTooLarge);
}

TEST_F(BadFiles, shrinks_after_it_was_indexed) {
  const SourcePtr source = open_folder();
  ASSERT_EQ(truncate((folder_ / name(kBad)).c_str(), 100), 0);
  expect_one_bad_sample(source, ErrorCode::kChanged);
}

TEST_F(BadFiles, replaced_after_it_was_indexed) {
  const SourcePtr source = open_folder();
  usleep(20'000);
  write(kBad);  // the same bytes, another time
  expect_one_bad_sample(source, ErrorCode::kChanged);
}

TEST_F(BadFiles, a_folder_in_its_place) {
  const SourcePtr source = open_folder();
  std::filesystem::remove(folder_ / name(kBad));
  std::filesystem::create_directories(folder_ / name(kBad));
  expect_one_bad_sample(source, ErrorCode::kUnsupported);
}

TEST_F(BadFiles, unreadable) {
  // As root every file can be read, so the refusal is injected.
  class NoAccess final : public FileCalls {
   public:
    explicit NoAccess(std::string ending) : ending_(std::move(ending)) {}
    int open(const char* path) const override {
      if (!std::string_view(path).ends_with(ending_)) return FileCalls::open(path);
      errno = EACCES;
      return -1;
    }

   private:
    std::string ending_;
  };
  const auto store = std::make_shared<FileStore>(std::make_shared<NoAccess>(name(kBad)));
  auto index = scan_folder(*store, folder_ / "d", "", {});
  ASSERT_TRUE(index);
  expect_one_bad_sample(*make_folder_source(store, std::move(*index), {"d", folder_ / "d", "", "", {}}),
                        ErrorCode::kNoAccess);
}

TEST_F(BadFiles, another_size_than_the_rest_of_the_batch) {
  folder_.write(name(kBad), encode_jpeg(make_picture(25, 16, 3, 1)));
  LoaderOptions options = loader_options(OnError::kSkip);
  options.transforms.clear();
  auto loader = Loader::open(open_folder(), options);
  const EpochRun run = run_epoch(**loader);
  ASSERT_FALSE(run.error);
  EXPECT_EQ(run.stats.counts.skipped, 1u);
  EXPECT_EQ(run.stats.errors[0].code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(run.stats.errors[0].where.sample, kBad);
}

TEST_F(BadFiles, too_many_stop_the_epoch_and_the_books_balance) {
  const SourcePtr source = open_folder();
  for (const int i : {1, 2, 3, 9}) std::filesystem::remove(folder_ / name(i));
  LoaderOptions options = loader_options(OnError::kSkip);
  options.max_skip = 0.2;  // two of twelve
  auto loader = Loader::open(source, options);
  const EpochRun run = run_epoch(**loader);
  ASSERT_TRUE(run.error);
  EXPECT_EQ(run.error->code, ErrorCode::kTooManySkipped);
  EXPECT_EQ(run.stats.counts.planned,
            run.stats.counts.delivered + run.stats.counts.skipped + run.stats.counts.failed);
}

TEST_F(BadFiles, all_of_them_bad_is_an_error_not_a_hang) {
  const Watchdog watchdog("every file bad");
  const SourcePtr source = open_folder();
  for (int i = 0; i < kSamples; ++i) std::filesystem::remove(folder_ / name(i));
  for (const OnError policy : {OnError::kRaise, OnError::kSkip, OnError::kReplace}) {
    auto loader = Loader::open(source, loader_options(policy));
    ASSERT_TRUE(loader) << loader.error().describe();
    const EpochRun run = run_epoch(**loader);
    EXPECT_TRUE(run.error);
    EXPECT_EQ(run.stats.counts.planned,
              run.stats.counts.delivered + run.stats.counts.skipped + run.stats.counts.failed);
  }
}

TEST_F(BadFiles, flipped_bits_give_an_error_or_a_picture_never_a_crash) {
  const Encoded whole = picture(kBad);
  const Watchdog watchdog("flipped bits");
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    Encoded bytes = whole;
    bytes[at] ^= std::byte{0x10};
    folder_.write(name(kBad), bytes);
    auto loader = Loader::open(open_folder(), loader_options(OnError::kSkip));
    ASSERT_TRUE(loader) << loader.error().describe();
    const EpochRun run = run_epoch(**loader);
    ASSERT_FALSE(run.error) << run.error->describe();
    EXPECT_EQ(run.stats.counts.delivered + run.stats.counts.skipped, static_cast<std::uint64_t>(kSamples));
  }
}

TEST_F(BadFiles, interrupted_and_short_reads_give_identical_bytes) {
  const auto reference = run_epoch(**Loader::open(open_folder(), loader_options(OnError::kRaise)));
  const auto calls = std::make_shared<FaultCalls>(
      CallFaults{.short_read = 0.6, .interrupted = 0.3, .again = 0.2, .seed = 9});
  const auto store = std::make_shared<FileStore>(calls);
  auto index = scan_folder(*store, folder_ / "d", "", {});
  {
    auto loader =
        Loader::open(*make_folder_source(store, std::move(*index), {"d", folder_ / "d", "", "", {}}),
                     loader_options(OnError::kRaise));
    const EpochRun run = run_epoch(**loader);
    ASSERT_FALSE(run.error) << run.error->describe();
    EXPECT_EQ(run.bytes, reference.bytes);
  }
  EXPECT_GT(calls->reads(), kSamples * 2u);
  EXPECT_EQ(calls->open_files(), 0);
}

TEST(BadArrays, a_big_npy_that_shrinks_while_in_use_names_the_sample_and_its_offset) {
  const Watchdog watchdog("a shrinking npy");
  TemporaryFolder folder;
  const auto path =
      folder.write("x.npy", make_npy<float>("<f4", {1000, 64}, std::vector<float>(64'000, 1.5f)));
  OpenOptions open_options;
  auto source = open_source(path, open_options);
  ASSERT_TRUE(source);
  LoaderOptions options;
  options.batch_size = 10;
  options.threads = 2;
  options.memory_bytes = 4 << 20;
  options.prefetch = 2;
  auto loader = Loader::open(*source, options);
  ASSERT_TRUE(loader);
  const auto epoch = (*loader)->start_epoch();
  ASSERT_TRUE(epoch);
  ASSERT_TRUE((*epoch)->next());
  ASSERT_EQ(truncate(path.c_str(), 128 + 500 * 256), 0);
  std::optional<Error> error;
  std::uint64_t batches = 1;
  while (true) {
    auto batch = (*epoch)->next();
    if (!batch) {
      error = batch.error();
      break;
    }
    ASSERT_TRUE(*batch) << "the end must not be reached";
    for (int i = 0; i < 640; ++i) ASSERT_EQ(static_cast<const float*>((*batch)->fields[0].data)[i], 1.5f);
    ++batches;
  }
  EXPECT_LE(batches, 50u);  // fewer where a worker opens the file only after it shrank
  EXPECT_TRUE(error->code == ErrorCode::kTruncated || error->code == ErrorCode::kChanged)
      << error->describe();
  EXPECT_EQ(error->where.uri, path);
  EXPECT_EQ(error->where.offset, 128 + error->where.sample * 256);
}

TEST(BadArrays, npy_files_that_lie_are_skipped_one_by_one) {
  TemporaryFolder folder;
  const auto good = make_npy<float>("<f4", {2, 2}, {1, 2, 3, 4});
  const std::vector<std::byte> bad[] = {
      {},
      std::vector<std::byte>(good.begin(), good.end() - 1),
      make_npy<float>("<f4", {2, 3}, {1, 2, 3, 4}),
      make_npy<float>("|O", {2, 2}, {1, 2, 3, 4}),
      make_npy<float>("<f4", {4}, {1, 2, 3, 4}),
      make_npy<std::int32_t>("<i4", {2, 2}, {1, 2, 3, 4}),
      std::vector<std::byte>(300, std::byte{0xFF}),
  };
  int number = 100;
  folder.write("d/" + std::to_string(number++) + ".npy", good);
  for (const auto& bytes : bad) folder.write("d/" + std::to_string(number++) + ".npy", bytes);
  folder.write("d/" + std::to_string(number++) + ".npy", good);
  OpenOptions open_options;
  open_options.keep_index = false;
  const auto source = open_source(folder / "d", open_options);
  ASSERT_TRUE(source) << source.error().describe();
  LoaderOptions options;
  options.batch_size = 20;
  options.threads = 2;
  options.on_error = OnError::kSkip;
  options.max_skip = 1;
  options.memory_bytes = 4 << 20;
  auto loader = Loader::open(*source, options);
  ASSERT_TRUE(loader) << loader.error().describe();
  const EpochRun run = run_epoch(**loader);
  ASSERT_FALSE(run.error);
  EXPECT_EQ(run.stats.counts.delivered, 2u);
  EXPECT_EQ(run.stats.counts.skipped, std::size(bad));
  for (const Error& error : run.stats.errors) EXPECT_FALSE(error.where.uri.empty()) << error.describe();
}

TEST(BadArrays, a_memory_budget_too_small_for_a_sample_is_an_error_that_names_it) {
  const Watchdog watchdog("a small budget");
  TemporaryFolder folder;
  for (int i = 0; i < 6; ++i)
    folder.write("d/" + std::to_string(i) + ".png",
                 encode_png(make_picture(i == 4 ? 1500 : 30, i == 4 ? 1400 : 30, 3, 1)));
  OpenOptions open_options;
  open_options.keep_index = false;
  LoaderOptions options;
  options.batch_size = 2;
  options.threads = 2;
  options.memory_bytes = 3 << 20;
  options.on_error = OnError::kSkip;
  options.transforms = {{"image", {Resize{8, 8}}, ""}};
  auto loader = Loader::open(*open_source(folder / "d", open_options), options);
  ASSERT_TRUE(loader) << loader.error().describe();
  const EpochRun run = run_epoch(**loader);
  ASSERT_FALSE(run.error) << run.error->describe();
  EXPECT_EQ(run.stats.counts.skipped, 1u);
  EXPECT_EQ(run.stats.errors[0].code, ErrorCode::kNoMemory);
  EXPECT_EQ(run.stats.errors[0].where.sample, 4);
  EXPECT_LE(run.stats.memory_peak, run.stats.memory_budget);
}

}  // namespace
}  // namespace penstock
