#define KERNEL_SET kBaselineKernels
#define KERNEL_NAME "baseline"
#include "transform/kernels/kernels.inl"
