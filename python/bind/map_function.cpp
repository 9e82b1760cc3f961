#include "map_function.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>

#include "arrays.h"
#include "errors.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

// Describes an exception: "KeyError: 'x' (line 12 of train.py, in shrink)". Printing it may fail in turn, but no
// exception may leave this function, because nothing above a worker would catch it.
std::string describe(const nb::python_error& error) noexcept try {
  const nb::object value = nb::borrow(error.value());
  std::string text = nb::cast<std::string>(nb::handle(error.type()).attr("__name__"));
  text += ": " + nb::cast<std::string>(nb::str(value));
  const nb::object frames = nb::module_::import_("traceback").attr("extract_tb")(value.attr("__traceback__"));
  const std::size_t count = nb::len(frames);
  if (count == 0) return text;
  const nb::object last = frames[count - 1];
  return text + " (line " + std::to_string(nb::cast<int>(last.attr("lineno"))) + " of " +
         nb::cast<std::string>(last.attr("filename")) + ", in " + nb::cast<std::string>(last.attr("name")) +
         ")";
} catch (...) {
  return "an exception that cannot be printed";
}

std::string python_type(nb::handle value) { return nb::cast<std::string>(value.type().attr("__name__")); }

nb::object json() { return nb::module_::import_("json"); }

nb::object to_python(const MapValue& value) {
  switch (value.kind) {
    case MapValue::Kind::kArray: break;
    case MapValue::Kind::kText: return file_text(value.text);
    case MapValue::Kind::kJson: return json().attr("loads")(file_text(value.text));
    case MapValue::Kind::kBytes: return nb::bytes(value.text.data(), value.text.size());
  }
  // The function may keep its argument or write to it, so memory that is lent for the call alone is copied.
  auto owner = std::const_pointer_cast<void>(value.array.data);
  const bool is_lent = owner.use_count() == 0;
  const nb::object array = numpy_array(owner.get(), value.array.spec, is_lent ? nullptr : owner);
  return is_lent ? array.attr("copy")() : array;
}

std::string text_of(nb::handle bytes) {
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

bool is_array(nb::handle value) {
  return nb::hasattr(value, "__array__") || nb::hasattr(value, "__dlpack__");
}

}  // namespace

MapFunction::MapFunction(nb::object function, std::vector<std::string> fields, bool wants_generator)
    : function_(std::move(function)),
      fields_(std::move(fields)),
      wants_generator_(wants_generator) {}

MapFunction::~MapFunction() {
  nb::gil_scoped_acquire gil;
  function_.reset();
}

Result<std::vector<MapValue>> MapFunction::operator()(std::vector<MapValue> values,
                                                      const MapDraws& draws) const {
  nb::gil_scoped_acquire gil;
  // Python code must not run while the exception of a signal handler waits to be raised.
  if (PyErr_Occurred()) return fail(ErrorCode::kStopped, "stopped before Map was called");
  try {
    return call(std::move(values), draws);
  } catch (const nb::python_error& error) {
    // Ctrl-C and exit() are for the whole program; they are not errors of this sample.
    const ErrorCode code = error.matches(PyExc_Exception) ? ErrorCode::kCallback : ErrorCode::kStopped;
    return std::unexpected(Error{code, "Map raised " + describe(error), {}, false, cause_of(error)});
  } catch (const std::exception& error) {
    return fail(ErrorCode::kCallback, std::string("Map failed: ") + error.what());
  }
}

Result<std::vector<MapValue>> MapFunction::call(std::vector<MapValue> values, const MapDraws& draws) const {
  nb::list arguments;
  for (const MapValue& value : values) arguments.append(to_python(value));
  if (wants_generator_)
    arguments.append(nb::module_::import_("penstock.map_generator")
                         .attr("make_generator")(draws.seed, draws.epoch, draws.position, draws.step));
  return read_returned(function_(*nb::tuple(arguments)), std::move(values));
}

Result<std::vector<MapValue>> MapFunction::read_returned(nb::handle returned,
                                                         std::vector<MapValue> values) const {
  const auto put = [&](std::size_t field, nb::handle value) -> Status {
    auto read = read_value(field, value, values[field].kind);
    if (!read) return std::unexpected(std::move(read).error());
    values[field] = std::move(*read);
    return {};
  };
  if (nb::isinstance<nb::dict>(returned) && !fields_.empty() &&
      !(fields_.size() == 1 && values[0].kind == MapValue::Kind::kJson)) {
    for (const auto& [key, value] : nb::borrow<nb::dict>(returned)) {
      const std::string name = nb::cast<std::string>(nb::str(key));
      const auto found = std::ranges::find(fields_, name);
      if (found == fields_.end())
        return fail(ErrorCode::kCallback,
                    "Map returned a dict with \"" + name + "\", which is not among its fields");
      PENSTOCK_CHECK(put(static_cast<std::size_t>(found - fields_.begin()), value));
    }
    return values;
  }
  if (values.size() == 1) {
    // Like a Map over several fields, one that names a single field may return a tuple.
    const bool is_tuple = !fields_.empty() && nb::isinstance<nb::tuple>(returned) && nb::len(returned) == 1;
    PENSTOCK_CHECK(put(0, is_tuple ? nb::object(returned[0]) : nb::borrow(returned)));
    return values;
  }
  if (!nb::isinstance<nb::tuple>(returned) && !nb::isinstance<nb::list>(returned))
    return fail(ErrorCode::kCallback, "Map returned " + python_type(returned) + "; with " +
                                          std::to_string(fields_.size()) +
                                          " fields it returns a tuple of as many values, or a dict of those "
                                          "that change");
  if (nb::len(returned) != values.size())
    return fail(ErrorCode::kCallback, "Map returned " + std::to_string(nb::len(returned)) + " values for " +
                                          std::to_string(values.size()) + " fields");
  for (std::size_t field = 0; field < values.size(); ++field)
    PENSTOCK_CHECK(put(field, nb::object(returned[field])));
  return values;
}

// JSON remains JSON and text remains text, unless the function returns an array.
Result<MapValue> MapFunction::read_value(std::size_t field, nb::handle value, MapValue::Kind before) const {
  if (!fields_.empty() && !is_array(value)) {
    if (before == MapValue::Kind::kJson)
      return MapValue{MapValue::Kind::kJson, {}, nb::cast<std::string>(json().attr("dumps")(value))};
    if (nb::isinstance<nb::str>(value))
      return MapValue{MapValue::Kind::kText, {}, text_of(value.attr("encode")("utf-8", "surrogateescape"))};
    if (nb::isinstance<nb::bytes>(value)) return MapValue{MapValue::Kind::kBytes, {}, text_of(value)};
    if (value.is_none() || nb::isinstance<nb::dict>(value))
      return fail(ErrorCode::kCallback, "Map returned " + python_type(value) + name_of(field) +
                                            "; return an array, a number or a str");
  }
  MapValue out;
  auto array = array_from_python(value);
  if (!array) {
    array.error().message += name_of(field);
    return std::unexpected(std::move(array).error());
  }
  out.array = std::move(*array);
  return out;
}

std::string MapFunction::name_of(std::size_t field) const {
  return fields_.empty() ? "" : " for field \"" + fields_[field] + "\"";
}

namespace {

std::vector<std::string> field_names(nb::handle fields) {
  if (fields.is_none()) return {};
  if (nb::isinstance<nb::str>(fields))
    throw nb::type_error(("fields='" + nb::cast<std::string>(fields) + "': wants a list, ['" +
                          nb::cast<std::string>(fields) + "']")
                             .c_str());
  std::vector<std::string> names;
  for (const nb::handle name : nb::list(nb::borrow(fields))) {
    if (!nb::isinstance<nb::str>(name)) throw nb::type_error("fields: wants a list of names");
    names.push_back(nb::cast<std::string>(name));
  }
  if (names.empty()) throw nb::value_error("fields is empty; leave it out for the field whose step this is");
  return names;
}

}  // namespace

void bind_map(nb::module_& m) {
  nb::class_<Map>(
      m, "Map",
      "Your own function: a NumPy array in ((H, W, C) for images), an array out.\n\n"
      "fields: the function gets these fields at once, in this order, after the steps before it of each of\n"
      "them, and returns a tuple in the same order, or a dict of those that change. Texts come as str, JSON "
      "as\n"
      "objects; a text that is returned as an array is delivered as one. They need not be delivered.\n"
      "generator: the last argument is a numpy.random.Generator of the sample's own, the same on any number\n"
      "of threads and ranks.\n"
      "It runs in worker threads, under the GIL, so keep it small. An exception is the __cause__ of the\n"
      "penstock.Error that the loader raises.")
      .def(
          "__init__",
          [](Map* self, nb::object function, nb::object fields, bool generator) {
            if (!PyCallable_Check(function.ptr())) throw nb::type_error("Map wants a function");
            std::vector<std::string> names = field_names(fields);
            auto shared = std::make_shared<MapFunction>(std::move(function), names, generator);
            new (self) Map{std::make_shared<const Map::Function>(
                               [shared](std::vector<MapValue> values, const MapDraws& draws) {
                                 return (*shared)(std::move(values), draws);
                               }),
                           std::move(names)};
          },
          "function"_a, nb::kw_only(), "fields"_a = nb::none(), "generator"_a = false)
      .def_ro("fields", &Map::fields,
              "The fields that the function gets; empty: the one whose step this is.");
}

}  // namespace penstock::python
