#include "fetch/read_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <thread>

#include "source/extent.h"
#include "source/files/npy_source.h"
#include "store/memory_store.h"
#include "support/make_npy.h"

namespace penstock {
namespace {

constexpr std::uint64_t kReadBytes = 100;

ObjectRead read_of(std::uint64_t number) {
  return {.key = "object", .range = {number * kReadBytes, kReadBytes, false}, .max_bytes = kReadBytes};
}

// Answers reads when the test says so, and keeps the functions that it called.
class SlowStore final : public Store {
 public:
  StoreTraits traits() const override { return {.reads_ahead = 1, .urgent_reads = 1}; }
  void start_read(ObjectRead wanted, Allocate allocate, std::stop_token stop, Done done) const override {
    reads.push_back({std::move(wanted), std::move(allocate), std::move(stop), std::move(done)});
    if (on_start) on_start(reads.size() - 1);
  }
  Result<std::unique_ptr<Object>> open(const std::string&) const override { return unexpected_call(); }
  Result<ObjectVersion> stat(const std::string&) const override { return unexpected_call(); }
  Status list_pages(const std::string&, const ListOptions&, const TakePage&) const override {
    return unexpected_call();
  }

  void answer(std::size_t number) const {
    const Read& read = reads[number];
    const auto memory = read.allocate(read.wanted.range.length);
    ASSERT_TRUE(memory);
    read.done(ObjectBytes{*memory, read.wanted.range.offset, {}});
  }

  struct Read {
    ObjectRead wanted;
    Allocate allocate;
    std::stop_token stop;
    Done done;
  };
  mutable std::deque<Read> reads;
  std::function<void(std::size_t)> on_start;

 private:
  static std::unexpected<Error> unexpected_call() { return fail(ErrorCode::kIo, "the test does not call this"); }
};

class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() {
    auto files = std::make_shared<MemoryStore>();
    files->put("x.npy", make_npy<std::uint32_t>("<i4", {3}, {1, 2, 3}));
    source = *make_npy_source(files, "x.npy", "x.npy");
    ahead = std::make_unique<ReadAhead>(*source, std::make_shared<Area>(ledger, 4 << 20));
    ahead->start({0, 1});
  }

  std::shared_ptr<Ledger> ledger = std::make_shared<Ledger>(4 << 20);
  SlowStore store;
  SourcePtr source;
  std::unique_ptr<ReadAhead> ahead;
};

TEST_F(ReadAheadTest, what_was_read_is_handed_over_once) {
  ahead->want(0, store, {read_of(0)});
  ASSERT_EQ(store.reads.size(), 1u);
  store.answer(0);
  EXPECT_EQ(ledger->used(), kReadBytes);
  Extent extent;
  extent.object = "object";
  extent.length = kReadBytes;
  extent.shared_object = true;
  const auto got = ahead->take(0, extent);
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->bytes.size(), kReadBytes);
  EXPECT_FALSE(ahead->take(0, extent));
}

TEST_F(ReadAheadTest, a_read_is_started_when_the_one_before_it_was_answered) {
  ahead->want(0, store, {read_of(0)});
  ahead->want(1, store, {read_of(5000)});
  ASSERT_EQ(store.reads.size(), 1u);
  store.answer(0);
  ASSERT_EQ(store.reads.size(), 2u);
  store.answer(1);
}

TEST_F(ReadAheadTest, what_nobody_took_is_dropped_with_its_sample) {
  ahead->want(0, store, {read_of(0)});
  store.answer(0);
  ahead->finish(0);
  EXPECT_EQ(ledger->used(), 0u);
}

TEST_F(ReadAheadTest, memory_is_free_when_it_is_gone_even_where_the_store_still_has_its_functions) {
  ahead->want(0, store, {read_of(0)});
  store.answer(0);
  ASSERT_EQ(ledger->used(), kReadBytes);
  ahead.reset();
  EXPECT_EQ(ledger->used(), 0u);
}

TEST_F(ReadAheadTest, is_not_gone_before_an_answer_that_starts_another_read_has_returned) {
  ahead->want(0, store, {read_of(0)});
  ahead->want(1, store, {read_of(5000)});
  std::atomic<bool> starts_another = false, is_gone = false;
  bool was_gone_too_early = false;
  store.on_start = [&](std::size_t number) {
    starts_another = true;
    while (!store.reads[number].stop.stop_requested()) std::this_thread::yield();
    store.reads[number].done(fail(ErrorCode::kStopped, "stopped"));
    // Nothing is in flight now, but this call has not returned. A wrong destructor has time to end.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    while (!is_gone && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    was_gone_too_early = is_gone;
  };
  std::jthread answers([&] { store.answer(0); });
  while (!starts_another) std::this_thread::yield();
  ahead.reset();
  is_gone = true;
  answers.join();
  EXPECT_FALSE(was_gone_too_early);
}

}  // namespace
}  // namespace penstock
