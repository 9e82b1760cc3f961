// The labels of a selection, read as keys that can be compared with the entries of a coordinate.
//
// A key is a number or a moment in time, depending on the coordinate. All functions are thread-safe; errors name the
// dimension and the store.
#pragma once

#include <string>

#include "penstock/source.h"
#include "source/zarr/coordinate.h"

namespace penstock {

// The keys that a label means: all from `first` to `last`. For a number or a single moment, both are the same. A date
// such as "2019-03" means a period, which ends before `last`.
template <typename Key>
struct KeySpan {
  Key first, last;
  bool excludes_last = false;

  bool is_single() const { return !excludes_last; }
  bool reaches(const Key& key) const { return excludes_last ? key < last : key <= last; }
  bool contains(const Key& key) const { return key >= first && reaches(key); }
};

// The dimension that a selection refers to. Everything is borrowed for one call of select_by_value().
struct SelectionContext {
  const Coordinate& coordinate;
  const std::string& dimension;
  const std::string& uri;

  std::unexpected<Error> refuse(const std::string& message) const;
  // The first and the last coordinate, for messages.
  std::string ends() const;
};

// The label as the user wrote it.
std::string text_of(const CoordinateLabel& label);

// Fails where the label is not a number.
Result<KeySpan<double>> read_number(const CoordinateLabel& label, const SelectionContext& context);

// Fails where the label is not a date in the calendar of the coordinate.
Result<KeySpan<Moment>> read_moments(const CoordinateLabel& label, const SelectionContext& context);

}  // namespace penstock
