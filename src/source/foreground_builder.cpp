#include "source/foreground_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include "base/checked_math.h"
#include "penstock/interruption.h"

namespace penstock {
namespace {

enum ScratchBuffer : int { kEncoded, kDecoded, kCodec };
constexpr int kMostThreads = 64;

// Of an element's bytes, read as an unsigned number of this machine: those bits that are 0 where the
// element is.
std::uint64_t bits_that_count(const ArraySpec& spec, bool swapped) {
  switch (spec.dtype) {
    // Everything but the sign, for the sake of -0.0.
    case DType::kFloat16:
    case DType::kBFloat16: return swapped ? 0xff7f : 0x7fff;
    case DType::kFloat32: return swapped ? 0xffffff7f : 0x7fffffff;
    case DType::kFloat64: return swapped ? 0xffffffffffffff7f : 0x7fffffffffffffff;
    default: return ~std::uint64_t{0};
  }
}

// Bit `first_bit` + i of `words` for element i of a row.
template <typename T>
void mark_row(const std::byte* row, std::int64_t stride, std::int64_t count, std::uint64_t counting,
              std::uint64_t* words, std::int64_t first_bit) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, row + i * stride, sizeof(T));
    const std::int64_t bit = first_bit + i;
    words[bit / 64] |= std::uint64_t{(value & static_cast<T>(counting)) != 0} << bit % 64;
  }
}

using MarkRow = void (*)(const std::byte*, std::int64_t, std::int64_t, std::uint64_t, std::uint64_t*,
                         std::int64_t);

MarkRow mark_row_of(std::size_t element_bytes) {
  switch (element_bytes) {
    case 1: return mark_row<std::uint8_t>;
    case 2: return mark_row<std::uint16_t>;
    case 4: return mark_row<std::uint32_t>;
    default: return mark_row<std::uint64_t>;
  }
}

}  // namespace

Status ForegroundBuilder::prepare() {
  const Where where{labels_.uri(), -1, -1, -1};
  const ArraySpec& spec = labels_.spec();
  const auto axes = static_cast<std::size_t>(options_.axes);
  if (options_.axes < 1 || options_.axes > 3 || axes > spec.shape.size())
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("foreground of {} axes of an array of {}; 1 to 3 are possible", options_.axes,
                            spec.shape.size()),
                where);
  if (spec.dtype == DType::kComplex64 || spec.dtype == DType::kComplex128)
    return fail(ErrorCode::kUnsupported, "labels that are complex numbers", where);
  for (std::size_t d = 0; d + axes < spec.shape.size(); ++d)
    if (spec.shape[d] != 1)
      return fail(ErrorCode::kShapeMismatch,
                  fmt::format("axis {} of the labels has {} entries; only the last {} may have more than one",
                              d, spec.shape[d], axes),
                  where);
  constexpr Axes kBlockShapes[] = {{1, 1, 4096}, {1, 64, 64}, {16, 16, 16}};
  map_.axes_ = options_.axes;
  map_.block_shape_ = kBlockShapes[axes - 1];
  map_.shape_ = {1, 1, 1};
  std::copy(spec.shape.end() - static_cast<std::ptrdiff_t>(axes), spec.shape.end(),
            map_.shape_.end() - static_cast<std::ptrdiff_t>(axes));
  std::uint64_t blocks = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    map_.blocks_[d] = map_.shape_[d] / map_.block_shape_[d] + (map_.shape_[d] % map_.block_shape_[d] != 0);
    blocks = checked_multiply(blocks, static_cast<std::uint64_t>(map_.blocks_[d])).value_or(UINT64_MAX / 16);
  }
  constexpr std::uint64_t kBytesOfBlock = sizeof(std::uint16_t) + sizeof(std::unique_ptr<Mask>);
  if (blocks > options_.map_bytes / kBytesOfBlock)
    return fail(
        ErrorCode::kTooLarge,
        fmt::format("a map of the foreground of {} blocks, {} bytes allowed", blocks, options_.map_bytes),
        where);
  map_bytes_ = blocks * kBytesOfBlock;
  map_.counts_.resize(blocks);
  map_.masks_.resize(blocks);
  counting_bits_ = bits_that_count(spec, labels_.swap_bytes());
  return {};
}

ForegroundMap::Box ForegroundBuilder::chunk_box(std::uint64_t chunk) const {
  Box box{{0, 0, 0}, {1, 1, 1}};
  const std::size_t rank = labels_.grid().size();
  for (std::size_t d = rank; d-- > 0;) {
    const auto along = static_cast<std::uint64_t>(labels_.grid()[d]);
    const std::int64_t begin = static_cast<std::int64_t>(chunk % along) * labels_.chunk_shape()[d];
    chunk /= along;
    const std::size_t behind = rank - d;  // the axes in front have one entry
    if (behind > static_cast<std::size_t>(options_.axes)) continue;
    box.begin[3 - behind] = begin;
    box.end[3 - behind] = std::min(labels_.spec().shape[d], begin + labels_.chunk_shape()[d]);
  }
  return box;
}

Result<ConstBytes> ForegroundBuilder::elements_of(std::uint64_t chunk, Scratch& scratch,
                                                  CodecWorker& worker) {
  const Store::Room room = [&](std::size_t wanted) { return scratch.get(kEncoded, wanted); };
  auto place = labels_.place(chunk);
  if (!place) return std::unexpected(place.error());
  Result<ObjectBytes> read = fail(ErrorCode::kNotFound, "no such chunk");
  if (!place->is_missing) {
    read = labels_.store().read(place->read, room);
    if (!read && read.error().code == ErrorCode::kChanged) {
      // Perhaps only the index that we know is old.
      labels_.forget_index(chunk);
      place = labels_.place(chunk);
      if (!place) return std::unexpected(place.error());
      read = labels_.store().read(place->read, room);
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

Status ForegroundBuilder::read_chunk(std::uint64_t chunk, Scratch& scratch, CodecWorker& worker) {
  const auto elements = elements_of(chunk, scratch, worker);
  if (!elements) return std::unexpected(elements.error());
  const Box box = chunk_box(chunk);
  const Shape strides_of_all = labels_.chunk_strides(chunk);
  Axes strides{};
  const auto axes = static_cast<std::ptrdiff_t>(options_.axes);
  std::copy(strides_of_all.end() - axes, strides_of_all.end(), strides.end() - axes);
  const MarkRow mark = mark_row_of(size_of(labels_.spec().dtype));
  const Axes& block_shape = map_.block_shape_;

  Axes first{}, last{};
  for (std::size_t d = 0; d < 3; ++d) {
    if (box.begin[d] >= box.end[d]) return {};
    first[d] = box.begin[d] / block_shape[d];
    last[d] = (box.end[d] - 1) / block_shape[d];
  }
  for (Axes at = first; at[0] <= last[0]; ++at[0])
    for (at[1] = first[1]; at[1] <= last[1]; ++at[1])
      for (at[2] = first[2]; at[2] <= last[2]; ++at[2]) {
        Box part = map_.block_box(at);
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
            const std::int64_t to = ((i - corner[0]) * block_shape[1] + j - corner[1]) * block_shape[2] +
                                    part.begin[2] - corner[2];
            mark(elements->data() + from, strides[2], part.end[2] - part.begin[2], counting_bits_,
                 bits.data(), to);
          }
        PENSTOCK_CHECK(enter(at, bits));
      }
  return {};
}

Status ForegroundBuilder::enter(const Axes& place, const Mask& bits) {
  int count = 0;
  for (const std::uint64_t word : bits) count += std::popcount(word);
  if (count == 0) return {};
  const std::size_t block = map_.block_at(place);
  const std::scoped_lock lock(block_mutexes_[block % block_mutexes_.size()]);
  const Box box = map_.block_box(place);
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < 3; ++d) elements *= box.end[d] - box.begin[d];
  auto& mask = map_.masks_[block];
  map_.counts_[block] = static_cast<std::uint16_t>(map_.counts_[block] + count);
  if (map_.counts_[block] == elements) {
    if (mask) map_bytes_ -= sizeof(Mask);
    mask.reset();
    return {};
  }
  if (!mask) {
    if ((map_bytes_ += sizeof(Mask)) > options_.map_bytes)
      return fail(ErrorCode::kTooLarge,
                  fmt::format("the map of the foreground takes more than {} bytes", options_.map_bytes),
                  {labels_.uri(), -1, -1, -1});
    mask = std::make_unique<Mask>(Mask{});
  }
  for (std::size_t i = 0; i < bits.size(); ++i) (*mask)[i] |= bits[i];
  return {};
}

void ForegroundBuilder::stop_with(Error error) {
  const std::scoped_lock lock(error_mutex_);
  if (!error_) error_ = std::move(error);
  stop_ = true;
}

void ForegroundBuilder::work(ScratchBudget& budget, bool tells_progress) {
  Scratch scratch(budget);
  CodecWorker worker(scratch, kCodec);
  for (std::uint64_t chunk = next_++; chunk < labels_.chunks() && !stop_; chunk = next_++) {
    auto status = read_chunk(chunk, scratch, worker);
    scratch.end_sample();
    worker.end_sample();
    if (!status) return stop_with(std::move(status).error());
    ++done_;
    if (tells_progress && options_.progress && !options_.progress(done_, labels_.chunks()))
      return stop_with(
          {ErrorCode::kStopped, "counting the foreground was stopped", {labels_.uri(), -1, -1, -1}, false});
  }
}

Result<ForegroundMap> ForegroundBuilder::run() {
  PENSTOCK_CHECK(prepare());
  // A store that answers late wants more readers than there are cores.
  const auto wanted = std::max(static_cast<std::uint64_t>(std::max(options_.threads, 1)),
                               std::uint64_t{std::min<std::size_t>(labels_.store().reads_ahead(), 16)});
  const std::uint64_t threads =
      std::min({wanted, std::uint64_t{kMostThreads}, std::max<std::uint64_t>(labels_.chunks(), 1)});
  Ledger ledger(options_.working_bytes);
  ScratchBudget budget(ledger, options_.working_bytes / 2 / threads, options_.working_bytes / 2);
  {
    std::vector<std::jthread> helpers;
    for (std::uint64_t i = 1; i < threads; ++i)
      helpers.emplace_back([&, interruption = Interruption::current()] {
        const Interruption::Scope scope(interruption);
        work(budget, false);
      });
    work(budget, true);
  }
  if (error_) return std::unexpected(std::move(*error_));
  for (const std::uint16_t count : map_.counts_) map_.total_ += count;
  return std::move(map_);
}

}  // namespace penstock
