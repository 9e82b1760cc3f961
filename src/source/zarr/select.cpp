#include "source/zarr/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "source/zarr/selection_label.h"
#include "source/zarr/time/date_text.h"

namespace penstock {
namespace {

// ---- the keys of a coordinate: numbers or moments

struct NumberKeys {
  using Key = double;
  const Coordinate& coordinate;

  std::optional<double> at(std::int64_t index) const {
    const double value = coordinate.value(index);
    return std::isnan(value) ? std::nullopt : std::optional(value);
  }
  static double distance(double a, double b) { return std::abs(a - b); }
  static Result<KeySpan<double>> read(const CoordinateLabel& label, const SelectionContext& context) {
    return read_number(label, context);
  }
};

struct TimeKeys {
  using Key = Moment;
  const Coordinate& coordinate;

  std::optional<Moment> at(std::int64_t index) const { return coordinate.moment(index); }
  static double distance(const Moment& a, const Moment& b) { return std::abs(seconds_between(a, b)); }
  static Result<KeySpan<Moment>> read(const CoordinateLabel& label, const SelectionContext& context) {
    return read_moments(label, context);
  }
};

struct Direction {
  bool rises = true, falls = true;
  std::int64_t first_missing = -1;

  bool is_sorted() const { return first_missing < 0 && (rises || falls); }
};

template <typename Keys>
Direction direction_of(const Keys& keys, std::int64_t size) {
  Direction direction;
  std::optional<typename Keys::Key> before;
  for (std::int64_t i = 0; i < size; ++i) {
    const auto key = keys.at(i);
    if (!key) {
      direction.first_missing = i;
      return direction;
    }
    if (before && *key < *before) direction.rises = false;
    if (before && *key > *before) direction.falls = false;
    before = key;
  }
  return direction;
}

// The first index below `size` at which `is_before` is false, or `size`. `is_before` must be true for all indexes up to
// some point and false from there on.
template <typename IsBefore>
std::int64_t first_not(std::int64_t size, const IsBefore& is_before) {
  std::int64_t low = 0, high = size;
  while (low < high) {
    const std::int64_t middle = std::midpoint(low, high);
    if (is_before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// ---- ranges

// The same longitude, shifted by whole turns into the range of the coordinates: 350 becomes -10 where they rise from
// -180 to 180. Subtracting 360 rounds, so a result that is almost equal to a coordinate is replaced by that coordinate.
double on_circle(double degrees, const NumberKeys& keys, std::int64_t size) {
  constexpr double kTurn = 360, kRounding = 1e-9;
  const double start = *keys.at(0);
  if (degrees >= start && degrees <= start + kTurn) return degrees;
  const double turned = degrees - kTurn * std::floor((degrees - start) / kTurn);
  const std::int64_t near = first_not(size, [&](std::int64_t i) { return *keys.at(i) < turned - kRounding; });
  return near < size && std::abs(*keys.at(near) - turned) <= kRounding ? *keys.at(near) : turned;
}

// The entries from `from` to the end of the circle, followed by those from its beginning to `to`.
Result<IndexRuns> wrap_around(const KeySpan<double>& from, const KeySpan<double>& to, const NumberKeys& keys,
                              const SelectionContext& context) {
  const Coordinate& coordinate = context.coordinate;
  if (!coordinate.is_circle())
    return context.refuse(
        fmt::format("the range from {} to {} ends before it begins, and the coordinates rise from {} to {}: "
                    "write ({}, {}), or select the two parts on their own; only a coordinate that goes around "
                    "360 degrees in equal steps wraps around",
                    from.first, to.last, coordinate.text(0), coordinate.text(coordinate.size() - 1), to.last,
                    from.first));
  const std::int64_t size = coordinate.size();
  const double first = on_circle(from.first, keys, size), last = on_circle(to.last, keys, size);
  const std::int64_t begin = first_not(size, [&](std::int64_t i) { return *keys.at(i) < first; });
  const std::int64_t end = first_not(size, [&](std::int64_t i) { return *keys.at(i) <= last; });
  IndexRuns runs;
  if (first <= last) {
    if (begin >= end)
      return context.refuse(
          fmt::format("no coordinate is from {} to {}; {}", from.first, to.last, context.ends()));
    runs.append(IndexRun{begin, end - begin, 1});
    return runs;
  }
  runs.append(IndexRun{begin, size - begin, 1});
  // A meridian that is at both ends of the coordinate is taken once.
  const std::int64_t again = coordinate.repeats_first() && begin < size ? 1 : 0;
  if (end > again) runs.append(IndexRun{again, end - again, 1});
  return runs;
}

Result<IndexRuns> wrap_around(const KeySpan<Moment>& from, const KeySpan<Moment>& to, const TimeKeys&,
                              const SelectionContext& context) {
  const Calendar calendar = context.coordinate.calendar();
  return context.refuse(fmt::format("the range from {} to {} ends before it begins",
                                     to_text(calendar, from.first), to_text(calendar, to.first)));
}

template <typename Keys>
Result<IndexRuns> entries_between(const CoordinateRange& range, const Keys& keys, const SelectionContext& context) {
  using Span = KeySpan<typename Keys::Key>;
  const std::int64_t size = context.coordinate.size();
  std::optional<Span> from, to;
  for (const auto& [label, span] : {std::pair(&range.from, &from), std::pair(&range.to, &to)}) {
    if (!*label) continue;
    auto read = Keys::read(**label, context);
    if (!read) return std::unexpected(std::move(read).error());
    *span = std::move(*read);
  }
  const Direction direction = direction_of(keys, size);
  if (direction.first_missing >= 0)
    return context.refuse(
        fmt::format("its coordinate {} has no value, so that it has no ranges", direction.first_missing));
  if (!direction.is_sorted())
    return context.refuse("its coordinates neither rise nor fall, so that they have no ranges; a list selects "
                           "single values, and isel= positions");
  const auto is_before = [](const Span& a, const Span& b) { return a.first < b.first && !a.reaches(b.first); };
  // On a falling coordinate, a range begins with its upper end. If both ends are given, they may be in either
  // order.
  if (from && to && direction.falls) {
    if (direction.rises ? is_before(*to, *from) : is_before(*from, *to)) std::swap(from, to);
  } else if (from && to && is_before(*to, *from)) {
    return wrap_around(*from, *to, keys, context);
  }
  const std::optional<Span>&low = direction.rises ? from : to, &high = direction.rises ? to : from;
  const auto is_too_low = [&](std::int64_t i) { return low && *keys.at(i) < low->first; };
  const auto is_too_high = [&](std::int64_t i) { return high && !high->reaches(*keys.at(i)); };
  const std::int64_t begin = direction.rises ? first_not(size, is_too_low) : first_not(size, is_too_high);
  const std::int64_t end =
      direction.rises ? first_not(size, [&](std::int64_t i) { return !is_too_high(i); })
                      : first_not(size, [&](std::int64_t i) { return !is_too_low(i); });
  if (begin >= end)
    return context.refuse(fmt::format("no coordinate is from {} to {}; {}",
                                       range.from ? text_of(*range.from) : "the first",
                                       range.to ? text_of(*range.to) : "the last", context.ends()));
  return IndexRuns(IndexRun{begin, end - begin, 1});
}

// ---- single values

// Finds the entries that have a key: by bisection, over a sorted list of the entries where the coordinate itself is not
// sorted. Borrows the keys.
template <typename Keys>
class KeyFinder {
 public:
  KeyFinder(const Keys& keys, std::int64_t size) : keys_(keys), size_(size) {
    const Direction direction = direction_of(keys, size);
    falls_ = direction.falls && !direction.rises;
    if (direction.is_sorted()) return;
    for (std::int64_t i = 0; i < size; ++i)
      if (keys.at(i)) order_.push_back(i);
    std::ranges::stable_sort(order_, {}, [&](std::int64_t i) { return *keys.at(i); });
    size_ = static_cast<std::int64_t>(order_.size());
    is_ordered_ = true;
  }

  // All entries with this key, in the order of the axis.
  std::vector<std::int64_t> find(const typename Keys::Key& key) const {
    std::vector<std::int64_t> positions;
    for (std::int64_t i = first_not(size_, [&](std::int64_t position) {
           return falls_ ? key_at(position) > key : key_at(position) < key;
         });
         i < size_ && key_at(i) == key; ++i)
      positions.push_back(position_of(i));
    return positions;
  }

  // nullopt: no entry has a value.
  std::optional<std::int64_t> nearest(const typename Keys::Key& key) const {
    if (size_ == 0) return std::nullopt;
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < size_; ++i)
      if (Keys::distance(key_at(i), key) < Keys::distance(key_at(best), key)) best = i;
    return position_of(best);
  }

 private:
  std::int64_t position_of(std::int64_t i) const { return is_ordered_ ? order_[static_cast<std::size_t>(i)] : i; }
  typename Keys::Key key_at(std::int64_t i) const { return *keys_.at(position_of(i)); }

  const Keys& keys_;
  std::int64_t size_;
  std::vector<std::int64_t> order_;
  bool is_ordered_ = false, falls_ = false;
};

template <typename Keys>
std::unexpected<Error> no_such_coordinate(const CoordinateLabel& label, const typename Keys::Key& key,
                                 const KeyFinder<Keys>& finder, const SelectionContext& context) {
  const auto near = finder.nearest(key);
  return context.refuse(fmt::format(
      "there is no coordinate {}{}", text_of(label),
      near ? fmt::format("; the nearest is {} at position {}", context.coordinate.text(*near), *near) : ""));
}

double rounded(double number, const Coordinate& coordinate) { return coordinate.rounded(number); }
const Moment& rounded(const Moment& moment, const Coordinate&) { return moment; }

// NaN selects the entries without a value, as in pandas.
std::vector<std::int64_t> missing_entries(const Coordinate& coordinate) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < coordinate.size(); ++i)
    if (std::isnan(coordinate.value(i))) positions.push_back(i);
  return positions;
}

template <typename Keys>
std::vector<std::int64_t> entries_at(const typename Keys::Key& key, const KeyFinder<Keys>& finder,
                                     const Coordinate& coordinate) {
  if constexpr (std::is_same_v<typename Keys::Key, double>)
    if (std::isnan(key)) return missing_entries(coordinate);
  return finder.find(rounded(key, coordinate));
}

template <typename Keys>
Result<IndexRuns> entries_listed(const std::vector<CoordinateLabel>& labels, const Keys& keys,
                                 const SelectionContext& context) {
  const KeyFinder<Keys> finder(keys, context.coordinate.size());
  IndexRuns runs;
  for (const CoordinateLabel& label : labels) {
    const auto span = Keys::read(label, context);
    if (!span) return std::unexpected(span.error());
    const std::vector<std::int64_t> positions = entries_at(span->first, finder, context.coordinate);
    if (positions.empty()) return no_such_coordinate(label, span->first, finder, context);
    if (positions.size() > 1)
      return context.refuse(fmt::format("the coordinate {} occurs at {} positions ({}, {}, ...); isel= selects "
                                         "by position",
                                         text_of(label), positions.size(), positions[0], positions[1]));
    runs.append(positions.front());
  }
  if (runs.count() == 0) return context.refuse("the list is empty");
  return runs;
}

// The finest part of a date that any of the times needs: kDay if all of them are at midnight.
DateResolution resolution_of(const Coordinate& coordinate) {
  DateResolution finest = DateResolution::kDay;
  for (std::int64_t i = 0; i < coordinate.size(); ++i) {
    const auto moment = coordinate.moment(i);
    if (!moment) continue;
    const DateResolution own = moment->nanoseconds % 1'000 != 0       ? DateResolution::kNanosecond
                               : moment->nanoseconds % 1'000'000 != 0 ? DateResolution::kMicrosecond
                               : moment->nanoseconds != 0             ? DateResolution::kMillisecond
                               : moment->seconds % 60 != 0            ? DateResolution::kSecond
                               : moment->seconds % 3'600 != 0         ? DateResolution::kMinute
                               : moment->seconds % 86'400 != 0        ? DateResolution::kHour
                                                                      : DateResolution::kDay;
    finest = std::max(finest, own);
  }
  return finest;
}

// Whether a date means a single time because it is as fine as the times of the coordinate: "2019-03-01" is one entry of
// daily data, but a range of hourly data. This is the rule of pandas. With cftime's dates, a date is always a range.
bool means_one_time(const CoordinateLabel& label, const Coordinate& coordinate) {
  if (!coordinate.is_numpy_time()) return false;
  const auto period = parse_date(text_of(label), coordinate.calendar());
  return period && period->resolution >= resolution_of(coordinate);
}
bool means_one_value(const CoordinateLabel&, const KeySpan<double>&, const Coordinate&) { return true; }
bool means_one_value(const CoordinateLabel& label, const KeySpan<Moment>& span, const Coordinate& coordinate) {
  return span.is_single() || means_one_time(label, coordinate);
}

template <typename Keys>
Result<Chosen> entries_named(const CoordinateLabel& label, const Keys& keys, const SelectionContext& context) {
  const auto span = Keys::read(label, context);
  if (!span) return std::unexpected(span.error());
  const std::int64_t size = context.coordinate.size();
  Chosen chosen;
  if (means_one_value(label, *span, context.coordinate)) {
    const KeyFinder<Keys> finder(keys, size);
    const std::vector<std::int64_t> positions = entries_at(span->first, finder, context.coordinate);
    if (positions.empty()) return no_such_coordinate(label, span->first, finder, context);
    for (const std::int64_t position : positions) chosen.entries.append(position);
    chosen.drops_axis = positions.size() == 1;
    return chosen;
  }
  for (std::int64_t i = 0; i < size; ++i)
    if (const auto key = keys.at(i); key && span->contains(*key)) chosen.entries.append(i);
  if (chosen.entries.count() == 0)
    return context.refuse(fmt::format("no time is in {}; {}", text_of(label), context.ends()));
  return chosen;
}

template <typename Keys>
Result<Chosen> choose(const Selection& selection, const Keys& keys, const SelectionContext& context) {
  if (const auto* label = std::get_if<CoordinateLabel>(&selection)) return entries_named(*label, keys, context);
  if (const auto* list = std::get_if<std::vector<CoordinateLabel>>(&selection)) {
    auto entries = entries_listed(*list, keys, context);
    if (!entries) return std::unexpected(std::move(entries).error());
    return Chosen{std::move(*entries), false};
  }
  const auto& range = std::get<CoordinateRange>(selection);
  if (range.step == 0) return context.refuse("a step of 0 leads nowhere");
  const std::int64_t size = context.coordinate.size();
  const bool is_backwards = range.step < 0;
  auto entries = entries_between(is_backwards ? CoordinateRange{range.to, range.from, 1} : range, keys, context);
  if (!entries && is_backwards)
    entries.error().message += " (a negative step goes backwards, so the range begins with its later end)";
  if (!entries) return std::unexpected(std::move(entries).error());
  if (is_backwards) entries = entries->reversed();
  const std::int64_t step = std::clamp(range.step, -size, size);
  return Chosen{entries->every(std::abs(step)), false};
}

}  // namespace

Result<Chosen> select_by_value(const Selection& selection, const Coordinate& coordinate,
                               const std::string& dimension, const std::string& uri) {
  const SelectionContext context{coordinate, dimension, uri};
  if (coordinate.size() == 0) return context.refuse("the dimension has no entries");
  if (coordinate.is_time()) return choose(selection, TimeKeys{coordinate}, context);
  return choose(selection, NumberKeys{coordinate}, context);
}

}  // namespace penstock
