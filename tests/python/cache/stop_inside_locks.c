/* Preloaded into a process that is to be stopped, or killed, while it holds a lock of the cache: after so many locks
   as stop_after() says, counted are robust mutexes (the tables') and files that are locked alone. Not a test itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <time.h>

static atomic_long left = -1;
static atomic_int with = SIGSTOP;

void stop_after(long locks, int signal_number) {
  atomic_store(&with, signal_number);
  atomic_store(&left, locks);
}

static void acquired(void) {
  if (atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) == 0) raise(atomic_load(&with));
}

static int is_robust(const pthread_mutex_t* mutex) { return (mutex->__data.__kind & 16) != 0; }

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  static int (*real)(pthread_mutex_t*);
  if (!real) real = (int (*)(pthread_mutex_t*))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
  const int result = real(mutex);
  if ((result == 0 || result == EOWNERDEAD) && is_robust(mutex)) acquired();
  return result;
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* end) {
  static int (*real)(pthread_mutex_t*, clockid_t, const struct timespec*);
  if (!real)
    real = (int (*)(pthread_mutex_t*, clockid_t, const struct timespec*))dlsym(RTLD_NEXT, "pthread_mutex_clocklock");
  const int result = real(mutex, clock, end);
  if ((result == 0 || result == EOWNERDEAD) && is_robust(mutex)) acquired();
  return result;
}

int flock(int file, int how) {
  static int (*real)(int, int);
  if (!real) real = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
  const int result = real(file, how);
  if (result == 0 && (how & LOCK_EX)) acquired();
  return result;
}
