#include "source/volume/label_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/first_error.h"
#include "base/guarded.h"
#include "base/memory/scratch.h"
#include "base/memory/opening_memory.h"
#include "penstock/interruption.h"
#include "source/zarr/metadata/fill_value.h"

namespace penstock {
namespace {

using Axes = VoxelSet::Axes;
using Box = VoxelSet::Box;
using Mask = VoxelSet::Mask;

enum ScratchBuffer : int { kEncoded, kDecoded, kCodec };
constexpr int kMaxThreads = 64;

// An element belongs to the set if ((element & bits) == pattern) == equal, where the stored bytes of the element
// are read as an unsigned number in native byte order.
struct Criterion {
  std::uint64_t bits = ~std::uint64_t{0}, pattern = 0;
  bool equal = false;
};

// All bits except the sign of floating-point numbers, since -0.0 equals 0.
std::uint64_t bits_of_zero(DType dtype, bool swapped) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16: return swapped ? 0xff7f : 0x7fff;
    case DType::kFloat32: return swapped ? 0xffffff7f : 0x7fffffff;
    case DType::kFloat64: return swapped ? 0xffffffffffffff7f : 0x7fffffffffffffff;
    default: return ~std::uint64_t{0};
  }
}

// nullopt: the type cannot represent the value.
std::optional<Criterion> has_value(std::int64_t value, DType dtype, bool swapped) {
  if (value == 0) return Criterion{bits_of_zero(dtype, swapped), 0, true};
  const nlohmann::json number =
      dtype == DType::kBool && value == 1 ? nlohmann::json(true) : nlohmann::json(value);
  const auto element = read_fill_value(&number, dtype, 3, "");
  if (!element) return std::nullopt;
  const auto stored = fill_value_number(&number, *element, dtype);
  if (!stored || *stored != static_cast<double>(value)) return std::nullopt;
  std::array<std::byte, 8> bytes{};
  fill_elements(*element, dtype, swapped, MutableBytes(bytes).first(size_of(dtype)));
  Criterion criterion{~std::uint64_t{0}, 0, true};
  std::memcpy(&criterion.pattern, bytes.data(), size_of(dtype));
  return criterion;
}

// Sets bit `first_bit` + i of `words` if element i of a row is in the set.
template <typename T>
void mark_row(const std::byte* row, std::int64_t stride, std::int64_t count, const Criterion& criterion,
              std::uint64_t* words, std::int64_t first_bit) {
  const auto bits = static_cast<T>(criterion.bits), pattern = static_cast<T>(criterion.pattern);
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, row + i * stride, sizeof(T));
    const std::int64_t bit = first_bit + i;
    const bool is_in = (static_cast<T>(value & bits) == pattern) == criterion.equal;
    words[bit / 64] |= std::uint64_t{is_in} << bit % 64;
  }
}

using MarkRow = void (*)(const std::byte*, std::int64_t, std::int64_t, const Criterion&, std::uint64_t*,
                         std::int64_t);

MarkRow mark_row_of(std::size_t element_bytes) {
  switch (element_bytes) {
    case 1: return mark_row<std::uint8_t>;
    case 2: return mark_row<std::uint16_t>;
    case 4: return mark_row<std::uint32_t>;
    default: return mark_row<std::uint64_t>;
  }
}

class LabelScan {
 public:
  // Borrows all arguments.
  LabelScan(const ChunkedArray& labels, SetMemory& memory, const LabelScanOptions& options)
      : labels_(labels),
        memory_(memory),
        options_(options) {}

  // A nullopt criterion is one that no element can meet.
  Result<std::vector<VoxelSet>> run(std::vector<std::optional<Criterion>> criteria);

 private:
  Status prepare();
  // Runs until there are no more chunks or a thread has failed.
  void work(ScratchBudget& budget, bool tells_progress);
  Status read_chunk(std::uint64_t chunk, Scratch& scratch, CodecWorker& worker);
  Result<ConstBytes> elements_of(std::uint64_t chunk, Scratch& scratch, CodecWorker& worker);
  Box chunk_box(std::uint64_t chunk) const;
  void stop_with(Error error);

  const ChunkedArray& labels_;
  SetMemory& memory_;
  const LabelScanOptions& options_;
  std::vector<std::optional<Criterion>> criteria_;
  std::vector<VoxelSet> sets_;

  std::atomic<std::uint64_t> next_{0}, done_{0};
  std::atomic<bool> stop_{false};
  FirstError error_;
  // Chunks that different threads decode may share a block.
  std::array<Mutex, 64> block_mutexes_;
};

Status LabelScan::prepare() {
  const Where where{labels_.uri(), -1, -1, -1};
  const ArraySpec& spec = labels_.spec();
  const auto axes = static_cast<std::size_t>(options_.axes);
  if (options_.axes < 1 || options_.axes > 3 || axes > spec.shape.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("foreground, classes or a mask along {} axes of an array of {}; 1 to 3 are possible",
                            options_.axes, spec.shape.size()),
                where);
  if (spec.dtype == DType::kComplex64 || spec.dtype == DType::kComplex128)
    return fail(ErrorCode::kUnsupported, "labels that are complex numbers", where);
  for (std::size_t d = 0; d + axes < spec.shape.size(); ++d)
    if (spec.shape[d] != 1)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("axis {} of the labels has {} entries; only the last {} may have more than one",
                              d, spec.shape[d], axes),
                  where);
  const Shape shape(spec.shape.end() - static_cast<std::ptrdiff_t>(axes), spec.shape.end());
  for (std::size_t i = 0; i < criteria_.size(); ++i) {
    auto set = VoxelSet::make_empty(shape, memory_, labels_.uri());
    if (!set) return std::unexpected(std::move(set).error());
    sets_.push_back(std::move(*set));
  }
  return {};
}

Box LabelScan::chunk_box(std::uint64_t chunk) const {
  Box box{{0, 0, 0}, {1, 1, 1}};
  const std::size_t rank = labels_.grid().size();
  for (std::size_t d = rank; d-- > 0;) {
    const auto along = static_cast<std::uint64_t>(labels_.grid()[d]);
    const std::int64_t begin = static_cast<std::int64_t>(chunk % along) * labels_.chunk_shape()[d];
    chunk /= along;
    const std::size_t behind = rank - d;  // the axes before these have one entry
    if (behind > static_cast<std::size_t>(options_.axes)) continue;
    box.begin[3 - behind] = begin;
    box.end[3 - behind] = std::min(labels_.spec().shape[d], begin + labels_.chunk_shape()[d]);
  }
  return box;
}

Result<ConstBytes> LabelScan::elements_of(std::uint64_t chunk, Scratch& scratch,
                                                  CodecWorker& worker) {
  const Store::Allocate allocate = [&](std::size_t wanted) { return scratch.get(kEncoded, wanted); };
  auto location = labels_.location(chunk);
  if (!location) return std::unexpected(location.error());
  Result<ObjectBytes> read = fail(ErrorCode::kNotFound, "no such chunk");
  if (!location->is_missing) {
    read = labels_.store().read(location->read, allocate);
    if (!read && read.error().code == ErrorCode::kChanged) {
      // The shard may have been rewritten since its index was read.
      labels_.discard_index(chunk);
      location = labels_.location(chunk);
      if (!location) return std::unexpected(location.error());
      read = labels_.store().read(location->read, allocate);
    }
    if (!read && read.error().code != ErrorCode::kNotFound) return std::unexpected(read.error());
  }
  const std::size_t bytes = labels_.chunk_bytes(chunk);
  if (read && labels_.is_plain() && read->bytes.size() == bytes) return ConstBytes(read->bytes);
  const auto decoded = scratch.get(kDecoded, bytes);
  if (!decoded) return std::unexpected(decoded.error());
  if (read)
    PENSTOCK_CHECK(labels_.decode(chunk, read->bytes, *decoded, worker));
  else
    PENSTOCK_CHECK(labels_.fill_missing(chunk, *decoded));
  return ConstBytes(*decoded);
}

Status LabelScan::read_chunk(std::uint64_t chunk, Scratch& scratch, CodecWorker& worker) {
  const auto elements = elements_of(chunk, scratch, worker);
  if (!elements) return std::unexpected(elements.error());
  const Box box = chunk_box(chunk);
  const Shape strides_of_all = labels_.chunk_strides(chunk);
  Axes strides{};
  const auto axes = static_cast<std::ptrdiff_t>(options_.axes);
  std::copy(strides_of_all.end() - axes, strides_of_all.end(), strides.end() - axes);
  const MarkRow mark = mark_row_of(size_of(labels_.spec().dtype));
  const Axes& block_shape = sets_.front().block_shape();

  Axes first{}, last{};
  for (std::size_t d = 0; d < 3; ++d) {
    if (box.begin[d] >= box.end[d]) return {};
    first[d] = box.begin[d] / block_shape[d];
    last[d] = (box.end[d] - 1) / block_shape[d];
  }
  const auto add_block = [&](const Axes& at, VoxelSet& set, const Criterion& criterion) -> Status {
    Box part = set.block_box(at);
    const Axes corner = part.begin;
    for (std::size_t d = 0; d < 3; ++d) {
      part.begin[d] = std::max(part.begin[d], box.begin[d]);
      part.end[d] = std::min(part.end[d], box.end[d]);
    }
    Mask bits{};
    for (std::int64_t i = part.begin[0]; i < part.end[0]; ++i)
      for (std::int64_t j = part.begin[1]; j < part.end[1]; ++j) {
        const std::int64_t from = (i - box.begin[0]) * strides[0] + (j - box.begin[1]) * strides[1] +
                                  (part.begin[2] - box.begin[2]) * strides[2];
        const std::int64_t to =
            ((i - corner[0]) * block_shape[1] + j - corner[1]) * block_shape[2] + part.begin[2] - corner[2];
        mark(elements->data() + from, strides[2], part.end[2] - part.begin[2], criterion, bits.data(), to);
      }
    const MutexLock lock(block_mutexes_[set.block_number(at) % block_mutexes_.size()]);
    return set.add(at, bits, memory_, labels_.uri());
  };
  for (Axes at = first; at[0] <= last[0]; ++at[0])
    for (at[1] = first[1]; at[1] <= last[1]; ++at[1])
      for (at[2] = first[2]; at[2] <= last[2]; ++at[2])
        for (std::size_t i = 0; i < sets_.size(); ++i)
          if (criteria_[i]) PENSTOCK_CHECK(add_block(at, sets_[i], *criteria_[i]));
  return {};
}

void LabelScan::stop_with(Error error) {
  error_.report(std::move(error));
  stop_ = true;
}

void LabelScan::work(ScratchBudget& budget, bool tells_progress) {
  Scratch scratch(budget);
  CodecWorker worker(scratch, kCodec);
  for (std::uint64_t chunk = next_++; chunk < labels_.chunks() && !stop_; chunk = next_++) {
    Status status = check_interruption(labels_.uri());
    if (status) status = read_chunk(chunk, scratch, worker);
    scratch.end_sample();
    worker.end_sample();
    if (!status) return stop_with(std::move(status).error());
    ++done_;
    if (tells_progress && options_.progress && !options_.progress(done_, labels_.chunks()))
      return stop_with(
          {ErrorCode::kStopped, "reading the labels was stopped", {labels_.uri(), -1, -1, -1}, false});
  }
}

Result<std::vector<VoxelSet>> LabelScan::run(std::vector<std::optional<Criterion>> criteria) {
  criteria_ = std::move(criteria);
  PENSTOCK_CHECK(prepare());
  // A slow store needs more readers than there are cores.
  const auto wanted = std::max(static_cast<std::uint64_t>(std::max(options_.threads, 1)),
                               std::uint64_t{std::min<std::size_t>(labels_.store().reads_ahead(), 16)});
  const std::uint64_t threads =
      std::min({wanted, std::uint64_t{kMaxThreads}, std::max<std::uint64_t>(labels_.chunks(), 1)});
  // The other half of the memory budget of opening is reserved for the sets.
  const std::uint64_t working_bytes =
      std::min(options_.working_bytes, OpeningMemory::at_most(UINT64_MAX) / 2);
  OpeningReservation reservation;
  PENSTOCK_CHECK(reservation.add(working_bytes, "looking through labels", {labels_.uri(), -1, -1, -1}));
  Ledger ledger(working_bytes);
  ScratchBudget budget(ledger, working_bytes / 2 / threads, working_bytes / 2);
  {
    std::vector<std::jthread> helpers;
    for (std::uint64_t i = 1; i < threads; ++i)
      helpers.emplace_back([&, interruption = Interruption::current()] {
        const Interruption::Scope scope(interruption);
        work(budget, false);
      });
    work(budget, true);
  }
  PENSTOCK_CHECK(error_.status());
  return std::move(sets_);
}

}  // namespace

Result<VoxelSet> voxels_not_zero(const ChunkedArray& labels, SetMemory& memory,
                                 const LabelScanOptions& options) {
  const Criterion not_zero{bits_of_zero(labels.spec().dtype, labels.swap_bytes()), 0, false};
  auto sets = LabelScan(labels, memory, options).run({not_zero});
  if (!sets) return std::unexpected(std::move(sets).error());
  return std::move(sets->front());
}

Result<std::vector<VoxelSet>> voxels_by_value(const ChunkedArray& labels,
                                              const std::vector<std::int64_t>& values, SetMemory& memory,
                                              const LabelScanOptions& options) {
  std::vector<std::optional<Criterion>> criteria;
  for (const std::int64_t value : values)
    criteria.push_back(has_value(value, labels.spec().dtype, labels.swap_bytes()));
  return LabelScan(labels, memory, options).run(std::move(criteria));
}

}  // namespace penstock
