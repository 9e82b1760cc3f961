#include "transform/kernels/kernels.h"

namespace penstock {

extern const Kernels kBaselineKernels;
#ifdef PENSTOCK_X86_KERNELS
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

std::size_t runnable_kernels(const Kernels* (&out)[3]) {
  std::size_t count = 0;
  out[count++] = &kBaselineKernels;
#ifdef PENSTOCK_X86_KERNELS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) out[count++] = &kAvx2Kernels;
  if (count == 2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    out[count++] = &kAvx512Kernels;
#endif
  return count;
}

const Kernels& kernels() {
  static const Kernels* const best = [] {
    const Kernels* sets[3];
    return sets[runnable_kernels(sets) - 1];
  }();
  return *best;
}

}  // namespace penstock
