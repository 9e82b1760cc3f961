#include "progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "format.h"

namespace penstock::cli {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::size_t kWidth = 30;

}  // namespace

ProgressBar::ProgressBar(std::string label, std::uint64_t total, std::string unit)
    : label_(std::move(label)),
      total_(total),
      unit_(std::move(unit)),
      is_on_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (!is_drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

void ProgressBar::show(std::uint64_t done) {
  if (!is_on_) return;
  const Clock::time_point now = Clock::now();
  if (is_drawn_ && now - drawn_ < kPause) return;
  drawn_ = now;
  is_drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string line = "\r" + label_;
  if (total_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    const auto full = static_cast<std::size_t>(share * static_cast<double>(kWidth));
    line += fmt::format("  [{}{}] {:3.0f} %", std::string(full, '#'), std::string(kWidth - full, '.'),
                        share * 100);
  } else {
    line += fmt::format("  {} {}", with_commas(done), unit_);
  }
  if (rate > 0) line += fmt::format("  {} {}/s", with_commas(rate), unit_);
  const double left = rate > 0 && total_ > done ? static_cast<double>(total_ - done) / rate : 0;
  if (left >= 1)
    line +=
        left < 120 ? fmt::format("  {:.0f} s left", left) : fmt::format("  {} left", format_seconds(left));
  fmt::print(stderr, "{}\033[K", line);
  std::fflush(stderr);
}

}  // namespace penstock::cli
