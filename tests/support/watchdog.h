// Turns a hang into a failure that says what hung.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

namespace penstock {

class Watchdog {
 public:
  explicit Watchdog(std::string what, std::chrono::seconds patience = std::chrono::seconds(60))
      : what_(std::move(what)),
        thread_([this, patience](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          if (!wake_.wait_for(lock, stop, patience, [] { return false; }) && !stop.stop_requested()) {
            std::fprintf(stderr, "hang: %s\n", what_.c_str());
            std::abort();
          }
        }) {}

 private:
  std::string what_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace penstock
