// The options of stores in buckets, which hold while a source is opened.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>

#include "bind.h"
#include "store/s3/s3_options_scope.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock::python {
namespace {

// A thread that waits for Python's lock while Python ends is ended by it, without a return to C++. So no call begins once
// Python ends, and Python waits a while for those that run.
std::atomic<bool> is_python_ending{false};
std::atomic<int> running_calls{0};
constexpr std::chrono::seconds kLongestGoodbye{5};

struct RunningCall {
  RunningCall() { ++running_calls; }
  RunningCall(const RunningCall&) = delete;
  ~RunningCall() { --running_calls; }
};

void end_calls() {
  is_python_ending = true;
  const nb::gil_scoped_release unlocked;
  const auto end = std::chrono::steady_clock::now() + kLongestGoodbye;
  while (running_calls > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

constexpr double kLastSecond = 9e9;  // since 1970: in the year 2255, which the system's clock can hold

// A Python function that any thread may call and destroy.
class CredentialFunction {
 public:
  explicit CredentialFunction(nb::object function) : function_(std::move(function)) {}
  CredentialFunction(const CredentialFunction&) = delete;
  ~CredentialFunction() {
    const RunningCall call;
    if (is_python_ending || !Py_IsInitialized()) {
      function_.release();
      return;
    }
    const nb::gil_scoped_acquire gil;
    function_.reset();
  }

  // The text of an exception may hold a secret, so only its type is told.
  Result<S3Credentials> operator()() const {
    const RunningCall call;
    if (is_python_ending || !Py_IsInitialized()) return fail(ErrorCode::kStopped, "Python has ended");
    const nb::gil_scoped_acquire gil;
    using Given = std::tuple<std::string, std::string, std::string, std::string, std::optional<double>>;
    try {
      const auto [id, secret, session, bearer, expires] = nb::cast<Given>(function_());
      S3Credentials credentials{id, secret, session, bearer};
      if (expires)
        credentials.expires = std::chrono::system_clock::time_point(
            std::chrono::duration_cast<std::chrono::system_clock::duration>(
                std::chrono::duration<double>(*expires >= 0 ? std::min(*expires, kLastSecond) : 0)));
      return credentials;
    } catch (const nb::python_error& error) {
      const std::string type = nb::cast<std::string>(error.type().attr("__name__"));
      return fail(ErrorCode::kNoAccess, "the function credentials= failed (" + type + ")");
    } catch (const nb::cast_error&) {
      return fail(ErrorCode::kNoAccess, "the function credentials= returned something else than credentials");
    }
  }

 private:
  nb::object function_;
};

// Used by one thread, in a with statement.
class StorageScope {
 public:
  StorageScope(std::string endpoint, std::string region, std::string profile, std::string addressing, bool anonymous,
               bool requester_pays, nb::object credentials) {
    options_.endpoint = std::move(endpoint);
    options_.region = std::move(region);
    options_.profile = std::move(profile);
    options_.addressing = std::move(addressing);
    options_.is_anonymous = anonymous;
    options_.requester_pays = requester_pays;
    if (!credentials.is_none())
      options_.credentials = [function = std::make_shared<const CredentialFunction>(std::move(credentials))] {
        return (*function)();
      };
  }

  void enter() { scope_.emplace(options_); }
  void exit() { scope_.reset(); }

 private:
  S3Options options_;
  std::optional<S3OptionsScope> scope_;
};

}  // namespace

void bind_storage(nb::module_& m) {
  nb::class_<StorageScope>(m, "StorageScope")
      .def(nb::init<std::string, std::string, std::string, std::string, bool, bool, nb::object>(), nb::kw_only(),
           "endpoint"_a, "region"_a, "profile"_a, "addressing"_a, "anonymous"_a, "requester_pays"_a,
           "credentials"_a.none())
      .def("enter", &StorageScope::enter)
      .def("exit", &StorageScope::exit);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_calls));
}

}  // namespace penstock::python
