// Mutexes that the compiler checks: which data a mutex guards, and which functions need it, is part of the types, and
// clang's -Wthread-safety refuses code that forgets the lock. The standard library's mutex has no such annotations,
// so this file wraps it. The wrappers are inline and cost nothing; other compilers ignore the annotations.
//
//   class Queue {
//    public:
//     void push(Item item) PENSTOCK_EXCLUDES(mutex_) {
//       const MutexLock lock(mutex_);
//       items_.push_back(std::move(item));
//       changed_.notify_one();
//     }
//     Item pop() PENSTOCK_EXCLUDES(mutex_) {
//       const MutexLock lock(mutex_);
//       while (items_.empty()) changed_.wait(mutex_);
//       return take_first();
//     }
//
//    private:
//     Item take_first() PENSTOCK_REQUIRES(mutex_);
//
//     Mutex mutex_;
//     ConditionVariable changed_;
//     std::deque<Item> items_ PENSTOCK_GUARDED_BY(mutex_);
//   };
//
// Conditions are loops around wait(), because the analysis does not follow a condition into a lambda. A lambda that is
// called with the lock held says so: [&](...) PENSTOCK_REQUIRES(mutex_) { ... }.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define PENSTOCK_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define PENSTOCK_THREAD_ATTRIBUTE(x)
#endif

// For types.
#define PENSTOCK_CAPABILITY(what) PENSTOCK_THREAD_ATTRIBUTE(capability(what))
#define PENSTOCK_SCOPED_CAPABILITY PENSTOCK_THREAD_ATTRIBUTE(scoped_lockable)
// For data that may be used only while the mutex is held. PT_ is for what a pointer points to.
#define PENSTOCK_GUARDED_BY(mutex) PENSTOCK_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PENSTOCK_PT_GUARDED_BY(mutex) PENSTOCK_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// For a mutex that is locked before the others.
#define PENSTOCK_ACQUIRED_BEFORE(...) PENSTOCK_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))
// For functions whose caller holds the mutex, and for those whose caller must not hold it because they lock it.
#define PENSTOCK_REQUIRES(...) PENSTOCK_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define PENSTOCK_EXCLUDES(...) PENSTOCK_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// For functions that lock or unlock.
#define PENSTOCK_ACQUIRE(...) PENSTOCK_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define PENSTOCK_TRY_ACQUIRE(...) PENSTOCK_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define PENSTOCK_RELEASE(...) PENSTOCK_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// For functions that the analysis cannot follow. A comment at the function says why.
#define PENSTOCK_NO_THREAD_SAFETY_ANALYSIS PENSTOCK_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace penstock {

class PENSTOCK_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;

  void lock() PENSTOCK_ACQUIRE() { mutex_.lock(); }
  bool try_lock() PENSTOCK_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() PENSTOCK_RELEASE() { mutex_.unlock(); }

 private:
  friend class ConditionVariable;
  friend class MutexLock;
  friend class MutexUnlock;
  std::mutex mutex_;
};

// Stands for all mutexes of a class in the annotations of other classes.
struct PENSTOCK_CAPABILITY("mutex") MutexName {};

// A mutex that also guards data outside of its object: a scheduler's mutex guards the epochs that it runs. Such data
// cannot name the member of the other object, and the analysis could not tell that two expressions mean one mutex. So
// they name `ClassMutex<Owner>::held`. Locking the mutex of any `Owner` also locks `held`: the analysis proves that a
// thread holds such a mutex, but not of which object.
template <typename Owner>
class ClassMutex : public Mutex {
 public:
  static constexpr MutexName held{};
};

// Holds a mutex until the end of the scope, but for the time between unlock() and lock(). Belongs to one thread.
class PENSTOCK_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PENSTOCK_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  template <typename Owner>
  explicit MutexLock(ClassMutex<Owner>& mutex) PENSTOCK_ACQUIRE(mutex, ClassMutex<Owner>::held) : lock_(mutex.mutex_) {}
  // For a mutex that this thread has locked.
  MutexLock(Mutex& mutex, std::adopt_lock_t adopt) PENSTOCK_REQUIRES(mutex) : lock_(mutex.mutex_, adopt) {}
  MutexLock(const MutexLock&) = delete;
  ~MutexLock() PENSTOCK_RELEASE() = default;

  void lock() PENSTOCK_ACQUIRE() { lock_.lock(); }
  void unlock() PENSTOCK_RELEASE() { lock_.unlock(); }

 private:
  std::unique_lock<std::mutex> lock_;
};

// The opposite: gives up a mutex that the thread holds until the end of the scope.
class PENSTOCK_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) PENSTOCK_RELEASE(mutex) : mutex_(mutex.mutex_) { mutex_.unlock(); }
  template <typename Owner>
  explicit MutexUnlock(ClassMutex<Owner>& mutex) PENSTOCK_RELEASE(mutex, ClassMutex<Owner>::held)
      : mutex_(mutex.mutex_) {
    mutex_.unlock();
  }
  MutexUnlock(const MutexUnlock&) = delete;
  ~MutexUnlock() PENSTOCK_RELEASE() { mutex_.lock(); }  // clang takes it for the release of this object

 private:
  std::mutex& mutex_;
};

// The calling thread holds the mutex when it calls wait() and when wait() returns. Waking up says nothing about the
// condition, which must be checked again.
class ConditionVariable {
 public:
  using Clock = std::chrono::steady_clock;

  void wait(Mutex& mutex) PENSTOCK_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False: the deadline has passed.
  bool wait_until(Mutex& mutex, Clock::time_point deadline) PENSTOCK_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const bool is_in_time = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return is_in_time;
  }

  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace penstock
