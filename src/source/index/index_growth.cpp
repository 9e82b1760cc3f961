#include "source/index/index_growth.h"

#include <fmt/format.h>

#include "base/memory/opening_memory.h"

namespace penstock {

Status IndexGrowth::add_surplus(std::uint64_t bytes, std::uint64_t offset, std::uint64_t length) const {
  OpeningMemory* memory = OpeningMemory::current();
  if (memory == nullptr || memory->surplus_index().try_reserve(bytes)) return {};
  return fail(ErrorCode::kNoMemory,
              fmt::format("the index takes {} bytes up to here, for {} bytes that are stored: far more than for "
                          "any usual data, and a memory budget of {} bytes allows {} beyond the usual; give a "
                          "larger memory=",
                          taken_, stored_bytes_, memory->bytes(), memory->surplus_index().budget()),
              {path_, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length), -1});
}

}  // namespace penstock
