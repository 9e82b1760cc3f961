#include "source/zarr/selection_label.h"

#include <fmt/format.h>

#include <charconv>

#include "source/zarr/time/date_text.h"

namespace penstock {

std::unexpected<Error> SelectionContext::refuse(const std::string& message) const {
  return fail(ErrorCode::kInvalidArgument, fmt::format("select {}: {}", dimension, message), {uri, -1, -1, -1});
}

std::string SelectionContext::ends() const {
  return fmt::format("they go from {} to {}", coordinate.text(0), coordinate.text(coordinate.size() - 1));
}

std::string text_of(const CoordinateLabel& label) {
  if (const auto* number = std::get_if<double>(&label)) return fmt::format("{}", *number);
  if (const auto* date = std::get_if<CoordinateDate>(&label)) return date->text;
  return std::get<TypedCoordinate>(label).text;
}

Result<KeySpan<double>> read_number(const CoordinateLabel& label, const SelectionContext& context) {
  if (const auto* number = std::get_if<double>(&label)) return KeySpan<double>{*number, *number};
  if (const auto* typed = std::get_if<TypedCoordinate>(&label)) {
    double number = 0;
    const char* end = typed->text.data() + typed->text.size();
    const auto [stop, error] = std::from_chars(typed->text.data(), end, number);
    if (error == std::errc{} && stop == end) return KeySpan<double>{number, number};
  }
  return context.refuse(fmt::format("\"{}\" is no number, and its coordinates are no dates: {}", text_of(label),
                                     context.coordinate.why_not_time()));
}

Result<KeySpan<Moment>> read_moments(const CoordinateLabel& label, const SelectionContext& context) {
  const Calendar calendar = context.coordinate.calendar();
  if (std::holds_alternative<double>(label))
    return context.refuse(
        fmt::format("{} is a number, but its coordinates are dates: write a date (\"2019-03\"), or use isel= "
                    "for positions",
                    text_of(label)));
  const auto* date = std::get_if<CoordinateDate>(&label);
  if (date != nullptr && !date->calendar.empty()) {
    const auto own = parse_calendar(date->calendar);
    if (!own) return context.refuse(own.error().message);
    if (*own != calendar)
      return context.refuse(fmt::format("the date {} is of the calendar \"{}\", the coordinate of \"{}\"",
                                         date->text, name_of(*own), name_of(calendar)));
  }
  const auto period = parse_date(text_of(label), calendar);
  if (!period) return context.refuse(period.error().message);
  if (date != nullptr && date->is_moment) return KeySpan<Moment>{period->begin, period->begin};
  return KeySpan<Moment>{period->begin, period->end, true};
}

}  // namespace penstock
