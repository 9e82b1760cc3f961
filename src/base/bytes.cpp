#include "base/bytes.h"

#include <sys/mman.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace penstock {
namespace {

std::size_t page_bytes() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

MemoryBlock MemoryBlock::allocate(std::size_t size) {
  MemoryBlock block;
  if (size == 0) return block;
  const std::size_t mapped = (size + page_bytes() - 1) / page_bytes() * page_bytes();
  void* address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return block;
  block.data_ = static_cast<std::byte*>(address);
  block.size_ = mapped;
  return block;
}

void populate(MutableBytes bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()) / page_bytes() * page_bytes();
  const auto end = reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size();
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
}

MemoryBlock::~MemoryBlock() {
#ifdef __SANITIZE_ADDRESS__
  if (data_ != nullptr) ASAN_UNPOISON_MEMORY_REGION(data_, size_);
#endif
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace penstock
