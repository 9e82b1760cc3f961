#include "source/zarr/coordinate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers/half_float.h"
#include "base/text/lower_case.h"
#include "source/read_array.h"
#include "source/zarr/variable.h"

namespace penstock {

Result<ZarrArray> find_coordinate(const ZarrNode& node, const std::string& dimension,
                                  const std::string& array_name) {
  std::string group = array_name;
  while (true) {
    const auto slash = group.rfind('/');
    group.resize(slash == std::string::npos ? 0 : slash);
    auto found = node.array(group.empty() ? dimension : group + "/" + dimension);
    if (found || found.error().code != ErrorCode::kNotFound || group.empty()) return found;
  }
}

Result<Coordinate> Coordinate::read(const ZarrArray& array, std::int64_t extent) {
  const Where where{array.data->uri(), -1, -1, -1};
  const ArraySpec& spec = array.data->spec();
  if (spec.shape != Shape{extent})
    return fail(ErrorCode::kUnsupported,
                fmt::format("the coordinate {} has the shape {}, its dimension {} entries", array.name,
                            spec.shape, extent),
                where);
  if (spec.dtype == DType::kBool || spec.dtype >= DType::kComplex64)
    return fail(ErrorCode::kUnsupported,
                fmt::format("the coordinate {} is {}: only numbers and dates can be selected by value; "
                            "isel= selects by position",
                            array.name, name_of(spec.dtype)),
                where);
  Coordinate coordinate;
  coordinate.uri_ = array.data->uri();
  coordinate.size_ = extent;
  coordinate.dtype_ = spec.dtype;
  if (const auto units = array.attributes.find("units");
      units != array.attributes.end() && units->is_string())
    coordinate.units_ = units->get<std::string>();
  auto time = time_coding_of(array, &coordinate.why_not_time_);
  if (!time) return std::unexpected(std::move(time).error());
  coordinate.time_ = std::move(*time);
  if (coordinate.time_ && coordinate.time_->counts_are_integers) {
    auto integers = read_integers(*array.data, kMaxCoordinates);
    if (!integers) return std::unexpected(std::move(integers).error());
    coordinate.integers_ = std::move(*integers);
  } else {
    auto numbers = read_numbers(*array.data, kMaxCoordinates);
    if (!numbers) return std::unexpected(std::move(numbers).error());
    coordinate.numbers_ = std::move(*numbers);
    auto packing = coding_of(array, {});
    if (!packing) return std::unexpected(std::move(packing).error());
    coordinate.packing_ = std::move(*packing);
  }
  if (coordinate.time_) PENSTOCK_CHECK(coordinate.check_times());
  return coordinate;
}

// Checks that every time can be decoded later, and finds the range of all times, which determines how fractions
// are read.
Status Coordinate::check_times() {
  const TimeCoding& coding = *time_;
  const auto too_far = [&](const std::string& number) -> Status {
    return fail(ErrorCode::kUnsupported,
                fmt::format("the time {} is more than 292,000 years away from 1970", number),
                {uri_, -1, -1, -1});
  };
  if (coding.counts_are_integers) {
    for (const std::int64_t stored : integers_)
      if (!coding.is_missing(stored) && !coding.units.decode(stored)) return too_far(std::to_string(stored));
    return {};
  }
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double stored : numbers_) {
    if (coding.is_missing(stored)) continue;
    const double count = coding.packing ? stored * coding.packing->scale + coding.packing->offset : stored;
    least = std::min(least, count);
    most = std::max(most, count);
  }
  if (least > most) return {};
  time_->fractions = coding.units.fractions_for(least, most);
  for (const double count : {least, most})
    if (!coding.units.decode(count, time_->fractions)) return too_far(fmt::format("{}", count));
  return {};
}

Coordinate Coordinate::joined(std::vector<Coordinate> parts) {
  Coordinate whole;
  whole.uri_ = parts.front().uri_;
  whole.dtype_ = parts.front().dtype_;
  whole.time_ = parts.front().time_;
  whole.why_not_time_ = parts.front().why_not_time_;
  whole.packing_ = parts.front().packing_;
  whole.units_ = parts.front().units_;
  for (const Coordinate& part : parts) whole.part_ends_.push_back(whole.size_ += part.size_);
  whole.parts_ = std::move(parts);
  return whole;
}

const Coordinate& Coordinate::part_of(std::int64_t& index) const {
  const auto end = std::ranges::upper_bound(part_ends_, index);
  const Coordinate& part = parts_[static_cast<std::size_t>(end - part_ends_.begin())];
  index -= *end - part.size_;
  return part;
}

std::optional<Moment> Coordinate::moment(std::int64_t index) const {
  if (!parts_.empty()) return part_of(index).moment(index);
  const auto position = static_cast<std::size_t>(index);
  return time_->counts_are_integers ? time_->decode(integers_[position]) : time_->decode(numbers_[position]);
}

double Coordinate::value(std::int64_t index) const {
  if (!parts_.empty()) return part_of(index).value(index);
  const double stored = numbers_[static_cast<std::size_t>(index)];
  if (!packing_) return stored;
  const bool is_missing = std::ranges::find(packing_->missing, stored) != packing_->missing.end();
  return is_missing ? std::numeric_limits<double>::quiet_NaN() : stored * packing_->scale + packing_->offset;
}

bool Coordinate::is_numpy_time() const {
  if (!is_time() || (calendar() != Calendar::kStandard && calendar() != Calendar::kProlepticGregorian))
    return false;
  for (std::int64_t i = 0; i < size_; ++i)
    if (const auto found = moment(i); found && !nanoseconds_since_1970(*found)) return false;
  return true;
}

double Coordinate::rounded(double number) const {
  if (packing_) return number;  // xarray decodes packed values to float64; all others keep their stored type
  if (dtype_ == DType::kFloat32) return static_cast<float>(number);
  if (dtype_ == DType::kFloat16) return half_to_double(double_to_half(number));
  return number;
}

bool Coordinate::is_circle() const {
  if (is_time() || size_ < 3) return false;
  const std::string units = lower_case(units_);
  if (!units.empty() && !units.starts_with("degree")) return false;
  const double width = value(size_ - 1) - value(0), step = width / static_cast<double>(size_ - 1);
  const double tolerance = 0.01 * step;
  if (!(step > 0)) return false;
  for (std::int64_t i = 0; i < size_; ++i)
    if (!(std::abs(value(i) - value(0) - step * static_cast<double>(i)) <= tolerance)) return false;
  return std::abs(width + step - 360) <= tolerance || std::abs(width - 360) <= tolerance;
}

bool Coordinate::repeats_first() const {
  const double width = value(size_ - 1) - value(0);
  return std::abs(width - 360) <= 0.01 * width / static_cast<double>(size_ - 1);
}

std::string Coordinate::text(std::int64_t index) const {
  if (!is_time() && dtype_ == DType::kFloat32 && !packing_)
    return fmt::format("{}", static_cast<float>(value(index)));
  if (!is_time()) return fmt::format("{}", value(index));
  const auto found = moment(index);
  return found ? to_text(calendar(), *found) : "NaT";
}

Result<const Coordinate*> Coordinates::of(const std::string& dimension, const std::string& array_name,
                                          std::int64_t extent) {
  if (const auto joined = joined_.find(dimension); joined != joined_.end() && joined->second.size() == extent)
    return &joined->second;
  auto array = find_coordinate(*nodes_.front(), dimension, array_name);
  for (std::size_t i = 1; i < nodes_.size() && !array && array.error().code == ErrorCode::kNotFound; ++i)
    array = find_coordinate(*nodes_[i], dimension, array_name);
  if (!array) return std::unexpected(array.error());
  if (const auto found = read_.find(array->name); found != read_.end() && found->second.size() == extent)
    return &found->second;
  auto coordinate = Coordinate::read(*array, extent);
  if (!coordinate) return std::unexpected(std::move(coordinate).error());
  return &read_.insert_or_assign(array->name, std::move(*coordinate)).first->second;
}

}  // namespace penstock
