/* Makes one system call fail, or fall short: preloaded into a program, this library counts the calls that touch a directory, and spoils the n-th.
   faults.py compiles it and says what must follow.

   INJECT_UNDER   calls count if their file is in this directory
   INJECT_AT      the number of the call that is spoiled, from 1; 0 for none
   INJECT_HOW     "fail"; or "short": only reads and writes count, and the n-th transfers only a part; or "threads": only starts of threads count,
                  and from the n-th on, none succeeds, as in a container that limits the number of processes
   INJECT_CALLS   a file that receives a line for each call that counts: the function, and the file below the directory
   INJECT_SPOILED a file that receives the same line for each call that is spoiled */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;

static long wanted(void) {
  const char *at = getenv("INJECT_AT");
  return at ? atol(at) : 0;
}

/* The last file in the directory that this thread has asked for. */
static _Thread_local char touched[4096];

static int is_under(const char *path) {
  const char *under = getenv("INJECT_UNDER");
  if (!under || !path || strncmp(path, under, strlen(under))) return 0;
  snprintf(touched, sizeof touched, "%s", path + strlen(under));
  return 1;
}

static int is_path_under(int dir, const char *path) {
  char whole[8192], link[64], at[4096];
  if (!path) return 0;
  if (path[0] == '/') return is_under(path);
  if (dir == AT_FDCWD) {
    if (!getcwd(at, sizeof at)) return 0;
  } else {
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, at, sizeof at - 1);
    if (length < 0) return 0;
    at[length] = 0;
  }
  snprintf(whole, sizeof whole, "%s/%s", at, path);
  return is_under(whole);
}

static int is_file_under(int file) {
  char link[64], path[4096];
  int before = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  long length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
  errno = before;
  if (length < 0) return 0;
  path[length] = 0;
  return is_under(path);
}

static int is_how(const char *what) {
  const char *how = getenv("INJECT_HOW");
  return how && !strcmp(how, what);
}

/* Adds a line to the file that a variable names, without functions that are spoiled. */
static void tell(const char *variable, const char *name, const char *path) {
  const char *to = getenv(variable);
  char line[4200];
  if (!to) return;
  int before = errno, length = snprintf(line, sizeof line, "%s %s\n", name, path);
  long file = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file >= 0) {
    syscall(SYS_write, (int)file, line, length);
    syscall(SYS_close, (int)file);
  }
  errno = before;
}

static int is_wanted(const char *name) {
  tell("INJECT_CALLS", name, touched);
  if (atomic_fetch_add(&calls, 1) + 1 != wanted()) return 0;
  tell("INJECT_SPOILED", name, touched);
  return 1;
}

static int is_short(void) { return is_how("short"); }

/* Whether this call, which reads or writes, is the one to spoil. */
static int is_next_transfer(const char *name) { return !is_how("threads") && is_wanted(name); }

/* Whether this call, which does neither, is the one to spoil. */
static int is_next(const char *name) { return !is_short() && is_next_transfer(name); }

#define REAL(type, name, ...)                                        \
  static type (*real)(__VA_ARGS__);                                  \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)
#define SPOIL(error, value)                                          \
  do {                                                               \
    errno = (error);                                                 \
    return (value);                                                  \
  } while (0)

#define TRANSFER(function, error, parameters, arguments, shorter)    \
  ssize_t function parameters {                                      \
    REAL(ssize_t, #function, PARAMETERS);                            \
    if (is_file_under(file) && is_next_transfer(#function)) {        \
      if (!is_short()) SPOIL(error, -1);                             \
      if (size > 1) return real shorter;                             \
    }                                                                \
    return real arguments;                                           \
  }

#define PARAMETERS int, void *, size_t
TRANSFER(read, EIO, (int file, void *to, size_t size), (file, to, size), (file, to, size / 2))
#undef PARAMETERS
#define PARAMETERS int, const void *, size_t
TRANSFER(write, ENOSPC, (int file, const void *from, size_t size), (file, from, size), (file, from, size / 2))
#undef PARAMETERS
#define PARAMETERS int, void *, size_t, off_t
TRANSFER(pread, EIO, (int file, void *to, size_t size, off_t at), (file, to, size, at), (file, to, size / 2, at))
TRANSFER(pread64, EIO, (int file, void *to, size_t size, off_t at), (file, to, size, at), (file, to, size / 2, at))
#undef PARAMETERS
#define PARAMETERS int, const void *, size_t, off_t
TRANSFER(pwrite, ENOSPC, (int file, const void *from, size_t size, off_t at), (file, from, size, at), (file, from, size / 2, at))
TRANSFER(pwrite64, ENOSPC, (int file, const void *from, size_t size, off_t at), (file, from, size, at), (file, from, size / 2, at))
#undef PARAMETERS

ssize_t copy_file_range(int from, off_t *from_at, int file, off_t *at, size_t size, unsigned flags) {
  REAL(ssize_t, "copy_file_range", int, off_t *, int, off_t *, size_t, unsigned);
  if (is_file_under(file) && is_next_transfer("copy_file_range")) {
    if (!is_short()) SPOIL(EIO, -1);
    if (size > 1) return real(from, from_at, file, at, size / 2, flags);
  }
  return real(from, from_at, file, at, size, flags);
}

#define ON_FILE(function, error)                                     \
  int function(int file) {                                           \
    REAL(int, #function, int);                                       \
    if (is_file_under(file) && is_next(#function)) SPOIL(error, -1); \
    return real(file);                                               \
  }
ON_FILE(fsync, EIO)
ON_FILE(fdatasync, EIO)

int flock(int file, int operation) {
  REAL(int, "flock", int, int);
  if (is_file_under(file) && is_next("flock")) SPOIL(ENOLCK, -1);
  return real(file, operation);
}

int ftruncate(int file, off_t size) {
  REAL(int, "ftruncate", int, off_t);
  if (is_file_under(file) && is_next("ftruncate")) SPOIL(EIO, -1);
  return real(file, size);
}
int ftruncate64(int file, off_t size) {
  REAL(int, "ftruncate64", int, off_t);
  if (is_file_under(file) && is_next("ftruncate64")) SPOIL(EIO, -1);
  return real(file, size);
}

#define FCNTL(function)                                              \
  int function(int file, int command, ...) {                         \
    REAL(int, #function, int, int, ...);                             \
    va_list list;                                                    \
    va_start(list, command);                                         \
    void *argument = va_arg(list, void *);                           \
    va_end(list);                                                    \
    int is_lock = command == F_SETLK || command == F_GETLK;          \
    if (is_lock && is_file_under(file) && is_next("fcntl")) SPOIL(ENOLCK, -1); \
    return real(file, command, argument);                            \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

#define OPEN(function)                                               \
  int function(const char *path, int flags, ...) {                   \
    REAL(int, #function, const char *, int, ...);                    \
    va_list list;                                                    \
    va_start(list, flags);                                           \
    mode_t mode = va_arg(list, mode_t);                              \
    va_end(list);                                                    \
    if (is_path_under(AT_FDCWD, path) && is_next("open"))            \
      SPOIL(flags & O_CREAT ? EACCES : EMFILE, -1);                  \
    return real(path, flags, mode);                                  \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(function)                                             \
  int function(int dir, const char *path, int flags, ...) {          \
    REAL(int, #function, int, const char *, int, ...);               \
    va_list list;                                                    \
    va_start(list, flags);                                           \
    mode_t mode = va_arg(list, mode_t);                              \
    va_end(list);                                                    \
    if (is_path_under(dir, path) && is_next("openat")) SPOIL(EMFILE, -1); \
    return real(dir, path, flags, mode);                             \
  }
OPENAT(openat)
OPENAT(openat64)

int rename(const char *from, const char *to) {
  REAL(int, "rename", const char *, const char *);
  if (is_path_under(AT_FDCWD, to) && is_next("rename")) SPOIL(EIO, -1);
  return real(from, to);
}
int renameat(int from_dir, const char *from, int to_dir, const char *to) {
  REAL(int, "renameat", int, const char *, int, const char *);
  if (is_path_under(to_dir, to) && is_next("renameat")) SPOIL(EIO, -1);
  return real(from_dir, from, to_dir, to);
}

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  if (is_path_under(AT_FDCWD, path) && is_next("unlink")) SPOIL(EIO, -1);
  return real(path);
}
int unlinkat(int dir, const char *path, int flags) {
  REAL(int, "unlinkat", int, const char *, int);
  if (is_path_under(dir, path) && is_next("unlinkat")) SPOIL(EIO, -1);
  return real(dir, path, flags);
}
int mkdir(const char *path, mode_t mode) {
  REAL(int, "mkdir", const char *, mode_t);
  if (is_path_under(AT_FDCWD, path) && is_next("mkdir")) SPOIL(ENOSPC, -1);
  return real(path, mode);
}

#define MMAP(function)                                               \
  void *function(void *at, size_t size, int access, int flags, int file, off_t from) { \
    REAL(void *, #function, void *, size_t, int, int, int, off_t);   \
    if (file >= 0 && is_file_under(file) && is_next("mmap")) SPOIL(ENOMEM, MAP_FAILED); \
    return real(at, size, access, flags, file, from);                \
  }
MMAP(mmap)
MMAP(mmap64)

int statx(int dir, const char *path, int flags, unsigned mask, struct statx *to) {
  REAL(int, "statx", int, const char *, int, unsigned, struct statx *);
  /* Rust asks with no path at all whether the call exists, although the header says that there is one */
  const char *volatile asked = path;
  if (!asked) return real(dir, path, flags, mask, to);
  int counts = *path ? is_path_under(dir, path) : is_file_under(dir);
  if (counts && is_next("statx")) SPOIL(EIO, -1);
  return real(dir, path, flags, mask, to);
}
#define STAT(function)                                               \
  int function(const char *path, struct stat64 *to) {                \
    REAL(int, #function, const char *, struct stat64 *);             \
    if (is_path_under(AT_FDCWD, path) && is_next(#function)) SPOIL(EIO, -1); \
    return real(path, to);                                           \
  }
STAT(stat64)
STAT(lstat64)
int fstat64(int file, struct stat64 *to) {
  REAL(int, "fstat64", int, struct stat64 *);
  if (is_file_under(file) && is_next("fstat64")) SPOIL(EIO, -1);
  return real(file, to);
}

/* Directories: glibc reads them by itself, so its functions are spoiled, not the system call. */
struct dirent64 *readdir64(DIR *dir) {
  REAL(struct dirent64 *, "readdir64", DIR *);
  if (is_file_under(dirfd(dir)) && is_next("getdents")) SPOIL(EIO, NULL);
  return real(dir);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  REAL(int, "pthread_create", pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (is_how("threads")) {
    tell("INJECT_CALLS", "pthread_create", "");
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (wanted() && number >= wanted()) {
      tell("INJECT_SPOILED", "pthread_create", "");
      return EAGAIN;
    }
  }
  return real(thread, attributes, start, argument);
}
