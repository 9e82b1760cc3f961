// Error values become Python exceptions here and nowhere else.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "penstock/result.h"

namespace penstock::python {

// Raises the exception of penstock.errors that fits the code. What the user's own function raised is its
// __cause__; one that is no Exception (KeyboardInterrupt, SystemExit) is raised itself.
[[noreturn]] void raise(const Error& error);

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// For Error::cause: the exception with its traceback. Any thread may drop it, at the interpreter's end too.
std::shared_ptr<const void> cause_of(const nanobind::python_error& error);

// File names are bytes: what is not UTF-8 comes as os.fsdecode would give it.
nanobind::str file_text(const std::string& text);

// (code name, message, uri, offset, length, sample), as penstock.errors and stats() want it.
nanobind::dict error_dict(const Error& error);

}  // namespace penstock::python
