// The coordinate of a dimension, decoded as xarray decodes it. Selections compare labels with it, and gaps in time
// are found in it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "source/zarr/time/time_coding.h"
#include "source/zarr/metadata/zarr_node.h"

namespace penstock {

// Longer coordinates are not read, since they would take more than 800 MB.
constexpr std::uint64_t kMaxCoordinates = 100'000'000;

// The array that has the name of the dimension, in the group of the array `array_name` or in a group
// above it. Fails with kNotFound if there is none.
Result<ZarrArray> find_coordinate(const ZarrNode& node, const std::string& dimension,
                                  const std::string& array_name);

// The coordinate holds either numbers or times. It keeps the stored numbers, 8 bytes each, and decodes them on
// access. Immutable and thread-safe.
class Coordinate {
 public:
  // Reads the whole array. Fails if the array does not have exactly one axis of `extent` entries, is bool or
  // complex, or holds times that are out of range.
  static Result<Coordinate> read(const ZarrArray& array, std::int64_t extent);

  // Concatenates coordinates. There must be at least one, and all must be numbers, or times of one calendar.
  static Coordinate joined(std::vector<Coordinate> parts);

  std::int64_t size() const { return size_; }
  const std::string& uri() const { return uri_; }
  DType dtype() const { return dtype_; }  // the stored type

  bool is_time() const { return time_.has_value(); }
  const std::string& why_not_time() const { return why_not_time_; }
  Calendar calendar() const { return time_->units.calendar; }
  // For times; nullopt: the value is missing.
  std::optional<Moment> moment(std::int64_t index) const;

  // For numbers, with scale_factor, add_offset and _FillValue applied; NaN: the value is missing.
  double value(std::int64_t index) const;
  // Whether xarray represents the coordinate as numpy.datetime64[ns]; otherwise it uses the dates of cftime.
  bool is_numpy_time() const;
  // The number as the type of the coordinate holds it: 0.1 is a different number in float32.
  double rounded(double number) const;

  // Whether the entries go once around a circle of 360 degrees in equal steps.
  bool is_circle() const;
  // For a circle: whether the last entry repeats the first (0 and 360 degrees).
  bool repeats_first() const;

  // "30.5" or "2019-03-01T00:00:00", for messages.
  std::string text(std::int64_t index) const;

 private:
  Coordinate() = default;
  Status check_times();
  // The part that contains the entry. `index` becomes the position within that part.
  const Coordinate& part_of(std::int64_t& index) const;

  std::string uri_;
  std::int64_t size_ = 0;
  DType dtype_ = DType::kFloat64;
  std::vector<double> numbers_;  // used unless the coordinate holds times as integers
  std::vector<std::int64_t> integers_;  // times that are stored as integers
  std::optional<TimeCoding> time_;
  std::string why_not_time_;
  std::shared_ptr<const ValueCoding> packing_;
  std::string units_;
  std::vector<Coordinate> parts_;  // the parts of a joined coordinate, which has no numbers of its own
  std::vector<std::int64_t> part_ends_;  // per part, the number of entries up to its end
};

// The coordinates of the arrays below a node. Each is read once, on first use. Borrows the nodes; used by one
// thread.
class Coordinates {
 public:
  explicit Coordinates(const ZarrNode& node) : nodes_{&node} {}
  // For several stores: each store is searched if those before it do not have the coordinate.
  explicit Coordinates(std::vector<const ZarrNode*> nodes) : nodes_(std::move(nodes)) {}
  Coordinates(const Coordinates&) = delete;

  // Sets the coordinate of this dimension for all arrays.
  void join(const std::string& dimension, Coordinate coordinate) {
    joined_.insert_or_assign(dimension, std::move(coordinate));
  }

  // The coordinate of a dimension of an array. Fails with kNotFound if there is none.
  Result<const Coordinate*> of(const std::string& dimension, const std::string& array_name,
                               std::int64_t extent);

 private:
  std::vector<const ZarrNode*> nodes_;
  std::map<std::string, Coordinate> read_;    // by the path of the coordinate
  std::map<std::string, Coordinate> joined_;  // by dimension
};

}  // namespace penstock
