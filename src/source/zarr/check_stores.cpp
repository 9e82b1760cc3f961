#include "source/zarr/check_stores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "source/read_array.h"
#include "source/zarr/variable.h"

namespace penstock {
namespace {

constexpr std::uint64_t kMaxCompared = 1 << 24;  // elements of a variable without the sample dimension

std::string name_of_dimension(const SampleDimension& dimension) {
  const auto* name = std::get_if<std::string>(&dimension);
  return name != nullptr ? *name : fmt::format("axis {}", std::get<int>(dimension));
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The first entry in which two coordinates of the same dimension differ; -1: they are equal.
std::int64_t first_difference(const Coordinate& a, const Coordinate& b) {
  const std::int64_t both = std::min(a.size(), b.size());
  for (std::int64_t i = 0; i < both; ++i) {
    const bool are_times = a.is_time() && b.is_time();
    if (a.is_time() != b.is_time()) return i;
    if (are_times ? a.moment(i) != b.moment(i) : !is_same(a.value(i), b.value(i))) return i;
  }
  return a.size() == b.size() ? -1 : both;
}

std::string text_at(const Coordinate& coordinate, std::int64_t index) {
  return index < coordinate.size() ? coordinate.text(index) : "no entry";
}

// Compares everything but the extent of the sample axis. `sample_axis` is -1 for variables without that axis.
Status check_arrays(const OpenedStore& first, const OpenedStore& second, const ZarrArray& a, const ZarrArray& b,
                    bool is_time, int sample_axis) {
  const std::string name = name_of_variable(a);
  const ArraySpec &one = a.data->spec(), &other = b.data->spec();
  if (a.dimensions != b.dimensions)
    return cannot_join(first, second,
                  fmt::format("{} has the dimensions {} and {}", name, a.dimensions, b.dimensions));
  if (one.dtype != other.dtype || (!is_time && a.time_unit != b.time_unit))
    return cannot_join(first, second,
                  fmt::format("{} is {} and {}{}", name, name_of(one.dtype), name_of(other.dtype),
                              one.dtype == other.dtype ? ", in different units of time" : ""));
  Shape expected = one.shape, found = other.shape;
  if (expected.size() == found.size() && sample_axis >= 0)
    expected[static_cast<std::size_t>(sample_axis)] = found[static_cast<std::size_t>(sample_axis)] = 0;
  if (expected == found) return {};
  std::string dimension;
  for (std::size_t d = 0; d < a.dimensions.size() && expected.size() == found.size(); ++d)
    if (expected[d] != found[d] && dimension.empty()) dimension = a.dimensions[d];
  return cannot_join(first, second,
                fmt::format("{} has the shapes {} and {}{}", name, one.shape, other.shape,
                            dimension.empty() ? "" : fmt::format(", which differ in {}", dimension)));
}

// The value that a stored number means, so that stores with different codings can be compared.
double decoded(double stored, const ValueCoding* coding) {
  if (coding == nullptr) return stored;
  const bool is_missing = std::ranges::find(coding->missing, stored) != coding->missing.end();
  return is_missing ? std::numeric_limits<double>::quiet_NaN() : stored * coding->scale + coding->offset;
}

Result<bool> have_same_values(const ZarrArray& a, const ZarrArray& b, bool is_time) {
  const std::uint64_t elements = element_count(a.data->spec().shape);
  if (elements > kMaxCompared || a.data->spec().dtype >= DType::kComplex64) return true;
  if (is_time) {
    const auto times = read_integers(*a.data, kMaxCompared), other_times = read_integers(*b.data, kMaxCompared);
    if (!times) return std::unexpected(times.error());
    if (!other_times) return std::unexpected(other_times.error());
    return *times == *other_times;
  }
  const auto one = read_numbers(*a.data, kMaxCompared), other = read_numbers(*b.data, kMaxCompared);
  if (!one) return std::unexpected(one.error());
  if (!other) return std::unexpected(other.error());
  const auto coding = coding_of(a, {}), other_coding = coding_of(b, {});
  if (!coding) return std::unexpected(coding.error());
  if (!other_coding) return std::unexpected(other_coding.error());
  for (std::size_t i = 0; i < one->size(); ++i)
    if (!is_same(decoded((*one)[i], coding->get()), decoded((*other)[i], other_coding->get()))) return false;
  return true;
}

// One run of check_stores(). Borrows everything; used by one thread.
class StoreCheck {
 public:
  StoreCheck(const std::vector<OpenedStore>& stores, const SampleDimension& sample_dim,
             std::vector<JoinedArray>& variables)
      : stores_(stores),
        sample_dim_(sample_dim),
        variables_(variables) {
    for (const OpenedStore& store : stores) coordinates_of_store_.push_back(std::make_unique<Coordinates>(store.node));
  }

  Status run(Coordinates& coordinates) {
    for (JoinedArray& variable : variables_) PENSTOCK_CHECK(check_variable(variable));
    PENSTOCK_CHECK(find_groups());
    PENSTOCK_CHECK(check_other_dimensions());
    return check_sample_dimension(coordinates);
  }

 private:
  bool has_sample_dim(const JoinedArray& variable) const {
    return sample_axis_of(variable.arrays.front(), sample_dim_) >= 0;
  }

  Status check_variable(JoinedArray& variable) {
    const int axis = sample_axis_of(variable.arrays.front(), sample_dim_);
    for (std::size_t i = 1; i < variable.arrays.size(); ++i) {
      const OpenedStore &first = stores_[variable.stores[0]], &second = stores_[variable.stores[i]];
      PENSTOCK_CHECK(check_arrays(first, second, variable.arrays[0], variable.arrays[i], variable.is_time, axis));
      if (axis >= 0) continue;
      const auto are_same = have_same_values(variable.arrays[0], variable.arrays[i], variable.is_time);
      if (!are_same) return std::unexpected(are_same.error());
      if (!*are_same)
        return cannot_join(first, second,
                      fmt::format("{}, which does not have the dimension {}, has different values",
                                  name_of_variable(variable.arrays[0]), name_of_dimension(sample_dim_)));
    }
    if (axis < 0) {
      variable.stores.resize(1);
      variable.arrays.resize(1);
    }
    return {};
  }

  // A group is a set of stores that follow one another. They hold the same variables, so two groups share either all
  // of their stores or none.
  Status find_groups() {
    for (const JoinedArray& variable : variables_) {
      if (!has_sample_dim(variable)) continue;
      bool is_known = false;
      for (const JoinedArray* group : groups_) {
        std::vector<std::size_t> shared;
        std::ranges::set_intersection(group->stores, variable.stores, std::back_inserter(shared));
        is_known = is_known || group->stores == variable.stores;
        if (shared.empty() || group->stores == variable.stores) continue;
        const bool lacks = variable.stores.size() < group->stores.size();
        const JoinedArray &less = lacks ? variable : *group, &more = lacks ? *group : variable;
        std::vector<std::size_t> missing;
        std::ranges::set_difference(more.stores, less.stores, std::back_inserter(missing));
        return cannot_join(stores_[less.stores.front()], stores_[missing.front()],
                      fmt::format("{} is only in the first, {} in both", name_of_variable(less.arrays.front()),
                                  name_of_variable(more.arrays.front())));
      }
      if (!is_known) groups_.push_back(&variable);
    }
    return {};
  }

  // nullptr: the dimension has no coordinate that can be compared.
  Result<const Coordinate*> coordinate_of(std::size_t store, const std::string& dimension,
                                          const ZarrArray& array, std::int64_t extent) {
    const auto found = coordinates_of_store_[store]->of(dimension, array.name, extent);
    if (found) return *found;
    const ErrorCode code = found.error().code;
    if (code == ErrorCode::kNotFound || code == ErrorCode::kUnsupported) return nullptr;
    return std::unexpected(found.error());
  }

  Status check_other_dimensions() {
    struct Known {
      std::size_t store;
      std::int64_t extent;
      const Coordinate* coordinate;
    };
    std::map<std::string, Known> known;
    std::set<std::pair<std::size_t, std::string>> seen;
    for (const JoinedArray& variable : variables_)
      for (std::size_t i = 0; i < variable.arrays.size(); ++i) {
        const ZarrArray& array = variable.arrays[i];
        const int sample_axis = sample_axis_of(array, sample_dim_);
        for (std::size_t d = 0; d < array.dimensions.size(); ++d) {
          const std::string& dimension = array.dimensions[d];
          if (static_cast<int>(d) == sample_axis || dimension.empty()) continue;
          if (!seen.emplace(variable.stores[i], dimension).second) continue;
          const std::int64_t extent = array.data->spec().shape[d];
          const auto found = coordinate_of(variable.stores[i], dimension, array, extent);
          if (!found) return std::unexpected(found.error());
          const auto [first, is_new] = known.try_emplace(dimension, Known{variable.stores[i], extent, *found});
          if (is_new || first->second.store == variable.stores[i]) continue;
          PENSTOCK_CHECK(compare(dimension, first->second.store, first->second.extent, first->second.coordinate,
                                 variable.stores[i], extent, *found));
        }
      }
    return {};
  }

  Status compare(const std::string& dimension, std::size_t first, std::int64_t extent,
                 const Coordinate* coordinate, std::size_t second, std::int64_t other_extent,
                 const Coordinate* other) {
    if (extent != other_extent)
      return cannot_join(stores_[first], stores_[second],
                    fmt::format("the dimension {} has {} and {} entries", dimension, extent, other_extent));
    if (coordinate == nullptr || other == nullptr) return {};
    const std::int64_t position = first_difference(*coordinate, *other);
    if (position < 0) return {};
    return cannot_join(stores_[first], stores_[second],
                  fmt::format("the coordinate {} differs: entry {} is {} and {}", dimension, position,
                              text_at(*coordinate, position), text_at(*other, position)));
  }

  Status check_sample_dimension(Coordinates& coordinates) {
    std::optional<Coordinate> whole;
    std::int64_t entries = 0;
    for (const JoinedArray* group : groups_) {
      std::int64_t own_entries = 0;
      auto own = join_group(*group, own_entries);
      if (!own) return std::unexpected(own.error());
      if (group == groups_.front()) {
        entries = own_entries;
        whole = std::move(*own);
        continue;
      }
      PENSTOCK_CHECK(compare(name_of_dimension(sample_dim_), groups_.front()->stores.front(), entries,
                             whole ? &*whole : nullptr, group->stores.front(), own_entries,
                             *own ? &**own : nullptr));
    }
    const auto* name = std::get_if<std::string>(&sample_dim_);
    if (whole && name != nullptr) coordinates.join(*name, *std::move(whole));
    return {};
  }

  // The joined coordinate of stores that follow one another; nullopt if one of them has none.
  Result<std::optional<Coordinate>> join_group(const JoinedArray& group, std::int64_t& entries) {
    std::vector<Coordinate> parts;
    bool all_have = true;
    for (std::size_t i = 0; i < group.arrays.size(); ++i) {
      const ZarrArray& array = group.arrays[i];
      const auto axis = static_cast<std::size_t>(sample_axis_of(array, sample_dim_));
      const std::int64_t extent = array.data->spec().shape[axis];
      entries += extent;
      const auto* name = std::get_if<std::string>(&sample_dim_);
      if (name == nullptr || !all_have) {
        all_have = false;
        continue;
      }
      const auto found = coordinate_of(group.stores[i], *name, array, extent);
      if (!found) return std::unexpected(found.error());
      all_have = *found != nullptr;
      if (!all_have) continue;
      if (!parts.empty())
        PENSTOCK_CHECK(check_joint(group, i, *name, parts.back(), **found));
      parts.push_back(**found);
    }
    if (!all_have) return std::nullopt;
    return Coordinate::joined(std::move(parts));
  }

  Status check_joint(const JoinedArray& group, std::size_t second, const std::string& dimension,
                     const Coordinate& before, const Coordinate& after) {
    const OpenedStore &first_store = stores_[group.stores[second - 1]],
                      &second_store = stores_[group.stores[second]];
    if (before.is_time() != after.is_time() || (before.is_time() && before.calendar() != after.calendar()))
      return cannot_join(first_store, second_store,
                    fmt::format("{} is counted in different calendars or units", dimension));
    if (before.size() == 0 || after.size() == 0) return {};
    const std::int64_t last = before.size() - 1;
    const bool increases = before.is_time() ? before.moment(last) < after.moment(0)
                                            : before.value(last) < after.value(0);
    if (increases) return {};
    return cannot_join(first_store, second_store,
                  fmt::format("{} ends with {} in the first and begins with {} in the second, and does not "
                              "increase; give the stores in another order, or take ps.Mix for stores that do "
                              "not follow one another",
                              dimension, before.text(last), after.text(0)));
  }

  const std::vector<OpenedStore>& stores_;
  const SampleDimension& sample_dim_;
  std::vector<JoinedArray>& variables_;
  std::vector<std::unique_ptr<Coordinates>> coordinates_of_store_;
  std::vector<const JoinedArray*> groups_;  // one variable per group
};

}  // namespace

Status check_stores(const std::vector<OpenedStore>& stores, const SampleDimension& sample_dim,
                    std::vector<JoinedArray>& variables, Coordinates& coordinates) {
  return StoreCheck(stores, sample_dim, variables).run(coordinates);
}

}  // namespace penstock
