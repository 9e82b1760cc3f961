#include "base/guarded.h"

#include <gtest/gtest.h>

#include <thread>

namespace penstock {
namespace {

bool is_free(Mutex& mutex) {
  bool is_locked = false;
  std::jthread([&] {
    is_locked = mutex.try_lock();
    if (is_locked) mutex.unlock();
  }).join();
  return is_locked;
}

TEST(MutexLock, holds_the_mutex_but_for_the_time_between_unlock_and_lock) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
    lock.unlock();
    EXPECT_TRUE(is_free(mutex));
    lock.lock();
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

TEST(MutexLock, unlocks_a_mutex_that_the_thread_had_locked) {
  Mutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  { const MutexLock lock(mutex, std::adopt_lock); }
  EXPECT_TRUE(is_free(mutex));
}

TEST(MutexUnlock, gives_the_mutex_up_until_the_end_of_its_scope) {
  ClassMutex<struct SomeClass> mutex;
  const MutexLock lock(mutex);
  {
    const MutexUnlock unlocked(mutex);
    EXPECT_TRUE(is_free(mutex));
  }
  EXPECT_FALSE(is_free(mutex));
}

TEST(ConditionVariable, waits_without_the_mutex_and_returns_with_it) {
  Mutex mutex;
  ConditionVariable changed;
  bool is_there = false;
  const MutexLock lock(mutex);
  const std::jthread other([&] {
    const MutexLock theirs(mutex);
    is_there = true;
    changed.notify_one();
  });
  while (!is_there) changed.wait(mutex);
  EXPECT_FALSE(is_free(mutex));
}

TEST(ConditionVariable, a_deadline_that_has_passed_ends_the_waiting) {
  Mutex mutex;
  ConditionVariable changed;
  const MutexLock lock(mutex);
  while (changed.wait_until(mutex, ConditionVariable::Clock::now())) {
  }
  EXPECT_FALSE(is_free(mutex));
}

}  // namespace
}  // namespace penstock
