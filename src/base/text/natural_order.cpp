#include "base/text/natural_order.h"

namespace penstock {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the run of digits that the text begins with, without its leading zeros.
std::string_view take_number(std::string_view& text) {
  std::size_t end = 0, first = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  while (first < end && text[first] == '0') ++first;
  const std::string_view number = text.substr(first, end - first);
  text.remove_prefix(end);
  return number;
}

}  // namespace

bool comes_before_naturally(std::string_view a, std::string_view b) {
  std::string_view rest_a = a, rest_b = b;
  while (!rest_a.empty() && !rest_b.empty()) {
    if (is_digit(rest_a.front()) && is_digit(rest_b.front())) {
      const std::string_view number_a = take_number(rest_a), number_b = take_number(rest_b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
      continue;
    }
    if (rest_a.front() != rest_b.front())
      return static_cast<unsigned char>(rest_a.front()) < static_cast<unsigned char>(rest_b.front());
    rest_a.remove_prefix(1);
    rest_b.remove_prefix(1);
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
  return a < b;
}

}  // namespace penstock
