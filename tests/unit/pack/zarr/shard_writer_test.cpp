#include "pack/zarr/shard_writer.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "store/memory_store.h"
#include "support/fault_store.h"
#include "support/text_bytes.h"

namespace penstock {
namespace {

std::vector<std::byte> shard_of(const Store& store) { return read_all(store, "shard", 1 << 20).value(); }

std::vector<std::byte> write_with(unsigned threads) {
  MemoryStore store;
  ShardWriter writer(*store.create("shard"), 50, 40);
  std::vector<std::jthread> crew;
  for (unsigned thread = 0; thread < threads; ++thread)
    crew.emplace_back([&, thread] {
      for (std::uint64_t chunk = thread; chunk < 40; chunk += threads) {
        const auto bytes = bytes_of(chunk % 7 == 3 ? "" : "chunk " + std::to_string(chunk));
        EXPECT_TRUE(writer.add(chunk, bytes));
      }
    });
  crew.clear();
  return shard_of(store);
}

TEST(ShardWriter, the_bytes_do_not_depend_on_threads) {
  const auto expected = write_with(1);
  EXPECT_EQ(expected.size(), 263u + 50 * 16 + 4) << "chunks, the index and its checksum";
  for (const unsigned threads : {2u, 3u, 8u}) EXPECT_EQ(write_with(threads), expected);
}

TEST(ShardWriter, nothing_is_visible_before_the_last_chunk) {
  MemoryStore store;
  {
    ShardWriter writer(*store.create("shard"), 3, 3);
    EXPECT_TRUE(writer.add(0, bytes_of("a")));
    EXPECT_TRUE(writer.add(1, {}));
    EXPECT_EQ(store.stat("shard").error().code, ErrorCode::kNotFound);
  }
  EXPECT_EQ(store.stat("shard").error().code, ErrorCode::kNotFound);
}

TEST(ShardWriter, a_thread_that_gives_up_wakes_the_others) {
  MemoryStore store;
  ShardWriter writer(*store.create("shard"), 3, 3);
  std::jthread waits([&] { EXPECT_TRUE(writer.add(2, bytes_of("c"))); });
  EXPECT_TRUE(writer.add(0, bytes_of("a")));
  writer.give_up();
  waits.join();
  EXPECT_EQ(store.stat("shard").error().code, ErrorCode::kNotFound);
}

TEST(ShardWriter, a_write_that_fails_is_returned_once_and_leaves_no_object) {
  for (std::uint64_t at = 1; at <= 6; ++at) {
    const auto objects = std::make_shared<MemoryStore>();
    const FaultStore store(objects, {.fail_at = at});
    auto object = store.create("shard");
    if (!object) continue;
    ShardWriter writer(std::move(*object), 3, 3);
    int failures = 0;
    for (std::uint64_t chunk = 0; chunk < 3; ++chunk) failures += !writer.add(chunk, bytes_of("abc"));
    const bool is_hit = store.faults() > 0;
    EXPECT_EQ(failures, is_hit ? 1 : 0) << at;
    EXPECT_EQ(objects->stat("shard").has_value(), !is_hit) << at;
  }
}

}  // namespace
}  // namespace penstock
