// The order of names that people expect: digits compare as numbers, so p2 comes before p10.
#pragma once

#include <string_view>

namespace penstock {

// A total order: names that differ only in leading zeros (p1, p01) are compared byte by byte. Only ASCII
// digits count as digits.
bool comes_before_naturally(std::string_view a, std::string_view b);

}  // namespace penstock
