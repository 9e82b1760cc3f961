#include "base/bytes.h"

#include <sys/mman.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace penstock {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

MemoryBlock MemoryBlock::allocate(std::size_t size) {
  MemoryBlock block;
  if (size == 0) return block;
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const bool huge = size >= kHugePage;
  const std::size_t wanted = round_up(size, page);
  // Huge pages need a 2 MiB boundary: map too much, then give the edges back.
  const std::size_t mapped = huge ? wanted + kHugePage : wanted;
  void* address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return block;
  auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (huge) {
    const std::uintptr_t aligned = round_up(begin, kHugePage);
    if (aligned > begin) munmap(address, aligned - begin);
    const std::uintptr_t end = begin + mapped;
    if (end > aligned + wanted) munmap(reinterpret_cast<void*>(aligned + wanted), end - aligned - wanted);
    begin = aligned;
    // A hint: where huge pages are switched off, small ones serve.
    madvise(reinterpret_cast<void*>(begin), wanted, MADV_HUGEPAGE);
  }
  block.data_ = reinterpret_cast<std::byte*>(begin);
  block.size_ = wanted;
  return block;
}

MemoryBlock::~MemoryBlock() {
#ifdef __SANITIZE_ADDRESS__
  if (data_ != nullptr) ASAN_UNPOISON_MEMORY_REGION(data_, size_);
#endif
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace penstock
