#include "source/zarr/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "source/zarr/time/date_text.h"

namespace penstock {
namespace {

// Labels as they are compared: all keys from `first` to `last`. A number, or one moment, is both; a date
// such as "2019-03" ends before the next begins.
template <typename Key>
struct KeySpan {
  Key first, last;
  bool excludes_last = false;

  bool is_one() const { return !excludes_last; }
  bool reaches(const Key& key) const { return excludes_last ? key < last : key <= last; }
  bool holds(const Key& key) const { return key >= first && reaches(key); }
};

struct Question {
  const Coordinate& coordinate;
  const std::string& dimension;
  const std::string& uri;

  std::unexpected<Error> refuse(const std::string& message) const {
    return fail(ErrorCode::kInvalidArgument, fmt::format("select {}: {}", dimension, message),
                {uri, -1, -1, -1});
  }
  std::string ends() const {
    return fmt::format("they go from {} to {}", coordinate.text(0), coordinate.text(coordinate.size() - 1));
  }
};

std::string text_of(const CoordinateLabel& label) {
  if (const auto* number = std::get_if<double>(&label)) return fmt::format("{}", *number);
  if (const auto* date = std::get_if<CoordinateDate>(&label)) return date->text;
  return std::get<TypedCoordinate>(label).text;
}

// ---- labels

Result<KeySpan<double>> read_number(const CoordinateLabel& label, const Question& question) {
  if (const auto* number = std::get_if<double>(&label)) return KeySpan<double>{*number, *number};
  if (const auto* typed = std::get_if<TypedCoordinate>(&label)) {
    double number = 0;
    const char* end = typed->text.data() + typed->text.size();
    const auto [stop, error] = std::from_chars(typed->text.data(), end, number);
    if (error == std::errc{} && stop == end) return KeySpan<double>{number, number};
  }
  return question.refuse(fmt::format("\"{}\" is no number, and its coordinates are no dates: {}", text_of(label),
                                     question.coordinate.why_not_time()));
}

Result<KeySpan<Moment>> read_moments(const CoordinateLabel& label, const Question& question) {
  const Calendar calendar = question.coordinate.calendar();
  if (std::holds_alternative<double>(label))
    return question.refuse(
        fmt::format("{} is a number, but its coordinates are dates: write a date (\"2019-03\"), or use isel= "
                    "for positions",
                    text_of(label)));
  const auto* date = std::get_if<CoordinateDate>(&label);
  if (date != nullptr && !date->calendar.empty()) {
    const auto own = parse_calendar(date->calendar);
    if (!own) return question.refuse(own.error().message);
    if (*own != calendar)
      return question.refuse(fmt::format("the date {} is of the calendar \"{}\", the coordinate of \"{}\"",
                                         date->text, name_of(*own), name_of(calendar)));
  }
  const auto period = parse_date(text_of(label), calendar);
  if (!period) return question.refuse(period.error().message);
  if (date != nullptr && date->is_moment) return KeySpan<Moment>{period->begin, period->begin};
  return KeySpan<Moment>{period->begin, period->end, true};
}

// ---- the keys of a coordinate, of one type

struct NumberKeys {
  using Key = double;
  const Coordinate& coordinate;

  std::optional<double> at(std::int64_t index) const {
    const double value = coordinate.value(index);
    return std::isnan(value) ? std::nullopt : std::optional(value);
  }
  static double distance(double a, double b) { return std::abs(a - b); }
  static Result<KeySpan<double>> read(const CoordinateLabel& label, const Question& question) {
    return read_number(label, question);
  }
};

struct TimeKeys {
  using Key = Moment;
  const Coordinate& coordinate;

  std::optional<Moment> at(std::int64_t index) const { return coordinate.moment(index); }
  static double distance(const Moment& a, const Moment& b) { return std::abs(seconds_between(a, b)); }
  static Result<KeySpan<Moment>> read(const CoordinateLabel& label, const Question& question) {
    return read_moments(label, question);
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

// Of the places 0 to size - 1, in which `is_before` holds first and then no more: the first in which it does
// not.
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

// The same longitude within the turn that the coordinates make: 350 is -10 where they rise from -180 to 180. Taking
// 360 off rounds, so a result that all but equals a coordinate is that coordinate.
double on_circle(double degrees, const NumberKeys& keys, std::int64_t size) {
  constexpr double kTurn = 360, kRounding = 1e-9;
  const double start = *keys.at(0);
  if (degrees >= start && degrees <= start + kTurn) return degrees;
  const double turned = degrees - kTurn * std::floor((degrees - start) / kTurn);
  const std::int64_t near = first_not(size, [&](std::int64_t i) { return *keys.at(i) < turned - kRounding; });
  return near < size && std::abs(*keys.at(near) - turned) <= kRounding ? *keys.at(near) : turned;
}

// From `from` to the end of the circle, and on from its beginning up to `to`.
Result<IndexRuns> wrap_around(const KeySpan<double>& from, const KeySpan<double>& to, const NumberKeys& keys,
                              const Question& question) {
  const Coordinate& coordinate = question.coordinate;
  if (!coordinate.is_circle())
    return question.refuse(
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
      return question.refuse(
          fmt::format("no coordinate is from {} to {}; {}", from.first, to.last, question.ends()));
    runs.append(IndexRun{begin, end - begin, 1});
    return runs;
  }
  runs.append(IndexRun{begin, size - begin, 1});
  // The meridian that stands at both ends is taken once.
  const std::int64_t again = coordinate.repeats_first() && begin < size ? 1 : 0;
  if (end > again) runs.append(IndexRun{again, end - again, 1});
  return runs;
}

Result<IndexRuns> wrap_around(const KeySpan<Moment>& from, const KeySpan<Moment>& to, const TimeKeys&,
                              const Question& question) {
  const Calendar calendar = question.coordinate.calendar();
  return question.refuse(fmt::format("the range from {} to {} ends before it begins",
                                     to_text(calendar, from.first), to_text(calendar, to.first)));
}

template <typename Keys>
Result<IndexRuns> entries_between(const CoordinateRange& range, const Keys& keys, const Question& question) {
  using Span = KeySpan<typename Keys::Key>;
  const std::int64_t size = question.coordinate.size();
  std::optional<Span> from, to;
  for (const auto& [label, span] : {std::pair(&range.from, &from), std::pair(&range.to, &to)}) {
    if (!*label) continue;
    auto read = Keys::read(**label, question);
    if (!read) return std::unexpected(std::move(read).error());
    *span = std::move(*read);
  }
  const Direction direction = direction_of(keys, size);
  if (direction.first_missing >= 0)
    return question.refuse(
        fmt::format("its coordinate {} has no value, so that it has no ranges", direction.first_missing));
  if (!direction.is_sorted())
    return question.refuse("its coordinates neither rise nor fall, so that they have no ranges; a list selects "
                           "single values, and isel= positions");
  const auto is_before = [](const Span& a, const Span& b) { return a.first < b.first && !a.reaches(b.first); };
  // Where coordinates fall, a range begins with its upper end; where both ends are given, either order means
  // the same.
  if (from && to && direction.falls) {
    if (direction.rises ? is_before(*to, *from) : is_before(*from, *to)) std::swap(from, to);
  } else if (from && to && is_before(*to, *from)) {
    return wrap_around(*from, *to, keys, question);
  }
  const std::optional<Span>&low = direction.rises ? from : to, &high = direction.rises ? to : from;
  const auto is_too_low = [&](std::int64_t i) { return low && *keys.at(i) < low->first; };
  const auto is_too_high = [&](std::int64_t i) { return high && !high->reaches(*keys.at(i)); };
  const std::int64_t begin = direction.rises ? first_not(size, is_too_low) : first_not(size, is_too_high);
  const std::int64_t end =
      direction.rises ? first_not(size, [&](std::int64_t i) { return !is_too_high(i); })
                      : first_not(size, [&](std::int64_t i) { return !is_too_low(i); });
  if (begin >= end)
    return question.refuse(fmt::format("no coordinate is from {} to {}; {}",
                                       range.from ? text_of(*range.from) : "the first",
                                       range.to ? text_of(*range.to) : "the last", question.ends()));
  return IndexRuns(IndexRun{begin, end - begin, 1});
}

// ---- single values

// Finds the places of keys: by bisection where they are sorted, else among places in the order of the keys.
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

  // In the order of the axis.
  std::vector<std::int64_t> find(const typename Keys::Key& key) const {
    std::vector<std::int64_t> places;
    for (std::int64_t i = first_not(size_, [&](std::int64_t place) {
           return falls_ ? key_at(place) > key : key_at(place) < key;
         });
         i < size_ && key_at(i) == key; ++i)
      places.push_back(place_of(i));
    return places;
  }

  // Nothing where there is no value at all.
  std::optional<std::int64_t> nearest(const typename Keys::Key& key) const {
    if (size_ == 0) return std::nullopt;
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < size_; ++i)
      if (Keys::distance(key_at(i), key) < Keys::distance(key_at(best), key)) best = i;
    return place_of(best);
  }

 private:
  std::int64_t place_of(std::int64_t i) const { return is_ordered_ ? order_[static_cast<std::size_t>(i)] : i; }
  typename Keys::Key key_at(std::int64_t i) const { return *keys_.at(place_of(i)); }

  const Keys& keys_;
  std::int64_t size_;
  std::vector<std::int64_t> order_;
  bool is_ordered_ = false, falls_ = false;
};

template <typename Keys>
std::unexpected<Error> not_there(const CoordinateLabel& label, const typename Keys::Key& key,
                                 const KeyFinder<Keys>& finder, const Question& question) {
  const auto near = finder.nearest(key);
  return question.refuse(fmt::format(
      "there is no coordinate {}{}", text_of(label),
      near ? fmt::format("; the nearest is {} at position {}", question.coordinate.text(*near), *near) : ""));
}

double rounded(double number, const Coordinate& coordinate) { return coordinate.rounded(number); }
const Moment& rounded(const Moment& moment, const Coordinate&) { return moment; }

// NaN is found where the coordinate has none: pandas does so too.
std::vector<std::int64_t> missing_entries(const Coordinate& coordinate) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < coordinate.size(); ++i)
    if (std::isnan(coordinate.value(i))) places.push_back(i);
  return places;
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
                                 const Question& question) {
  const KeyFinder<Keys> finder(keys, question.coordinate.size());
  IndexRuns runs;
  for (const CoordinateLabel& label : labels) {
    const auto span = Keys::read(label, question);
    if (!span) return std::unexpected(span.error());
    const std::vector<std::int64_t> places = entries_at(span->first, finder, question.coordinate);
    if (places.empty()) return not_there(label, span->first, finder, question);
    if (places.size() > 1)
      return question.refuse(fmt::format("the coordinate {} stands at {} positions ({}, {}, ...); isel= selects "
                                         "by position",
                                         text_of(label), places.size(), places[0], places[1]));
    runs.append(places.front());
  }
  if (runs.count() == 0) return question.refuse("the list is empty");
  return runs;
}

// The last part of a date that any of the times needs: kDay where all are at midnight.
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

// Is a date as fine as the times are, and so one of them? "2019-03-01" is one day of daily data, and a range
// of hourly data. Pandas decides so; a coordinate with dates of cftime only knows ranges.
bool means_one_time(const CoordinateLabel& label, const Coordinate& coordinate) {
  if (!coordinate.is_numpy_time()) return false;
  const auto period = parse_date(text_of(label), coordinate.calendar());
  return period && period->resolution >= resolution_of(coordinate);
}
bool means_one_value(const CoordinateLabel&, const KeySpan<double>&, const Coordinate&) { return true; }
bool means_one_value(const CoordinateLabel& label, const KeySpan<Moment>& span, const Coordinate& coordinate) {
  return span.is_one() || means_one_time(label, coordinate);
}

template <typename Keys>
Result<Chosen> entries_named(const CoordinateLabel& label, const Keys& keys, const Question& question) {
  const auto span = Keys::read(label, question);
  if (!span) return std::unexpected(span.error());
  const std::int64_t size = question.coordinate.size();
  Chosen chosen;
  if (means_one_value(label, *span, question.coordinate)) {
    const KeyFinder<Keys> finder(keys, size);
    const std::vector<std::int64_t> places = entries_at(span->first, finder, question.coordinate);
    if (places.empty()) return not_there(label, span->first, finder, question);
    for (const std::int64_t place : places) chosen.entries.append(place);
    chosen.drops_axis = places.size() == 1;
    return chosen;
  }
  for (std::int64_t i = 0; i < size; ++i)
    if (const auto key = keys.at(i); key && span->holds(*key)) chosen.entries.append(i);
  if (chosen.entries.count() == 0)
    return question.refuse(fmt::format("no time is in {}; {}", text_of(label), question.ends()));
  return chosen;
}

template <typename Keys>
Result<Chosen> choose(const Selection& selection, const Keys& keys, const Question& question) {
  if (const auto* label = std::get_if<CoordinateLabel>(&selection)) return entries_named(*label, keys, question);
  if (const auto* list = std::get_if<std::vector<CoordinateLabel>>(&selection)) {
    auto entries = entries_listed(*list, keys, question);
    if (!entries) return std::unexpected(std::move(entries).error());
    return Chosen{std::move(*entries), false};
  }
  const auto& range = std::get<CoordinateRange>(selection);
  if (range.step == 0) return question.refuse("a step of 0 leads nowhere");
  const std::int64_t size = question.coordinate.size();
  const bool is_backwards = range.step < 0;
  auto entries = entries_between(is_backwards ? CoordinateRange{range.to, range.from, 1} : range, keys, question);
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
  const Question question{coordinate, dimension, uri};
  if (coordinate.size() == 0) return question.refuse("the dimension has no entries");
  if (coordinate.is_time()) return choose(selection, TimeKeys{coordinate}, question);
  return choose(selection, NumberKeys{coordinate}, question);
}

Result<Chosen> select_by_position(const Positions& positions, std::int64_t extent,
                                  const std::string& dimension, const std::string& uri) {
  const auto refuse = [&](const std::string& message) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("isel {}: {}", dimension, message), {uri, -1, -1, -1});
  };
  Chosen chosen;
  if (const auto* range = std::get_if<IndexRange>(&positions)) {
    if (range->step == 0) return refuse("a step of 0 leads nowhere");
    const std::int64_t step = std::clamp(range->step, -std::max<std::int64_t>(extent, 1), std::max<std::int64_t>(extent, 1));
    const bool is_backwards = step < 0;
    // As Python's slices: going backwards, the place before the first ends them.
    const std::int64_t low = is_backwards ? -1 : 0, high = is_backwards ? extent - 1 : extent;
    const auto place = [&](std::optional<std::int64_t> index, std::int64_t otherwise) {
      if (!index) return otherwise;
      return std::clamp<std::int64_t>(*index < 0 ? *index + extent : *index, low, high);
    };
    const std::int64_t first = place(range->first, is_backwards ? high : low);
    const std::int64_t end = place(range->end, is_backwards ? low : high);
    const std::int64_t covered = is_backwards ? first - end : end - first;
    if (covered <= 0) return refuse(fmt::format("nothing is left of {} entries", extent));
    chosen.entries.append(IndexRun{first, (covered + std::abs(step) - 1) / std::abs(step), step});
    return chosen;
  }
  if (const auto* mask = std::get_if<std::vector<bool>>(&positions)) {
    if (std::ssize(*mask) != extent)
      return refuse(fmt::format("the mask has {} values, the dimension {} entries", mask->size(), extent));
    for (std::size_t i = 0; i < mask->size(); ++i)
      if ((*mask)[i]) chosen.entries.append(static_cast<std::int64_t>(i));
    if (chosen.entries.count() == 0) return refuse("the mask is false everywhere");
    return chosen;
  }
  const auto* one = std::get_if<std::int64_t>(&positions);
  const std::vector<std::int64_t> list =
      one != nullptr ? std::vector{*one} : std::get<std::vector<std::int64_t>>(positions);
  if (list.empty()) return refuse("the list is empty");
  for (const std::int64_t position : list) {
    if (position < -extent || position >= extent)
      return refuse(fmt::format("there is no position {}: the dimension has {} entries", position, extent));
    chosen.entries.append(position < 0 ? position + extent : position);
  }
  chosen.drops_axis = one != nullptr;
  return chosen;
}

}  // namespace penstock
