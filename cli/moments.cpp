#include "moments.h"

#include <algorithm>
#include <cmath>

namespace penstock::cli {

Moments Moments::of(std::span<const double> finite) {
  Moments moments;
  if (finite.empty()) return moments;
  moments.count = finite.size();
  double sum = 0;
  for (const double value : finite) {
    sum += value;
    moments.min = std::min(moments.min, value);
    moments.max = std::max(moments.max, value);
  }
  moments.mean = sum / static_cast<double>(moments.count);
  for (const double value : finite) moments.squares += (value - moments.mean) * (value - moments.mean);
  return moments;
}

void Moments::add(double value) { add(of({&value, 1})); }

void Moments::add(const Moments& other) {
  if (other.count == 0) return;
  const auto own = static_cast<double>(count), others = static_cast<double>(other.count);
  const double distance = other.mean - mean, all = own + others;
  mean += distance * others / all;
  squares += other.squares + distance * distance * own * others / all;
  count += other.count;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

double Moments::deviation() const { return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0; }

}  // namespace penstock::cli
