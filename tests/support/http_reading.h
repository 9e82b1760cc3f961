// Reading from an HttpServer with few and quick retries, so that tests of faults are short.
#pragma once

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stop_token>

#include "store/http/http_store.h"
#include "support/http_server.h"

namespace penstock {

inline HttpOptions impatient() {
  HttpOptions options;
  options.stall_after = std::chrono::milliseconds(20'000);
  options.hedge_after = std::chrono::milliseconds(0);
  options.retry.first_delay = std::chrono::milliseconds(1);
  options.retry.longest_delay = std::chrono::milliseconds(10);
  options.retry.longest_wish = std::chrono::milliseconds(50);
  options.retry.give_up_after = std::chrono::milliseconds(20'000);
  options.retry.max_tries = 4;
  return options;
}

// For servers that stall. A busy machine looks like one, so there are many tries.
inline HttpOptions easily_bored() {
  HttpOptions options = impatient();
  options.stall_after = std::chrono::milliseconds(300);
  options.retry.max_tries = 100;
  return options;
}

inline std::string counted_text(std::size_t size, std::uint64_t seed = 0) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 7 + i / 251 + seed * 31) % 256);
  return text;
}

struct TextRead {
  std::string text;
  std::uint64_t offset = 0;
  ObjectVersion version;
};

// Rooms asked for are counted in `rooms` where given.
inline Result<TextRead> read_text(const Store& store, ObjectRead wanted, int* rooms = nullptr) {
  std::string memory;
  const auto read = store.read(wanted, [&](std::size_t size) -> Result<MutableBytes> {
    if (rooms != nullptr) ++*rooms;
    memory.assign(size, '?');
    return MutableBytes(reinterpret_cast<std::byte*>(memory.data()), memory.size());
  });
  if (!read) return std::unexpected(read.error());
  return TextRead{std::string(reinterpret_cast<const char*>(read->bytes.data()), read->bytes.size()),
                  read->offset, read->version};
}

// Started reads whose answers are kept, whatever the order.
class StartedReads {
 public:
  void start(const Store& store, ObjectRead wanted, std::stop_token stop = {}) {
    auto memory = std::make_shared<std::string>();
    std::size_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      index = answers_.size();
      answers_.emplace_back();
    }
    store.start_read(
        std::move(wanted),
        [memory](std::size_t size) -> Result<MutableBytes> {
          memory->assign(size, '?');
          return MutableBytes(reinterpret_cast<std::byte*>(memory->data()), size);
        },
        std::move(stop),
        [this, memory, index](Result<ObjectBytes> result) {
          const std::lock_guard lock(mutex_);
          ++calls_;
          if (result)
            answers_[index] =
                std::string(reinterpret_cast<const char*>(result->bytes.data()), result->bytes.size());
          else
            answers_[index] = std::unexpected(std::move(result).error());
          changed_.notify_all();
        });
  }

  // All that were started.
  std::vector<Result<std::string>> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return calls_ == answers_.size(); });
    return answers_;
  }
  std::size_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Result<std::string>> answers_;
  std::size_t calls_ = 0;
};

}  // namespace penstock
