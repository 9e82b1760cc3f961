// A loader that Python threads share, and the list of all open loaders. The interpreter must not end while a
// worker of one of them may still call into it.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <type_traits>

#include "errors.h"
#include "penstock/loader.h"

namespace penstock::python {

// Releases the GIL while the engine works. Any thread may call it.
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

  // Call it without the GIL. It waits until other threads have left use(): a thread that still waits for the GIL
  // when the interpreter ends would be killed in the middle of C++.
  void close();

  // For a forked child, in which the workers do not exist. From now on nothing touches the loader, not even to
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
  std::atomic<int> users_ = 0;  // threads inside use()
  bool abandoned_ = false;      // guarded by the GIL
};

using SharedLoaderPtr = std::shared_ptr<SharedLoader>;

// The caller of each of these holds the GIL.
SharedLoaderPtr share_loader(std::unique_ptr<Loader> loader);
// Closes the loader when Python no longer refers to it. A worker of the loader leaves that to another thread.
void drop_loader(SharedLoaderPtr loader);
// Returns when no loader has a worker any more. Called when the interpreter ends.
void close_all_loaders();
// Abandons all loaders of the parent process, in a forked child.
void abandon_all_loaders();

}  // namespace penstock::python
