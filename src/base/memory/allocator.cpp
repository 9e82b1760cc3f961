#include "base/memory/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace penstock {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

MutableBytes PageAllocator::allocate(std::size_t size) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const bool huge = size >= kHugePage;
  const std::size_t wanted = round_up(size, page);
  // Huge pages need a 2 MiB boundary, so this maps too much and then unmaps both ends.
  const std::size_t mapped = huge ? wanted + kHugePage : wanted;
  void* address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return {};
  auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (huge) {
    const std::uintptr_t aligned = round_up(begin, kHugePage);
    if (aligned > begin) munmap(address, aligned - begin);
    const std::uintptr_t end = begin + mapped;
    if (end > aligned + wanted) munmap(reinterpret_cast<void*>(aligned + wanted), end - aligned - wanted);
    begin = aligned;
    // This is a hint: where huge pages are switched off, the kernel uses small ones.
    madvise(reinterpret_cast<void*>(begin), wanted, MADV_HUGEPAGE);
  }
  return {reinterpret_cast<std::byte*>(begin), wanted};
}

void PageAllocator::free(MutableBytes block) { munmap(block.data(), block.size()); }

MutableBytes HeapAllocator::allocate(std::size_t size) {
  void* const address = ::operator new(size, std::nothrow);
  if (address == nullptr) return {};
  return {static_cast<std::byte*>(address), size};
}

void HeapAllocator::free(MutableBytes block) { ::operator delete(block.data()); }

MutableBytes SmallOnHeapAllocator::allocate(std::size_t size) {
  return (size < kLarge ? heap_allocator() : large_)->allocate(size);
}

// The heap gives exactly what is asked for, so the size of the block tells where it came from.
void SmallOnHeapAllocator::free(MutableBytes block) {
  (block.size() < kLarge ? heap_allocator() : large_)->free(block);
}

// None of the three is ever destroyed, because blocks may be freed while the process exits.

const std::shared_ptr<Allocator>& page_allocator() {
  static const auto& instance = *new std::shared_ptr<Allocator>(std::make_shared<PageAllocator>());
  return instance;
}

const std::shared_ptr<Allocator>& heap_allocator() {
  static const auto& instance = *new std::shared_ptr<Allocator>(std::make_shared<HeapAllocator>());
  return instance;
}

const std::shared_ptr<Allocator>& small_on_heap_allocator() {
  static const auto& instance =
      *new std::shared_ptr<Allocator>(std::make_shared<SmallOnHeapAllocator>(page_allocator()));
  return instance;
}

}  // namespace penstock
