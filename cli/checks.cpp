#include "checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text/nearest_name.h"

namespace penstock::cli {
namespace {

template <typename Number>
bool is_between(const std::string& text, Number from, Number to) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= from && value <= to;
}

}  // namespace

CLI::Validator whole_number(std::uint64_t from, std::uint64_t to) {
  return {[=](std::string& text) {
            return is_between(text, from, to)
                       ? std::string()
                       : fmt::format("\"{}\" is not a whole number from {} to {}", text, from, to);
          },
          ""};
}

CLI::Validator seconds_up_to(double most) {
  return {[=](std::string& text) {
            return is_between(text, 0.0, most)
                       ? std::string()
                       : fmt::format("\"{}\" is not a number of seconds from 0 to {}", text, most);
          },
          ""};
}

CLI::Validator one_of(std::vector<std::string> names) {
  return {[names = std::move(names)](std::string& text) {
            if (std::ranges::find(names, text) != names.end()) return std::string();
            const auto near = nearest_name(text, names);
            return fmt::format("\"{}\" is not one of {}{}", text, fmt::join(names, ", "),
                               near ? fmt::format("; did you mean {}?", *near) : "");
          },
          ""};
}

}  // namespace penstock::cli
