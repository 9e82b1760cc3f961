// A value that can only be reached while its mutex is held.
#pragma once

#include <mutex>
#include <utility>

namespace penstock {

template <typename T>
class Guarded {
 public:
  class Access {
   public:
    T* operator->() { return value_; }
    T& operator*() { return *value_; }

   private:
    friend class Guarded;
    Access(std::mutex& mutex, T& value) : lock_(mutex), value_(&value) {}
    std::unique_lock<std::mutex> lock_;
    T* value_;
  };

  template <typename... Arguments>
  explicit Guarded(Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

  Access lock() { return Access(mutex_, value_); }

 private:
  std::mutex mutex_;
  T value_;
};

}  // namespace penstock
