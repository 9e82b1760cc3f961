// .npy files as NumPy writes them, and as it never would.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/array.h"

namespace penstock {

inline void append(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto* raw = static_cast<const std::byte*>(data);
  out.insert(out.end(), raw, raw + size);
}

// A header with this text, padded as NumPy does.
inline std::vector<std::byte> npy_with_header(std::string text, int major = 1) {
  const std::size_t prefix = major == 1 ? 10 : 12;
  while ((prefix + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::vector<std::byte> out;
  append(out, "\x93NUMPY", 6);
  const char version[2] = {static_cast<char>(major), 0};
  append(out, version, 2);
  const auto length = static_cast<std::uint32_t>(text.size());
  append(out, &length, major == 1 ? 2 : 4);
  append(out, text.data(), text.size());
  return out;
}

inline std::string npy_dict(std::string_view descr, const Shape& shape, bool fortran = false) {
  std::string text = "{'descr': '" + std::string(descr) +
                     "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': (";
  for (const auto extent : shape) text += std::to_string(extent) + ", ";
  if (shape.size() > 1)
    text.resize(text.size() - 2);
  else if (shape.size() == 1)
    text.pop_back();
  return text + "), }";
}

template <typename T>
std::vector<std::byte> make_npy(std::string_view descr, const Shape& shape, const std::vector<T>& values,
                                bool fortran = false) {
  auto out = npy_with_header(npy_dict(descr, shape, fortran));
  append(out, values.data(), values.size() * sizeof(T));
  return out;
}

}  // namespace penstock
