#define KERNEL_SET kAvx2Kernels
#define KERNEL_NAME "avx2"
#include "transform/kernels/kernels.inl"
