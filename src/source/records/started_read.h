// A read in flight and its memory. Several of them can be started and then waited for one after another.
//
// Used by one thread. Destroying it cancels the read. The store must outlive it.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "base/memory/memory_block.h"
#include "store/read_answer.h"
#include "store/store.h"

namespace penstock {

class StartedRead {
 public:
  // A stop request ends the waiting, too.
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
        [state = state_](Result<ObjectBytes> answer) { state->answer.set(std::move(answer)); });
  }
  StartedRead(const StartedRead&) = delete;
  ~StartedRead() { stop_.request_stop(); }

  bool is_ready() const { return state_->answer.is_there(); }

  // Waits for the read. The bytes are borrowed from this object.
  Result<ConstBytes> wait() const {
    auto answer = state_->answer.wait_interruptibly([&] { stop_.request_stop(); });
    if (!answer) return std::unexpected(std::move(answer).error());
    return ConstBytes(answer->bytes);
  }

 private:
  struct State {
    MemoryBlock memory;  // is written by the thread of the store until there is an answer
    ReadAnswer answer;
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();  // shared with the thread of the store
  mutable std::stop_source stop_;
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace penstock
