#include "cache/shared/robust_mutex.h"

#include <cerrno>
#include <ctime>

namespace penstock {
namespace {

timespec deadline_after(std::chrono::nanoseconds patience) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t ns = time.tv_nsec + patience.count();
  return {time.tv_sec + ns / kSecond, ns % kSecond};
}

}  // namespace

void RobustMutex::init() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

bool RobustMutex::try_lock() { return is_locked_after(pthread_mutex_trylock(&mutex_)); }

bool RobustMutex::try_lock_for(std::chrono::nanoseconds patience) {
  const timespec end = deadline_after(patience);
  return is_locked_after(pthread_mutex_clocklock(&mutex_, CLOCK_MONOTONIC, &end));
}

bool RobustMutex::is_locked_after(int answer) {
  if (answer == EOWNERDEAD) answer = pthread_mutex_consistent(&mutex_);
  return answer == 0;
}

}  // namespace penstock
