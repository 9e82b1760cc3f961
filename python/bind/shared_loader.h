// A loader that Python threads share, and the list of those that are open: the interpreter must not end
// while a worker may still call into it.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <type_traits>

#include "errors.h"
#include "penstock/loader.h"

namespace penstock::python {

// Waits without the GIL. The engine's loader is thread-safe.
class SharedLoader {
 public:
  explicit SharedLoader(std::unique_ptr<Loader> loader) : loader_(std::move(loader)) {}

  template <typename Function>
  std::invoke_result_t<Function, Loader&> use(Function function) {
    if (abandoned_)
      raise({ErrorCode::kInvalidArgument, "this loader was made in another process", {}, false});
    const User user(users_);
    nanobind::gil_scoped_release release;
    return function(*loader_);
  }

  // Without the GIL. Also lets other threads come back from waiting: one that still waits for the GIL
  // when the interpreter ends would be killed in the middle of C++.
  void close();

  // In a forked child the workers do not exist: nothing of the loader may be touched, not even to
  // destroy it.
  void abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

 private:
  struct User {
    explicit User(std::atomic<int>& users) : users(users) { ++users; }
    ~User() { --users; }
    std::atomic<int>& users;
  };

  std::unique_ptr<Loader> loader_;
  std::atomic<int> users_ = 0;  // inside use(), GIL and all
  bool abandoned_ = false;      // under the GIL
};

using SharedLoaderPtr = std::shared_ptr<SharedLoader>;

// All under the GIL.
SharedLoaderPtr share_loader(std::unique_ptr<Loader> loader);
// The last that Python says of it: closes it, by another thread where this one is a worker of it.
void drop_loader(SharedLoaderPtr loader);
// When the interpreter ends: returns when no worker of any loader is left.
void close_all_loaders();
void abandon_all_loaders();

}  // namespace penstock::python
