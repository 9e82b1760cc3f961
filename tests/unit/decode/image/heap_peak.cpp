#include "heap_peak.h"

#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

// A sanitizer has an allocator of its own. gcc says so by a macro, clang by a feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PENSTOCK_IS_SANITIZED
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(PENSTOCK_IS_SANITIZED)
#define PENSTOCK_COUNTS_HEAP
#endif

namespace penstock {
namespace {

thread_local std::int64_t held = 0, most = 0;

}  // namespace

HeapPeak::HeapPeak() : before_(held) { most = held; }
std::int64_t HeapPeak::bytes() const { return most - before_; }

#ifdef PENSTOCK_COUNTS_HEAP
bool HeapPeak::is_counted() { return true; }

namespace {

void* counted(void* memory) {
  held += static_cast<std::int64_t>(malloc_usable_size(memory));
  most = std::max(most, held);
  return memory;
}
void uncount(void* memory) { held -= static_cast<std::int64_t>(malloc_usable_size(memory)); }

}  // namespace
#else
bool HeapPeak::is_counted() { return false; }
#endif

}  // namespace penstock

#ifdef PENSTOCK_COUNTS_HEAP

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) { return penstock::counted(__libc_malloc(size)); }
void* calloc(std::size_t count, std::size_t size) { return penstock::counted(__libc_calloc(count, size)); }
void* realloc(void* old, std::size_t size) {
  penstock::uncount(old);
  return penstock::counted(__libc_realloc(old, size));
}
void* memalign(std::size_t alignment, std::size_t size) {
  return penstock::counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  penstock::uncount(memory);
  __libc_free(memory);
}

}  // extern "C"

#endif
