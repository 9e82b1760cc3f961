#include "transform/scatter.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/numbers/load_run.h"
#include "transform/kernels/kernels.h"
#include "transform/store_run.h"
#include "transform/write_slot.h"

namespace penstock {
namespace {

constexpr std::int64_t kBlock = 512;  // elements; a fixed size, because this memory is outside the budget

// A run along the last axis.
struct Run {
  const std::byte* from;
  std::byte* to;
  float scale, bias;  // of Normalize, if they are constant along the run
};

// Removes axes of size 1, and merges neighbouring axes that are contiguous in memory.
void simplify(ScatterCopy& copy) {
  std::size_t rank = 0;
  int affine_axis = -1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(copy.rank); ++d) {
    const bool is_affine = copy.affine.scale != nullptr && copy.affine.axis == static_cast<int>(d);
    if (copy.count[d] == 1 && !is_affine) continue;
    const bool joins = rank > 0 && !is_affine && affine_axis != static_cast<int>(rank) - 1 &&
                       copy.from_stride[rank - 1] == copy.count[d] * copy.from_stride[d] &&
                       copy.to_stride[rank - 1] == copy.count[d] * copy.to_stride[d];
    const std::size_t target = joins ? rank - 1 : rank++;
    copy.count[target] = (joins ? copy.count[target] : 1) * copy.count[d];
    copy.from_stride[target] = copy.from_stride[d];
    copy.to_stride[target] = copy.to_stride[d];
    if (is_affine) affine_axis = static_cast<int>(target);
  }
  if (copy.affine.axis >= 0) copy.affine.axis = affine_axis;
  if (rank == 0) {
    copy.count[rank++] = 1;
    copy.from_stride[0] = static_cast<std::int64_t>(size_of(copy.from_type));
    copy.to_stride[0] = static_cast<std::int64_t>(size_of(copy.to_type));
  }
  copy.rank = static_cast<int>(rank);
}

// Moves the axis that is contiguous in the batch to the end, so that runs are written sequentially.
void put_fastest_last(ScatterCopy& copy) {
  const auto last = static_cast<std::size_t>(copy.rank - 1);
  std::size_t fastest = last;
  for (std::size_t d = 0; d <= last; ++d)
    if (std::abs(copy.to_stride[d]) < std::abs(copy.to_stride[fastest])) fastest = d;
  std::swap(copy.count[fastest], copy.count[last]);
  std::swap(copy.from_stride[fastest], copy.from_stride[last]);
  std::swap(copy.to_stride[fastest], copy.to_stride[last]);
  if (copy.affine.axis == static_cast<int>(fastest))
    copy.affine.axis = static_cast<int>(last);
  else if (copy.affine.axis == static_cast<int>(last))
    copy.affine.axis = static_cast<int>(fastest);
}

bool is_finite_float(double value) { return std::isfinite(static_cast<float>(value)); }

class Copier {
 public:
  explicit Copier(const ScatterCopy& copy)
      : copy_(copy),
        last_(static_cast<std::size_t>(copy.rank - 1)),
        count_(copy.count[last_]) {
    const auto from_item = static_cast<std::int64_t>(size_of(copy.from_type));
    const auto to_item = static_cast<std::int64_t>(size_of(copy.to_type));
    is_packed_ = copy.from_stride[last_] == from_item && copy.to_stride[last_] == to_item;
    keeps_type_ = copy.from_type == copy.to_type && copy.coding == nullptr && copy.affine.scale == nullptr;
    along_run_ = copy.affine.scale != nullptr && copy.affine.axis == copy.rank - 1;
    keeps_integers_ =
        copy.coding != nullptr && copy.coding->dtype == DType::kInt64 && copy.affine.scale == nullptr;
    if (copy.coding != nullptr) {
      scale_ = copy.coding->scale;
      offset_ = copy.coding->offset;
    }
  }

  Status run() {
    for (std::size_t d = 0; d <= last_; ++d)
      if (copy_.count[d] == 0) return {};
    // The second to last axis forms blocks of rows, unless Normalize varies along it.
    const bool in_blocks = last_ > 0 && can_go_in_blocks();
    const std::size_t outer = in_blocks ? last_ - 1 : last_;
    ArrayBox::Axes index{};
    Run run{copy_.from, copy_.to, 1, 0};
    while (true) {
      if (copy_.affine.scale != nullptr && !along_run_) {
        const auto axis = static_cast<std::size_t>(std::max(copy_.affine.axis, 0));
        const auto at = copy_.affine.axis < 0 ? std::size_t{0} : static_cast<std::size_t>(index[axis]);
        run.scale = copy_.affine.scale[at];
        run.bias = copy_.affine.bias[at];
      }
      if (in_blocks)
        copy_block(run);
      else
        PENSTOCK_CHECK(copy_run(run));
      std::size_t d = outer;
      while (d-- > 0) {
        run.from += copy_.from_stride[d];
        run.to += copy_.to_stride[d];
        if (++index[d] < copy_.count[d]) break;
        run.from -= copy_.count[d] * copy_.from_stride[d];
        run.to -= copy_.count[d] * copy_.to_stride[d];
        index[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) return {};
    }
  }

 private:
  bool can_go_in_blocks() const {
    const auto from_item = static_cast<std::int64_t>(size_of(copy_.from_type));
    const bool is_integer = copy_.from_type == DType::kUInt8 || copy_.from_type == DType::kUInt16 ||
                            copy_.from_type == DType::kInt16;
    const bool has_marks = copy_.coding != nullptr && !copy_.coding->missing.empty();
    return is_packed_ && is_integer && !has_marks && !copy_.swap_bytes && copy_.to_type == DType::kFloat32 &&
           !along_run_ && copy_.affine.axis != static_cast<int>(last_) - 1 &&
           copy_.from_stride[last_ - 1] % from_item == 0 && copy_.to_stride[last_ - 1] % 4 == 0;
  }

  void copy_block(const Run& run) const {
    const auto rows = static_cast<std::size_t>(copy_.count[last_ - 1]),
               count = static_cast<std::size_t>(count_);
    const std::ptrdiff_t out_stride = copy_.to_stride[last_ - 1] / 4;
    const std::ptrdiff_t in_stride =
        copy_.from_stride[last_ - 1] / static_cast<std::ptrdiff_t>(size_of(copy_.from_type));
    auto* out = reinterpret_cast<float*>(run.to);
    const float scale = static_cast<float>(scale_ * run.scale);
    const float bias = static_cast<float>(offset_ * run.scale + run.bias);
    const Kernels& k = kernels();
    if (copy_.from_type == DType::kUInt8)
      k.rows_u8_to_f32(reinterpret_cast<const std::uint8_t*>(run.from), in_stride, out, out_stride, rows,
                       count, scale, bias);
    else if (copy_.from_type == DType::kUInt16)
      k.rows_u16_to_f32(reinterpret_cast<const std::uint16_t*>(run.from), in_stride, out, out_stride, rows,
                        count, scale, bias);
    else
      k.rows_i16_to_f32(reinterpret_cast<const std::int16_t*>(run.from), in_stride, out, out_stride, rows,
                        count, scale, bias);
  }

  Status copy_run(const Run& run) {
    if (keeps_type_) {
      copy_as_is(run);
      return {};
    }
    if (keeps_integers_) {
      copy_integers(run);
      return {};
    }
    if (is_packed_ && copy_.to_type == DType::kFloat32 && !copy_.swap_bytes && !along_run_ && copy_fast(run))
      return {};
    return copy_slowly(run);
  }

  void copy_as_is(const Run& run) const {
    const std::size_t item = size_of(copy_.from_type);
    if (is_packed_ && !copy_.swap_bytes) {
      std::memcpy(run.to, run.from, item * static_cast<std::size_t>(count_));
      return;
    }
    const bool is_complex = copy_.from_type == DType::kComplex64 || copy_.from_type == DType::kComplex128;
    const std::size_t unit = is_complex ? item / 2 : item;
    for (std::int64_t i = 0; i < count_; ++i) {
      std::byte* at = run.to + i * copy_.to_stride[last_];
      std::memcpy(at, run.from + i * copy_.from_stride[last_], item);
      if (copy_.swap_bytes)
        for (std::size_t part = 0; part < item; part += unit) std::reverse(at + part, at + part + unit);
    }
  }

  bool copy_fast(const Run& run) const {
    const auto n = static_cast<std::size_t>(count_);
    auto* out = reinterpret_cast<float*>(run.to);
    const float scale = static_cast<float>(scale_ * run.scale);
    const float bias = static_cast<float>(offset_ * run.scale + run.bias);
    const ValueCoding* coding = copy_.coding;
    const bool is_coded =
        coding != nullptr && (!coding->missing.empty() || copy_.from_type == DType::kFloat32);
    if (is_coded && (coding->missing_is_error || coding->missing.size() > 1)) return false;
    const Kernels& k = kernels();
    switch (copy_.from_type) {
      case DType::kUInt8:
        if (is_coded) return false;
        k.rows_u8_to_f32(reinterpret_cast<const std::uint8_t*>(run.from), 0, out, 0, 1, n, scale, bias);
        return true;
      case DType::kUInt16:
        if (is_coded) return false;
        k.rows_u16_to_f32(reinterpret_cast<const std::uint16_t*>(run.from), 0, out, 0, 1, n, scale, bias);
        return true;
      case DType::kInt16:
        if (is_coded)
          k.coded_i16_to_f32(reinterpret_cast<const std::int16_t*>(run.from), out, n, scale, bias,
                             static_cast<std::int16_t>(coding->missing.front()), instead(run));
        else
          k.rows_i16_to_f32(reinterpret_cast<const std::int16_t*>(run.from), 0, out, 0, 1, n, scale, bias);
        return true;
      case DType::kFloat32:
        if (is_coded) {
          const double missing = coding->missing.empty() ? NAN : coding->missing.front();
          if (!coding->missing.empty() && !std::isnan(missing) && !is_finite_float(missing)) return false;
          k.coded_f32_to_f32(reinterpret_cast<const float*>(run.from), out, n, scale, bias,
                             static_cast<float>(missing), instead(run));
        } else {
          k.scale_f32(reinterpret_cast<const float*>(run.from), out, n, scale, bias);
        }
        return true;
      default: return false;
    }
  }

  float instead(const Run& run) const {
    return static_cast<float>(copy_.coding->instead_of_missing) * run.scale + run.bias;
  }

  // Products that exceed 64 bits wrap around, as in NumPy.
  void copy_integers(const Run& run) const {
    std::int64_t block[kBlock];
    const auto scale = static_cast<std::uint64_t>(static_cast<std::int64_t>(scale_));
    for (std::int64_t done = 0; done < count_; done += kBlock) {
      const std::int64_t step = std::min(kBlock, count_ - done);
      load_run(copy_.from_type, run.from + done * copy_.from_stride[last_], copy_.from_stride[last_],
               copy_.swap_bytes, block, step);
      for (std::int64_t i = 0; i < step; ++i)
        block[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(block[i]) * scale);
      store_run(copy_.to_type, block, run.to + done * copy_.to_stride[last_], copy_.to_stride[last_], step);
    }
  }

  Status copy_slowly(const Run& run) const {
    double block[kBlock];
    const ValueCoding* coding = copy_.coding;
    for (std::int64_t done = 0; done < count_; done += kBlock) {
      const std::int64_t step = std::min(kBlock, count_ - done);
      load_run(copy_.from_type, run.from + done * copy_.from_stride[last_], copy_.from_stride[last_],
               copy_.swap_bytes, block, step);
      for (std::int64_t i = 0; i < step; ++i) {
        double& value = block[i];
        if (coding != nullptr) {
          if (std::isnan(value) || std::ranges::find(coding->missing, value) != coding->missing.end()) {
            if (coding->missing_is_error)
              return fail(ErrorCode::kCorrupt, "a value is missing, and nan=\"error\"");
            value = coding->instead_of_missing;
          } else {
            value = value * scale_ + offset_;
          }
        }
        if (copy_.affine.scale != nullptr) {
          const auto at = static_cast<std::size_t>(done + i);
          value = value * (along_run_ ? copy_.affine.scale[at] : run.scale) +
                  (along_run_ ? copy_.affine.bias[at] : run.bias);
        }
      }
      store_run(copy_.to_type, block, run.to + done * copy_.to_stride[last_], copy_.to_stride[last_], step);
    }
    return {};
  }

  const ScatterCopy& copy_;
  const std::size_t last_;
  const std::int64_t count_;
  bool is_packed_ = false, keeps_type_ = false, along_run_ = false, keeps_integers_ = false;
  double scale_ = 1, offset_ = 0;
};

}  // namespace

Status scatter(ScatterCopy copy) {
  simplify(copy);
  put_fastest_last(copy);
  const bool keeps_type = copy.from_type == copy.to_type && copy.affine.scale == nullptr;
  const bool is_usual = copy.from_type == DType::kUInt8 || copy.from_type == DType::kUInt16 ||
                        copy.from_type == DType::kInt16 || copy.from_type == DType::kFloat32;
  if (copy.coding == nullptr && !keeps_type && !(is_usual && copy.to_type == DType::kFloat32)) {
    View from, to;
    from.data = copy.from;
    from.dtype = copy.from_type;
    from.swap_bytes = copy.swap_bytes;
    from.affine = copy.affine;
    to.dtype = copy.to_type;
    from.rank = to.rank = copy.rank;
    for (std::size_t d = 0; d < static_cast<std::size_t>(copy.rank); ++d) {
      from.shape[d] = to.shape[d] = copy.count[d];
      from.stride[d] = copy.from_stride[d];
      to.stride[d] = copy.to_stride[d];
    }
    copy_view(from, copy.to, to);
    return {};
  }
  return Copier(copy).run();
}

}  // namespace penstock
