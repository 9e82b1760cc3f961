// The coordinate of a dimension, decoded as xarray decodes it: what `select` compares with, and what tells
// gaps in time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "source/zarr/time/time_coding.h"
#include "source/zarr/metadata/zarr_node.h"

namespace penstock {

// More entries than this are not read: they would take 800 MB.
constexpr std::uint64_t kMaxCoordinates = 100'000'000;

// The array that has the dimension's name: in the group of the array `array_name`, or in one above it.
// kNotFound where there is none.
Result<ZarrArray> find_coordinate(const ZarrNode& node, const std::string& dimension,
                                  const std::string& array_name);

// Either numbers or times. The stored numbers are kept, 8 bytes each, and decoded when they are asked for.
class Coordinate {
 public:
  // Reads all of it. Fails where it has not one axis of `extent` entries, is bool or complex, or holds times
  // too far away to be counted.
  static Result<Coordinate> read(const ZarrArray& array, std::int64_t extent);

  // One after another, as one coordinate. At least one; all are numbers, or times of one calendar.
  static Coordinate joined(std::vector<Coordinate> parts);

  std::int64_t size() const { return size_; }
  const std::string& uri() const { return uri_; }
  DType dtype() const { return dtype_; }  // as stored

  bool is_time() const { return time_.has_value(); }
  const std::string& why_not_time() const { return why_not_time_; }
  Calendar calendar() const { return time_->units.calendar; }
  // Of a time; nothing: the value is missing.
  std::optional<Moment> moment(std::int64_t index) const;

  // Of a number, with scale_factor, add_offset and _FillValue applied; NaN: missing.
  double value(std::int64_t index) const;
  // Is xarray's coordinate a numpy.datetime64[ns]? Else it has cftime's dates.
  bool is_numpy_time() const;
  // The value that a number has in the type of the coordinate: 0.1 is another number in float32.
  double rounded(double number) const;

  // Do the entries go around the whole circle of 360 degrees in equal steps?
  bool is_circle() const;
  // Of a circle: is the last entry the first once more (0 and 360 degrees)?
  bool repeats_first() const;

  // "30.5" or "2019-03-01T00:00:00", for messages.
  std::string text(std::int64_t index) const;

 private:
  Coordinate() = default;
  Status check_times();
  // The part that the entry is in, whose number there the index becomes.
  const Coordinate& part_of(std::int64_t& index) const;

  std::string uri_;
  std::int64_t size_ = 0;
  DType dtype_ = DType::kFloat64;
  std::vector<double> numbers_;         // one of the two
  std::vector<std::int64_t> integers_;  // times that are counted in integers
  std::optional<TimeCoding> time_;
  std::string why_not_time_;
  std::shared_ptr<const ValueCoding> packing_;
  std::string units_;
  std::vector<Coordinate> parts_;        // of a joined one, which has no numbers of its own
  std::vector<std::int64_t> part_ends_;  // of each part: the entries up to it
};

// The coordinates of the arrays below a node, each read once. Must not outlive the nodes.
class Coordinates {
 public:
  explicit Coordinates(const ZarrNode& node) : nodes_{&node} {}
  // Of several stores: what the first does not have is looked for in the next.
  explicit Coordinates(std::vector<const ZarrNode*> nodes) : nodes_(std::move(nodes)) {}
  Coordinates(const Coordinates&) = delete;

  // From now on the coordinate of this dimension, whichever array is asked for.
  void join(const std::string& dimension, Coordinate coordinate) {
    joined_.insert_or_assign(dimension, std::move(coordinate));
  }

  // Of a dimension of an array. kNotFound where it has no coordinate.
  Result<const Coordinate*> of(const std::string& dimension, const std::string& array_name,
                               std::int64_t extent);

 private:
  std::vector<const ZarrNode*> nodes_;
  std::map<std::string, Coordinate> read_;    // by the path of the coordinate
  std::map<std::string, Coordinate> joined_;  // by dimension
};

}  // namespace penstock
