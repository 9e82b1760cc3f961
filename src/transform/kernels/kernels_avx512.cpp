#define KERNEL_SET kAvx512Kernels
#define KERNEL_NAME "avx512"
#include "transform/kernels/kernels.inl"
