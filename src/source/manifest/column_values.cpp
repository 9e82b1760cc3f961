#include "source/manifest/column_values.h"

#include "source/manifest/decimal_number.h"

namespace penstock {

bool ColumnValues::add_number(std::string_view number) {
  const DecimalNumber parsed = parse_decimal(number);
  if (parsed.kind == DecimalNumber::Kind::kNone) return false;
  if (parsed.kind == DecimalNumber::Kind::kReal) widen(ColumnType::kReal);
  if (type_ == ColumnType::kInteger) integers_.push_back(parsed.integer);
  if (type_ == ColumnType::kReal) reals_.push_back(parsed.real);
  return true;
}

void ColumnValues::widen(ColumnType type) {
  if (type <= type_) return;
  if (type == ColumnType::kReal) {
    reals_.reserve(integers_.capacity());
    reals_.assign(integers_.begin(), integers_.end());
  } else {
    reals_ = {};
  }
  integers_ = {};
  type_ = type;
}

}  // namespace penstock
