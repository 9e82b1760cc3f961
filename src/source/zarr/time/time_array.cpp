#include "source/zarr/time/time_array.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "base/checked_math.h"
#include "base/limits.h"
#include "base/numbers/load_run.h"
#include "base/random.h"

namespace penstock {
namespace {

constexpr std::int64_t kBytesPerTime = 8;
constexpr std::int64_t kNaT = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t kDecodedTimes =
    0x74696d6573;  // distinguishes the fingerprint from that of the stored numbers

class TimeArray final : public ChunkedArray {
 public:
  TimeArray(ChunkedArrayPtr stored, TimeCoding coding)
      : ChunkedArray(stored->uri(), {DType::kInt64, stored->spec().shape}, stored->chunk_shape()),
        stored_(std::move(stored)),
        coding_(std::move(coding)),
        item_(static_cast<std::int64_t>(size_of(stored_->spec().dtype))) {}

  Shape chunk_strides(std::uint64_t chunk) const override {
    Shape strides = stored_->chunk_strides(chunk);
    for (std::int64_t& stride : strides) stride = stride / item_ * kBytesPerTime;
    return strides;
  }
  std::size_t chunk_bytes(std::uint64_t chunk) const override {
    return stored_->chunk_bytes(chunk) / static_cast<std::size_t>(item_) * kBytesPerTime;
  }
  bool swap_bytes() const override { return false; }

  std::optional<ObjectRead> index_read(std::uint64_t chunk) const override {
    return stored_->index_read(chunk);
  }
  Status add_index(std::uint64_t chunk, Result<ObjectBytes> answer) const override {
    return stored_->add_index(chunk, std::move(answer));
  }
  Result<ChunkLocation> location(std::uint64_t chunk) const override { return stored_->location(chunk); }
  Holder holder(std::uint64_t chunk) const override { return stored_->holder(chunk); }
  void discard_index(std::uint64_t chunk) const override { stored_->discard_index(chunk); }
  const Store& store() const override { return stored_->store(); }
  std::uint64_t fingerprint() const override { return mix64(stored_->fingerprint() ^ kDecodedTimes); }

  Status decode(std::uint64_t chunk, ConstBytes encoded, MutableBytes out,
                CodecWorker& worker) const override {
    PENSTOCK_CHECK(stored_->decode(chunk, encoded, stored_part(chunk, out), worker));
    return decode_times(chunk, out);
  }
  std::uint64_t decode_scratch_bytes() const override { return stored_->decode_scratch_bytes(); }
  Status fill_missing(std::uint64_t chunk, MutableBytes out) const override {
    PENSTOCK_CHECK(stored_->fill_missing(chunk, stored_part(chunk, out)));
    return decode_times(chunk, out);
  }

 private:
  // Stored numbers are never wider than times. They are placed at the end of the memory, so that each is read
  // before a time overwrites it.
  MutableBytes stored_part(std::uint64_t chunk, MutableBytes out) const {
    return out.last(stored_->chunk_bytes(chunk));
  }

  Status decode_times(std::uint64_t chunk, MutableBytes out) const {
    const std::byte* from = stored_part(chunk, out).data();
    const auto count = static_cast<std::int64_t>(out.size()) / kBytesPerTime;
    for (std::int64_t i = 0; i < count; ++i) {
      std::optional<std::int64_t> time;
      std::string number;
      if (coding_.counts_are_integers) {
        std::int64_t stored = 0;
        load_run(stored_->spec().dtype, from + i * item_, 0, stored_->swap_bytes(), &stored, 1);
        time = decoded(stored);
        if (!time) number = std::to_string(stored);
      } else {
        double stored = 0;
        load_run(stored_->spec().dtype, from + i * item_, 0, stored_->swap_bytes(), &stored, 1);
        time = decoded(stored);
        if (!time) number = fmt::format("{}", stored);
      }
      if (!time && is_inside(chunk, i * kBytesPerTime))
        return fail(ErrorCode::kUnsupported,
                    fmt::format("the stored time {} is none that 64 bits of nanoseconds hold (1677-09-21 to "
                                "2262-04-11); decode_cf=False gives times as they are stored",
                                number));
      const std::int64_t nanoseconds = time.value_or(kNaT);
      std::memcpy(out.data() + i * kBytesPerTime, &nanoseconds, sizeof nanoseconds);
    }
    return {};
  }

  template <typename Number>
  std::optional<std::int64_t> decoded(Number stored) const {
    if (coding_.is_missing(stored)) return kNaT;
    const auto moment = coding_.decode(stored);
    return moment ? nanoseconds_since_1970(*moment) : std::nullopt;
  }

  // Chunks at the far edges extend beyond the array, and the elements there have no meaning.
  bool is_inside(std::uint64_t chunk, std::int64_t byte) const {
    const Shape strides = chunk_strides(chunk);
    std::uint64_t rest = chunk;
    for (std::size_t d = strides.size(); d-- > 0;) {
      const auto along = static_cast<std::uint64_t>(grid()[d]);
      const std::int64_t origin = static_cast<std::int64_t>(rest % along) * chunk_shape()[d];
      rest /= along;
      if (origin + byte / strides[d] % chunk_shape()[d] >= spec().shape[d]) return false;
    }
    return true;
  }

  const ChunkedArrayPtr stored_;
  const TimeCoding coding_;
  const std::int64_t item_;
};

}  // namespace

Result<ChunkedArrayPtr> make_time_array(ChunkedArrayPtr array, const TimeCoding& coding) {
  const Where where{array->uri(), -1, -1, -1};
  const Calendar calendar = coding.units.calendar;
  if (calendar != Calendar::kStandard && calendar != Calendar::kProlepticGregorian)
    return fail(
        ErrorCode::kUnsupported,
        fmt::format("times of the calendar \"{}\" cannot be stored as nanoseconds since 1970; "
                    "decode_cf=False gives them as they are stored",
                    name_of(calendar)),
        where);
  std::uint64_t bytes = kBytesPerTime;
  for (const std::int64_t extent : array->chunk_shape()) {
    const auto product = checked_multiply(bytes, static_cast<std::uint64_t>(extent));
    if (!product || *product > Limits{}.chunk_bytes)
      return fail(
          ErrorCode::kTooLarge,
          fmt::format("a chunk of times would take more than {} bytes; decode_cf=False gives them as they "
                      "are stored",
                      Limits{}.chunk_bytes),
          where);
    bytes = *product;
  }
  return std::make_shared<const TimeArray>(std::move(array), coding);
}

}  // namespace penstock
