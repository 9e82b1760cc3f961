#include "source/zarr/time/calendar.h"

#include <gtest/gtest.h>

#include "source/zarr/time/date_text.h"
#include "source/zarr/time/time_units.h"

namespace penstock {
namespace {

constexpr Calendar kAll[] = {Calendar::kStandard, Calendar::kProlepticGregorian, Calendar::kJulian,
                             Calendar::kNoLeap,   Calendar::kAllLeap,            Calendar::k360Day};

TEST(Calendar, every_day_has_one_date_and_the_dates_follow_one_another) {
  for (const Calendar calendar : kAll) {
    Date before = date_of_day(calendar, -800'000);
    for (std::int64_t day = -799'999; day < 200'000; ++day) {
      const Date date = date_of_day(calendar, day);
      ASSERT_EQ(*day_number(calendar, date), day) << name_of(calendar);
      const bool follows = date.day == before.day + 1 ? date.month == before.month && date.year == before.year
                                                      : date.day == 1 || date == Date{1582, 10, 15};
      ASSERT_TRUE(follows) << name_of(calendar) << " " << date.year << "-" << date.month << "-" << date.day;
      before = date;
    }
  }
}

TEST(Calendar, known_days) {
  EXPECT_EQ(day_number(Calendar::kProlepticGregorian, {1, 1, 1}), -719'162);
  EXPECT_EQ(day_number(Calendar::kStandard, {1, 1, 1}), -719'164);
  EXPECT_EQ(day_number(Calendar::kStandard, {-1, 12, 31}), -719'165);
  EXPECT_EQ(day_number(Calendar::kProlepticGregorian, {0, 12, 31}), -719'163);
  EXPECT_EQ(*day_number(Calendar::kStandard, {1582, 10, 4}) + 1, *day_number(Calendar::kStandard, {1582, 10, 15}));
  EXPECT_EQ(day_number(Calendar::kJulian, {1969, 12, 19}), 0);
  EXPECT_EQ(day_number(Calendar::kNoLeap, {1974, 1, 1}), 4 * 365);
  EXPECT_EQ(day_number(Calendar::k360Day, {1970, 2, 30}), 59);
}

TEST(Calendar, days_that_a_calendar_has_not_are_refused_by_name) {
  const auto message = [](Calendar calendar, const Date& date) {
    const auto day = day_number(calendar, date);
    return day ? std::string("there is such a day") : day.error().message;
  };
  EXPECT_EQ(message(Calendar::kNoLeap, {2020, 2, 29}),
            "there is no 2020-02-29 in the calendar \"noleap\": that month has 28 days");
  EXPECT_EQ(message(Calendar::kStandard, {1582, 10, 10}),
            "there is no 1582-10-10 in the calendar \"standard\": 1582-10-15 follows 1582-10-04");
  EXPECT_NE(message(Calendar::k360Day, {2020, 1, 31}).find("30 days"), std::string::npos);
  EXPECT_NE(message(Calendar::kStandard, {0, 1, 1}).find("year"), std::string::npos);
  EXPECT_NE(message(Calendar::kJulian, {1900, 13, 1}).find("1 to 12"), std::string::npos);
  EXPECT_TRUE(day_number(Calendar::kJulian, {1900, 2, 29}));
  EXPECT_FALSE(day_number(Calendar::kStandard, {1900, 2, 29}));
  EXPECT_TRUE(day_number(Calendar::kStandard, {1500, 2, 29}));
  EXPECT_FALSE(parse_calendar("lunar"));
}

std::string moment(std::string_view text, Calendar calendar = Calendar::kStandard) {
  const auto period = parse_date(text, calendar);
  return period ? to_text(calendar, period->begin) + " " + to_text(calendar, period->end)
                : period.error().message;
}

TEST(DateText, periods_go_to_the_beginning_of_the_next) {
  EXPECT_EQ(moment("2019"), "2019-01-01T00:00:00 2020-01-01T00:00:00");
  EXPECT_EQ(moment("2019-12"), "2019-12-01T00:00:00 2020-01-01T00:00:00");
  EXPECT_EQ(moment("1582-10-04"), "1582-10-04T00:00:00 1582-10-15T00:00:00");
  EXPECT_EQ(moment("-0001"), "-001-01-01T00:00:00 0001-01-01T00:00:00");
  EXPECT_EQ(moment("2019-02", Calendar::k360Day), "2019-02-01T00:00:00 2019-03-01T00:00:00");
  EXPECT_EQ(moment("2019-03-01T12"), "2019-03-01T12:00:00 2019-03-01T13:00:00");
  EXPECT_EQ(moment("2019-03-01 12:30"), "2019-03-01T12:30:00 2019-03-01T12:31:00");
  EXPECT_EQ(moment("2019-03-01T12:30:05.25"), "2019-03-01T12:30:05.25 2019-03-01T12:30:05.251");
}

TEST(DateText, what_cftime_reads_besides) {
  EXPECT_EQ(moment("1800-1-1 00:00:0.0").substr(0, 19), "1800-01-01T00:00:00");
  EXPECT_EQ(moment("1-1-1").substr(0, 19), "0001-01-01T00:00:00");
  EXPECT_EQ(moment("19700102").substr(0, 19), "1970-01-02T00:00:00");
  EXPECT_EQ(moment("2000-01-01T00:00:00Z").substr(0, 19), "2000-01-01T00:00:00");
  EXPECT_EQ(moment("2000-01-01 00:00:00 UTC").substr(0, 19), "2000-01-01T00:00:00");
  EXPECT_EQ(moment("2000-01-01 00:00:00 0:00").substr(0, 19), "2000-01-01T00:00:00");
  EXPECT_EQ(moment("2000-01-01T00:00:00+01:30").substr(0, 19), "1999-12-31T22:30:00");
  EXPECT_EQ(moment("2000-01-01 00:00 -0600").substr(0, 19), "2000-01-01T06:00:00");
}

TEST(DateText, what_is_no_date) {
  for (const char* text : {"", "x", "2019-", "2019-3-", "2019-03-01T", "2019-03-01T25", "2019-03-01T12:60", "201903",
                           "2019-03-01T12:00:00 CET", "2019-03 12:00", "2019/03/01", "2019-03-01T12:00:00.", "--1",
                           "2019-03-01T00:00:61", "999999999999999999999-01-01"})
    EXPECT_NE(moment(text).find("date"), std::string::npos) << text << ": " << moment(text);
}

TEST(TimeUnits, units_without_a_fixed_length_are_refused) {
  for (const char* units : {"months since 2000-01-01", "years since 2000-01-01", "common_years since 2000-01-01",
                            "fortnights since 2000-01-01", "hours after 2000-01-01", "hours", "", "hours since",
                            "hours since noon", "hours since 2001-02-29"})
    EXPECT_FALSE(parse_time_units(units, "")) << units;
  EXPECT_TRUE(parse_time_units("months since 2000-01-01", "360_day"));
  EXPECT_TRUE(parse_time_units("common_years since 2000-01-01", "noleap"));
  EXPECT_FALSE(parse_time_units("days since 2000-01-01", "tai"));
}

TEST(TimeUnits, numbers_beyond_all_years_are_no_moments) {
  const auto units = *parse_time_units("days since 2000-01-01", "");
  EXPECT_FALSE(units.decode(INT64_MAX));
  EXPECT_FALSE(units.decode(INT64_MIN));
  EXPECT_FALSE(units.decode(1e300, TimeUnits::Fractions::kRoundToMicroseconds));
  EXPECT_FALSE(units.decode(-1e300, TimeUnits::Fractions::kTruncateToNanoseconds));
  EXPECT_TRUE(units.decode(std::int64_t{36'500'000}));
}

TEST(TimeUnits, datetime64_of_numpy) {
  EXPECT_EQ(to_text(Calendar::kStandard, *numpy_time_units("10s")->decode(std::int64_t{-1})), "1969-12-31T23:59:50");
  EXPECT_FALSE(numpy_time_units("M"));
  EXPECT_FALSE(numpy_time_units("generic"));
  EXPECT_FALSE(numpy_time_units("9999999999999999999999s"));
  EXPECT_FALSE(numpy_time_units("9999999999999W"));
}

}  // namespace
}  // namespace penstock
