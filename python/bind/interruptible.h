// Runs long work of the engine for Python. Other threads run meanwhile, and Ctrl-C ends the work.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <functional>
#include <type_traits>

#include "penstock/interruption.h"

namespace penstock::python {

// Call it without the GIL. An exception that a signal handler raised meanwhile is still set afterwards; then
// call raise_interruption().
template <typename Work>
std::invoke_result_t<Work> look_for_signals(Work work) {
  Interruption interruption([] {
    const nanobind::gil_scoped_acquire gil;
    return PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0;
  });
  const Interruption::Scope scope(&interruption, true);
  return work();
}

inline void raise_interruption() {
  if (PyErr_Occurred()) throw nanobind::python_error();
}

// Call it with the GIL, which it releases while it works.
template <typename Work>
std::invoke_result_t<Work> run_interruptibly(Work work) {
  auto result = [&] {
    const nanobind::gil_scoped_release release;
    return look_for_signals(std::move(work));
  }();
  raise_interruption();
  return result;
}

// Makes the engine's `progress` from a Python function, which must outlive it. An exception stops the work and
// is raised when the work has ended.
inline std::function<bool(std::uint64_t)> progress_of(const nanobind::object& callback) {
  if (callback.is_none()) return {};
  return [&callback](std::uint64_t done) {
    const nanobind::gil_scoped_acquire gil;
    if (PyErr_Occurred()) return false;
    try {
      callback(done);
    } catch (nanobind::python_error& error) {
      error.restore();
      return false;
    }
    return PyErr_CheckSignals() == 0;
  };
}

}  // namespace penstock::python
