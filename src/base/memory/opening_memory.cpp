#include "base/memory/opening_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.h"

namespace penstock {
namespace {

// The surplus index may use one part in this many of the memory, in addition to it.
constexpr std::uint64_t kShareOfSurplusIndex = 16;

}  // namespace

OpeningMemory::OpeningMemory(std::uint64_t bytes)
    : working_(bytes ? bytes : default_memory_bytes(1)),
      surplus_index_(working_.budget() / kShareOfSurplusIndex) {}

std::uint64_t OpeningMemory::at_most(std::uint64_t otherwise) {
  return current() != nullptr ? std::min(current()->bytes(), otherwise) : otherwise;
}

OpeningReservation::~OpeningReservation() {
  if (memory_ != nullptr) memory_->working().release(bytes_);
}

Status OpeningReservation::add(std::uint64_t bytes, std::string_view what, const Where& where) {
  if (memory_ == nullptr) memory_ = OpeningMemory::current();
  if (memory_ == nullptr) return {};
  if (!memory_->working().try_reserve(bytes))
    return fail(ErrorCode::kNoMemory,
                fmt::format("{} takes {} bytes while the source is opened, of a memory budget of {} bytes, of "
                            "which {} are in use; give a larger memory=",
                            what, bytes, memory_->bytes(), memory_->working().used()),
                where);
  bytes_ += bytes;
  return {};
}

}  // namespace penstock
