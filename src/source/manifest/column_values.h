// The values of one column of a manifest, and the narrowest type that holds them all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock {

enum class ColumnType : std::uint8_t {
  kInteger,  // every cell is a whole number that fits 64 bits
  kReal,  // every cell is a finite number
  kText,
  kJson,  // JSON lines only: some row has an object, a list, true, false or null; cells are JSON text
};

// A column begins as integers and widens as cells are added. Numbers are converted once, when they are added, and
// discarded if the column turns out to hold other values.
class ColumnValues {
 public:
  void reserve(std::size_t rows) { integers_.reserve(rows); }

  // Adds a number if the cell looks like one, and text otherwise.
  void add_cell(std::string_view cell) {
    if (type_ < ColumnType::kText && !add_number(cell)) add_text();
  }

  // Returns false, and adds nothing, if `number` is not a finite number.
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
