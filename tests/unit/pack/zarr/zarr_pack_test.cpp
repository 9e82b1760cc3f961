// Faults of the destination: an error each, nothing that can be opened, and the same bytes in the end. The values are
// compared with those of other programs in tests/python/test_pack_zarr.py.
#include "pack/zarr/zarr_pack.h"

#include <gtest/gtest.h>

#include <map>

#include "store/memory_store.h"
#include "store/store_of_uri.h"
#include "support/fault_store.h"
#include "support/make_npy.h"
#include "support/temporary_folder.h"

namespace penstock {
namespace {

using Objects = std::map<std::string, std::vector<std::byte>>;

class ZarrPackFaults : public testing::Test {
 protected:
  ZarrPackFaults() {
    std::vector<float> values(40 * 30);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97);
    source_ = open_source(folder_.write("a.npy", make_npy("<f4", {40, 30}, values))).value();
    options_.chunks = {{"0", 2}};
    options_.shard_bytes = 10 * 30 * sizeof(float);
    options_.threads = 1;
    options_.memory_bytes = 64 << 20;
  }

  Result<ZarrPackReport> pack_into(const std::shared_ptr<const Store>& store) {
    const StoreKindScope scope(StoreKind{
        {"memory"}, [&](const std::string&, const std::vector<std::string>&) -> Result<std::shared_ptr<const Store>> {
          return store;
        }});
    return pack_zarr(source_, "memory://host/z", options_);
  }

  static Objects objects_of(const MemoryStore& store) {
    Objects all;
    const auto listing = store.list("memory://host/z", {.is_recursive = true});
    if (!listing) return all;
    for (const FolderEntry& entry : *listing)
      all[entry.name] = read_all(store, "memory://host/z/" + entry.name, 1 << 20).value();
    return all;
  }

  TemporaryFolder folder_;
  SourcePtr source_;
  ZarrPackOptions options_;
};

TEST_F(ZarrPackFaults, every_failure_is_an_error_and_the_next_run_makes_the_same_bytes) {
  const auto undisturbed = std::make_shared<MemoryStore>();
  const auto counting = std::make_shared<FaultStore>(undisturbed, FaultPlan{});
  ASSERT_TRUE(pack_into(counting).has_value());
  const Objects expected = objects_of(*undisturbed);
  ASSERT_TRUE(expected.contains("zarr.json"));
  ASSERT_GE(counting->operations(), 40u);
  for (std::uint64_t at = 1; at <= counting->operations(); ++at)
    for (const bool persistent : {false, true}) {
      const auto objects = std::make_shared<MemoryStore>();
      const auto store = std::make_shared<FaultStore>(objects, FaultPlan{.fail_at = at, .persistent = persistent});
      const auto failed = pack_into(store);
      ASSERT_FALSE(failed.has_value()) << at;
      EXPECT_EQ(failed.error().code, ErrorCode::kIo) << at;
      EXPECT_FALSE(failed.error().where.uri.empty()) << at;
      const Objects left = objects_of(*objects);
      EXPECT_FALSE(left.contains("zarr.json")) << at;
      for (const auto& [name, bytes] : left) EXPECT_EQ(bytes, expected.at(name)) << name << " after a failure at " << at;
      ASSERT_TRUE(pack_into(objects).has_value()) << at;
      EXPECT_EQ(objects_of(*objects), expected) << at;
    }
}

TEST_F(ZarrPackFaults, a_shard_that_cannot_be_checked_is_not_written_again) {
  const auto objects = std::make_shared<MemoryStore>();
  ASSERT_TRUE(pack_into(objects).has_value());
  const auto store = std::make_shared<FaultStore>(
      objects, FaultPlan{.fail_at = 2, .fault = Fault::kNoAccess, .only = StoreCall::kOpen});
  const auto failed = pack_into(store);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kNoAccess);
}

TEST_F(ZarrPackFaults, stopping_leaves_shards_that_the_next_run_keeps) {
  const auto objects = std::make_shared<MemoryStore>();
  options_.progress = [](std::uint64_t, std::uint64_t) { return false; };
  const auto stopped = pack_into(objects);
  // A fast machine is done before it is asked.
  EXPECT_TRUE(stopped || stopped.error().code == ErrorCode::kStopped);
  options_.progress = nullptr;
  EXPECT_TRUE(pack_into(objects).has_value());
}

TEST_F(ZarrPackFaults, a_budget_that_is_too_small_says_how_much_is_needed) {
  options_.memory_bytes = 100'000;
  const auto failed = pack_into(std::make_shared<MemoryStore>());
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::kNoMemory);
  EXPECT_NE(failed.error().message.find("MiB"), std::string::npos) << failed.error().message;
}

}  // namespace
}  // namespace penstock
