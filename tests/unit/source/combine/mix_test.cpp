#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "penstock/source.h"
#include "source/extent.h"
#include "source/files/npy_source.h"
#include "source/records/tar_source.h"
#include "source/source_storage.h"
#include "store/memory_store.h"
#include "support/make_npy.h"
#include "support/make_tar.h"
#include "support/run_loader.h"

namespace penstock {
namespace {

SourcePtr tar_of(const std::string& shard, const std::vector<std::string>& texts) {
  TarArchive tar;
  for (std::size_t i = 0; i < texts.size(); ++i) tar.add_file(std::to_string(i) + ".txt", texts[i]);
  auto store = std::make_shared<MemoryStore>();
  store->put(shard, tar.finish());
  OpenOptions options;
  options.keep_index = false;
  return *open_tar(std::move(store), {shard, shard, "tar", {shard}}, options);
}

std::string text_of(const Source& source, std::uint64_t sample) {
  const auto extent = source.extent(sample, 0);
  EXPECT_TRUE(extent);
  auto object = extent->store->open(extent->object);
  EXPECT_TRUE(object);
  std::vector<std::byte> bytes(extent->length);
  EXPECT_TRUE((*object)->read_at(extent->offset, bytes));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Both parts name their object alike: only the store tells them apart.
TEST(Mix, samples_are_read_from_the_store_of_their_part) {
  const auto mixed = mix({tar_of("a.tar", {"one", "two"}), tar_of("a.tar", {"three", "four"})}, {});
  ASSERT_TRUE(mixed) << mixed.error().describe();
  EXPECT_EQ(text_of(**mixed, 0), "one");
  EXPECT_EQ(text_of(**mixed, 1), "two");
  EXPECT_EQ(text_of(**mixed, 2), "three");
  EXPECT_EQ(text_of(**mixed, 3), "four");
  const auto chosen = subset(*mixed, {3, 0});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(text_of(**chosen, 0), "four");
  EXPECT_EQ(text_of(**chosen, 1), "one");
}

TEST(Mix, a_loader_reads_parts_that_are_in_different_stores) {
  const auto numbers = [](const std::string& name, std::int64_t first) {
    auto store = std::make_shared<MemoryStore>();
    std::vector<std::int64_t> values(10);
    std::iota(values.begin(), values.end(), first);
    store->put(name, make_npy("<i8", {10}, values));
    return *make_npy_source(std::move(store), name, name);
  };
  LoaderOptions options;
  options.batch_size = 4;
  auto loader = Loader::open(*mix({numbers("a.npy", 0), numbers("b.npy", 100)}, {}), options);
  ASSERT_TRUE(loader) << loader.error().describe();
  std::set<std::int64_t> seen;
  const EpochRun run = run_epoch(**loader);
  EXPECT_FALSE(run.error);
  for (const auto& batch : run.numbers) seen.insert(batch.begin(), batch.end());
  EXPECT_EQ(seen.size(), 20u);
  EXPECT_TRUE(seen.contains(9));
  EXPECT_TRUE(seen.contains(109));
}

TEST(Mix, storage_is_that_of_all_parts) {
  const SourcePtr first = tar_of("a.tar", {"one", "two"}), second = tar_of("b.tar", {"three"});
  const auto mixed = mix({first, second}, {});
  ASSERT_TRUE(mixed);
  const SourceStorage& storage = (*mixed)->storage();
  EXPECT_EQ(storage.stores.size(), 2u);
  EXPECT_EQ(storage.stored_bytes, first->storage().stored_bytes + second->storage().stored_bytes);
  EXPECT_EQ(storage.reads_ahead(), 0u);
  ASSERT_NE(storage.units, nullptr);
  EXPECT_EQ(storage.units->first_sample, (std::vector<std::uint64_t>{0, 2, 3}));
}

}  // namespace
}  // namespace penstock
