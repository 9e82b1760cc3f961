// The values of one column of a manifest, and the narrowest type that holds them all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

enum class ColumnType : std::uint8_t {
  kInteger,  // every cell is a whole number that fits 64 bits
  kReal,     // every cell is a finite number
  kText,
  kJson,  // JSON lines: an object, a list, true, false or null in some row; cells are JSON text
};

// Starts as integers and widens as cells come; numbers are converted once, on arrival, and dropped when
// the column turns out to hold something else.
class ColumnValues {
 public:
  void reserve(std::size_t rows) { integers_.reserve(rows); }

  // A number where the cell looks like one, else text.
  void add_cell(std::string_view cell) {
    if (type_ < ColumnType::kText && !add_number(cell)) add_text();
  }

  // False where `number` is no finite number; then nothing is added.
  bool add_number(std::string_view number);
  void add_text() { widen(ColumnType::kText); }
  void add_json() { widen(ColumnType::kJson); }

  ColumnType type() const { return type_; }
  std::int64_t integer(std::uint64_t row) const { return integers_[row]; }
  double real(std::uint64_t row) const {
    return type_ == ColumnType::kInteger ? static_cast<double>(integers_[row]) : reals_[row];
  }

 private:
  void widen(ColumnType type);

  ColumnType type_ = ColumnType::kInteger;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
};

}  // namespace penstock
