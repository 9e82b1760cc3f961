// Counts what a thread has on the heap, to hold what libraries allocate against what was reserved for them.
//
// Works by replacing malloc in the test program, so that every allocation of libjpeg and its like is seen.
#pragma once

#include <cstdint>

namespace penstock {

class HeapPeak {
 public:
  // Begins to count, for this thread.
  HeapPeak();
  // The most bytes that were held at once since then, beyond those that were held when it began.
  std::int64_t bytes() const;

  // False in builds whose sanitizer has a malloc of its own.
  static bool is_counted();

 private:
  std::int64_t before_;
};

}  // namespace penstock
