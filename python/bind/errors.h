// Turns error values into Python exceptions. No other file does.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "penstock/result.h"

namespace penstock::python {

// Raises the exception of penstock.errors that fits the code. An exception of the user's own function becomes
// its __cause__, except that KeyboardInterrupt and SystemExit are raised themselves.
[[noreturn]] void raise(const Error& error);

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Returns the exception with its traceback, for Error::cause. Any thread may destroy it, also while the
// interpreter ends.
std::shared_ptr<const void> cause_of(const nanobind::python_error& error);

// Returns the name of a file as os.fsdecode does: bytes that are not UTF-8 are escaped.
nanobind::str file_text(const std::string& text);

// Returns the dict that penstock/stats.py declares as ErrorRecord.
nanobind::dict error_dict(const Error& error);

}  // namespace penstock::python
