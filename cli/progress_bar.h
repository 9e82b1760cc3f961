// A progress bar on stderr. It is silent if stderr is not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace penstock::cli {

// Not thread-safe. Draws at most ten times per second and clears its line when it is destroyed.
class ProgressBar {
 public:
  // If `total` is 0, it is unknown, and only a count is shown.
  ProgressBar(std::string label, std::uint64_t total, std::string unit);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  std::uint64_t total_;
  std::string unit_;
  bool is_on_;
  bool is_drawn_ = false;
  Clock::time_point began_ = Clock::now(), drawn_{};
};

}  // namespace penstock::cli
