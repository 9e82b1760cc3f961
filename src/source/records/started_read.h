// A read under way, and the memory it goes to: for who has several of them and takes one after another.
//
// Belongs to one thread; destroying it breaks the read off. The store outlives it.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "base/memory/memory_block.h"
#include "penstock/interruption.h"
#include "store/store.h"

namespace penstock {

class StartedRead {
 public:
  // `stop` ends the waiting as well.
  StartedRead(const Store& store, ObjectRead wanted, std::stop_token stop = {})
      : on_stop_(std::move(stop), [this] { stop_.request_stop(); }) {
    store.start_read(
        std::move(wanted),
        [state = state_](std::size_t size) -> Result<MutableBytes> {
          state->memory = MemoryBlock::allocate(size);
          if (state->memory.size() < size) return fail(ErrorCode::kNoMemory, "no memory to read ahead");
          return MutableBytes(state->memory.data(), size);
        },
        stop_.get_token(),
        [state = state_](Result<ObjectBytes> answer) {
          const std::lock_guard lock(state->mutex);
          state->answer = std::move(answer);
          state->came.notify_one();
        });
  }
  StartedRead(const StartedRead&) = delete;
  ~StartedRead() { stop_.request_stop(); }

  bool is_ready() const {
    const std::lock_guard lock(state_->mutex);
    return state_->answer.has_value();
  }

  // Borrowed from this.
  Result<ConstBytes> wait() const {
    std::unique_lock lock(state_->mutex);
    wait_interruptibly(
        state_->came, lock, [&] { return state_->answer.has_value(); }, [&] { stop_.request_stop(); });
    if (!*state_->answer) return std::unexpected(state_->answer->error());
    return ConstBytes((*state_->answer)->bytes);
  }

 private:
  struct State {
    MemoryBlock memory;  // until there is an answer, the store's thread has it
    std::mutex mutex;
    std::condition_variable came;
    std::optional<Result<ObjectBytes>> answer;  // guarded by mutex
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();  // the store's thread holds it too
  mutable std::stop_source stop_;
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace penstock
