/* Delays every open of a file below a folder, as a busy file server does, for any program that is started with it:
 *
 *   cc -O2 -shared -fPIC -o slow_open.so slow_open.c -ldl
 *   SLOW_OPEN_MS=2 SLOW_OPEN_BELOW=/data LD_PRELOAD=$PWD/slow_open.so tar cf out.tar /data/train
 *
 * Only opens for reading are delayed, because writers pay for other things. SLOW_OPEN_BELOW is the beginning of paths as
 * the kernel knows them; without it every open is delayed. Relative paths count by the file that was opened, so tar's
 * openat(folder, "name") is delayed like an absolute path. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long delay_ns(void) {
  static long known = -1; /* equal for all threads, so a race does no harm */
  if (known < 0) {
    const char *text = getenv("SLOW_OPEN_MS");
    known = text ? (long)(atof(text) * 1e6) : 0;
  }
  return known;
}

/* Waits if the file is one of those that are slow. Returns the descriptor, with errno as it was. */
static int delayed(int file, int flags) {
  const int error = errno;
  const char *below = getenv("SLOW_OPEN_BELOW");
  char link[64], path[4096];
  struct stat what;
  int is_slow = file >= 0 && (flags & O_ACCMODE) == O_RDONLY && delay_ns() > 0;
  if (is_slow) is_slow = fstat(file, &what) == 0 && (S_ISREG(what.st_mode) || S_ISDIR(what.st_mode));
  if (is_slow && below && *below) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    is_slow = strncmp(path, below, strlen(below)) == 0;
  }
  if (is_slow) {
    struct timespec rest = {delay_ns() / 1000000000, delay_ns() % 1000000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
  }
  errno = error;
  return file;
}

/* dlsym returns an object pointer; a union is the portable way to make it a function. */
#define NEXT(name, type)                        \
  static type next;                             \
  if (!next) {                                  \
    union { void *object; type function; } found; \
    found.object = dlsym(RTLD_NEXT, name);      \
    next = found.function;                      \
  }

#define MODE(flags)                                \
  mode_t mode = 0;                                 \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {         \
    va_list arguments;                             \
    va_start(arguments, flags);                    \
    mode = va_arg(arguments, mode_t);              \
    va_end(arguments);                             \
  }

typedef int (*open_function)(const char *, int, ...);
typedef int (*openat_function)(int, const char *, int, ...);
typedef FILE *(*fopen_function)(const char *, const char *);

int open(const char *path, int flags, ...) {
  NEXT("open", open_function)
  MODE(flags)
  return delayed(next(path, flags, mode), flags);
}

int open64(const char *path, int flags, ...) {
  NEXT("open64", open_function)
  MODE(flags)
  return delayed(next(path, flags, mode), flags);
}

int openat(int folder, const char *path, int flags, ...) {
  NEXT("openat", openat_function)
  MODE(flags)
  return delayed(next(folder, path, flags, mode), flags);
}

int openat64(int folder, const char *path, int flags, ...) {
  NEXT("openat64", openat_function)
  MODE(flags)
  return delayed(next(folder, path, flags, mode), flags);
}

/* glibc's stdio opens files by a call of its own, which open() above does not see. */
static FILE *delayed_stream(FILE *stream, const char *mode) {
  if (stream && mode[0] == 'r' && !strchr(mode, '+')) delayed(fileno(stream), O_RDONLY);
  return stream;
}

FILE *fopen(const char *path, const char *mode) {
  NEXT("fopen", fopen_function)
  return delayed_stream(next(path, mode), mode);
}

FILE *fopen64(const char *path, const char *mode) {
  NEXT("fopen64", fopen_function)
  return delayed_stream(next(path, mode), mode);
}

/* What _FORTIFY_SOURCE makes of open() with two arguments. */
typedef int (*open_2_function)(const char *, int);
typedef int (*openat_2_function)(int, const char *, int);

int __open_2(const char *path, int flags) {
  NEXT("__open_2", open_2_function)
  return delayed(next(path, flags), flags);
}

int __open64_2(const char *path, int flags) {
  NEXT("__open64_2", open_2_function)
  return delayed(next(path, flags), flags);
}

int __openat_2(int folder, const char *path, int flags) {
  NEXT("__openat_2", openat_2_function)
  return delayed(next(folder, path, flags), flags);
}

int __openat64_2(int folder, const char *path, int flags) {
  NEXT("__openat64_2", openat_2_function)
  return delayed(next(folder, path, flags), flags);
}
