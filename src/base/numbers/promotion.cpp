#include "base/numbers/promotion.h"

#include <utility>

namespace penstock {
namespace {

bool is_float(DType dtype) { return dtype >= DType::kFloat16 && dtype <= DType::kFloat64; }
bool is_unsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 ||
         dtype == DType::kUInt64;
}

// Returns a signed type that holds all numbers of this unsigned one, or float64 if there is none.
DType signed_above(DType dtype) {
  switch (dtype) {
    case DType::kUInt8: return DType::kInt16;
    case DType::kUInt16: return DType::kInt32;
    case DType::kUInt32: return DType::kInt64;
    default: return DType::kFloat64;
  }
}

DType of_floats(DType a, DType b) {
  if (a == b) return a;
  if (size_of(a) == 2 && size_of(b) == 2) return DType::kFloat32;  // float16 and bfloat16
  return size_of(a) > size_of(b) ? a : b;
}

// Half precision holds integers of 8 bits, single precision those of 16.
DType of_float_and_integer(DType real, DType integer) {
  switch (size_of(integer)) {
    case 1: return real;
    case 2: return of_floats(real, DType::kFloat32);
    default: return DType::kFloat64;
  }
}

DType of_integers(DType a, DType b) {
  if (is_unsigned(a) == is_unsigned(b)) return size_of(a) > size_of(b) ? a : b;
  if (is_unsigned(b)) std::swap(a, b);
  return size_of(b) > size_of(a) ? b : signed_above(a);
}

}  // namespace

DType promoted(DType a, DType b) {
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (is_float(a) && is_float(b)) return of_floats(a, b);
  if (is_float(a)) return of_float_and_integer(a, b);
  if (is_float(b)) return of_float_and_integer(b, a);
  return of_integers(a, b);
}

}  // namespace penstock
