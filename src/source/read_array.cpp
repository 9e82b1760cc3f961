#include "source/read_array.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/numbers/load_run.h"
#include "base/memory/opening_memory.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{1} << 30;
constexpr int kStoredBuffer = 0, kDecodedBuffer = 1, kCodecBuffer = 2;  // scratch buffers

template <typename Number>
Result<std::vector<Number>> read_elements(const ChunkedArray& array, std::uint64_t max_elements) {
  const Where where{array.uri(), -1, -1, -1};
  if (array.spec().dtype >= DType::kComplex64)
    return fail(ErrorCode::kUnsupported, "complex numbers cannot be coordinates", where);
  std::uint64_t count = 1;
  for (const std::int64_t extent : array.spec().shape) {
    const auto product = checked_multiply(count, static_cast<std::uint64_t>(extent));
    if (!product || *product > max_elements)
      return fail(ErrorCode::kTooLarge, fmt::format("more than {} elements", max_elements), where);
    count = *product;
  }
  OpeningReservation reservation;
  PENSTOCK_CHECK(reservation.add(count * sizeof(Number), "a coordinate", where));
  std::vector<Number> values(count);
  Ledger unlimited(kMemory);
  Ledger& ledger = OpeningMemory::current() != nullptr ? OpeningMemory::current()->working() : unlimited;
  ScratchBudget budget(ledger, std::min(kMemory, ledger.budget()), 0);
  Scratch scratch(budget);
  CodecWorker codecs(scratch, kCodecBuffer);
  const std::size_t rank = array.spec().shape.size();
  InterruptionCheck check;
  for (std::uint64_t chunk = 0; chunk < array.chunks(); ++chunk) {
    PENSTOCK_CHECK(check_interruption(array.uri()));
    const auto location = array.location(chunk);
    if (!location) return std::unexpected(location.error());
    const auto decoded = scratch.get(kDecodedBuffer, std::max<std::size_t>(array.chunk_bytes(chunk), 1));
    if (!decoded) return std::unexpected(decoded.error());
    const MutableBytes bytes = decoded->first(array.chunk_bytes(chunk));
    bool is_missing = location->is_missing;
    if (!is_missing) {
      const auto stored = array.store().read(location->read, [&](std::size_t size) -> Result<MutableBytes> {
        const auto memory = scratch.get(kStoredBuffer, std::max<std::size_t>(size, 1));
        if (!memory) return std::unexpected(memory.error());
        return memory->first(size);
      });
      if (!stored && stored.error().code != ErrorCode::kNotFound) return std::unexpected(stored.error());
      is_missing = !stored;
      if (stored)
        if (auto status = array.decode(chunk, stored->bytes, bytes, codecs); !status) {
          status.error().where = {location->read.key, 0, static_cast<std::int64_t>(stored->bytes.size()), -1};
          return std::unexpected(std::move(status).error());
        }
    }
    if (is_missing) PENSTOCK_CHECK(array.fill_missing(chunk, bytes));
    // Coordinates are short, so the elements are converted one by one.
    Shape origin(rank), index(rank, 0);
    std::uint64_t rest = chunk;
    for (std::size_t d = rank; d-- > 0;) {
      origin[d] = static_cast<std::int64_t>(rest % static_cast<std::uint64_t>(array.grid()[d])) *
                  array.chunk_shape()[d];
      rest /= static_cast<std::uint64_t>(array.grid()[d]);
    }
    const Shape strides = array.chunk_strides(chunk);
    while (true) {
      PENSTOCK_CHECK(check(array.uri()));
      std::int64_t from = 0;
      std::uint64_t to = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        from += index[d] * strides[d];
        to = to * static_cast<std::uint64_t>(array.spec().shape[d]) +
             static_cast<std::uint64_t>(origin[d] + index[d]);
      }
      load_run(array.spec().dtype, bytes.data() + from, 0, array.swap_bytes(), &values[to], 1);
      std::size_t d = rank;
      while (d-- > 0) {
        if (++index[d] < array.chunk_shape()[d] && origin[d] + index[d] < array.spec().shape[d]) break;
        index[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) break;
    }
    scratch.end_sample();
  }
  return values;
}

}  // namespace

Result<std::vector<double>> read_numbers(const ChunkedArray& array, std::uint64_t max_elements) {
  return read_elements<double>(array, max_elements);
}

Result<std::vector<std::int64_t>> read_integers(const ChunkedArray& array, std::uint64_t max_elements) {
  return read_elements<std::int64_t>(array, max_elements);
}

}  // namespace penstock
