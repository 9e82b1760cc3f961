#include "errors.h"

#include <nanobind/stl/string.h>

#include "base/text/public_uri.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

const char* code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kNoAccess: return "no_access";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kTruncated: return "truncated";
    case ErrorCode::kChanged: return "changed";
    case ErrorCode::kCorrupt: return "corrupt";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kTooLarge: return "too_large";
    case ErrorCode::kNoMemory: return "no_memory";
    case ErrorCode::kShapeMismatch: return "shape_mismatch";
    case ErrorCode::kCallback: return "callback";
    case ErrorCode::kTooManySkipped: return "too_many_skipped";
    case ErrorCode::kStopped: return "stopped";
  }
  return "corrupt";
}

nb::object or_none(std::int64_t value) { return value < 0 ? nb::none() : nb::object(nb::int_(value)); }

}  // namespace

nb::str file_text(const std::string& text) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

nb::dict error_dict(const Error& error) {
  nb::dict out;
  out["code"] = code_name(error.code);
  out["message"] = file_text(error.message);
  out["uri"] = error.where.uri.empty() ? nb::none() : nb::object(file_text(without_secrets(error.where.uri)));
  out["offset"] = or_none(error.where.offset);
  out["length"] = or_none(error.where.length);
  out["sample"] = or_none(error.where.sample);
  return out;
}

std::shared_ptr<const void> cause_of(const nb::python_error& error) {
  return std::make_shared<nb::python_error>(error);
}

void raise(const Error& error) {
  const auto* cause = static_cast<const nb::python_error*>(error.cause.get());
  if (cause != nullptr && !cause->matches(PyExc_Exception)) throw nb::python_error(*cause);
  const nb::object exception = nb::module_::import_("penstock.errors")
                                   .attr("_from_core")(error_dict(error), file_text(error.describe()));
  if (cause != nullptr) PyException_SetCause(exception.ptr(), nb::borrow(cause->value()).release().ptr());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace penstock::python
