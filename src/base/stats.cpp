#include "base/stats.h"

namespace penstock {

std::string_view name_of(Stage stage) {
  static constexpr std::array<std::string_view, kStages> kNames = {"read", "decode", "transform", "collate",
                                                                   "deliver"};
  return kNames[static_cast<std::size_t>(stage)];
}

StageStats StageCounters::read() const {
  return {static_cast<double>(nanoseconds.get()) * 1e-9, items.get(), bytes.get(),
          static_cast<double>(wait_nanoseconds.get()) * 1e-9};
}

std::array<StageStats, kStages>& operator+=(std::array<StageStats, kStages>& a,
                                            const std::array<StageStats, kStages>& b) {
  for (std::size_t i = 0; i < kStages; ++i) {
    a[i].seconds += b[i].seconds;
    a[i].items += b[i].items;
    a[i].bytes += b[i].bytes;
    a[i].wait_seconds += b[i].wait_seconds;
  }
  return a;
}

std::array<StageStats, kStages> operator-(std::array<StageStats, kStages> a,
                                          const std::array<StageStats, kStages>& b) {
  for (std::size_t i = 0; i < kStages; ++i) {
    a[i].seconds -= b[i].seconds;
    a[i].items -= b[i].items;
    a[i].bytes -= b[i].bytes;
    a[i].wait_seconds -= b[i].wait_seconds;
  }
  return a;
}

}  // namespace penstock
