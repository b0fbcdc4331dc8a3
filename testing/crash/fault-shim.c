/*
 * Makes chosen system calls on chosen files fail, fall short or kill the process (LD_PRELOAD, Linux).
 *
 *   REPRISE_FAULT_PATH   part of the path as it was given to open; a `$` at its end means the path ends there
 *   REPRISE_FAULT_CALL   call names, with commas: write pwrite writev pwritev fsync fdatasync rename
 *                        ftruncate link unlink open; variants (pwrite64, renameat2, ...) count as the plain call
 *   REPRISE_FAULT_AT     the n-th matching call of the process, from 1
 *   REPRISE_FAULT_DO     kill | kill-after | eio | enospc | short:<bytes> | full:<bytes> | torn:<bytes>
 *   REPRISE_FAULT_COUNT  how many calls from there on, 1 unless told, -1 for all
 *   REPRISE_FAULT_LOG    a file that gets one line for every fault: pid, call, number, action, path
 *
 * short writes that many bytes and says so; libuv goes on with the rest, so JavaScript never sees it. full is
 * what a full disk does: the first write falls short, the others (with a count over 1) are ENOSPC; libuv reports
 * that as a short count without an error. torn writes and kills. These three are for the write calls only.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FD 65536
#define MAX_IOV 1024

enum action { PASS, KILL, KILL_AFTER, FAIL, SHORT, FULL, TORN };

static const char *fault_path;
static const char *fault_calls;
static const char *fault_log;
static const char *fault_text;
static enum action fault_action = PASS;
static int fault_errno;
static size_t fault_bytes;
static long fault_at;
static long fault_count = 1;
static atomic_long calls_seen;
/* The path a matching descriptor was opened with; null for all others. */
static _Atomic(char *) matching[MAX_FD];
static pthread_once_t configured = PTHREAD_ONCE_INIT;

static void configure(void) {
  const char *at = getenv("REPRISE_FAULT_AT");
  const char *count = getenv("REPRISE_FAULT_COUNT");
  fault_path = getenv("REPRISE_FAULT_PATH");
  fault_calls = getenv("REPRISE_FAULT_CALL");
  fault_log = getenv("REPRISE_FAULT_LOG");
  fault_text = getenv("REPRISE_FAULT_DO");
  if (!fault_text) return;
  /* A plan that silently does nothing would make a test pass that tests nothing. */
  if (!fault_path || !fault_calls || !at) {
    fprintf(stderr, "fault shim: REPRISE_FAULT_PATH, _CALL and _AT are needed\n");
    abort();
  }
  fault_at = atol(at);
  if (count) fault_count = atol(count);
  if (strcmp(fault_text, "kill") == 0) {
    fault_action = KILL;
  } else if (strcmp(fault_text, "kill-after") == 0) {
    fault_action = KILL_AFTER;
  } else if (strcmp(fault_text, "eio") == 0) {
    fault_action = FAIL;
    fault_errno = EIO;
  } else if (strcmp(fault_text, "enospc") == 0) {
    fault_action = FAIL;
    fault_errno = ENOSPC;
  } else if (sscanf(fault_text, "short:%zu", &fault_bytes) == 1) {
    fault_action = SHORT;
  } else if (sscanf(fault_text, "full:%zu", &fault_bytes) == 1) {
    fault_action = FULL;
    fault_errno = ENOSPC;
  } else if (sscanf(fault_text, "torn:%zu", &fault_bytes) == 1) {
    fault_action = TORN;
  } else {
    fprintf(stderr, "fault shim: unknown REPRISE_FAULT_DO=%s\n", fault_text);
    abort();
  }
}

/* Other constructors may open files before ours would run, so every entry point asks. */
static int active(void) {
  pthread_once(&configured, configure);
  return fault_action != PASS;
}

/* Two threads may both look it up; they find the same. */
#define REAL(function) \
  static __typeof__(&function) real; \
  if (!real) real = (__typeof__(&function))dlsym(RTLD_NEXT, #function)

static int path_matches(const char *path) {
  size_t want, have;
  if (!path || !active()) return 0;
  want = strlen(fault_path);
  have = strlen(path);
  if (want == 0 || fault_path[want - 1] != '$') return strstr(path, fault_path) != NULL;
  want -= 1;
  return have >= want && strncmp(path + have - want, fault_path, want) == 0;
}

static int call_matches(const char *call) {
  size_t length = strlen(call);
  const char *at = fault_calls;
  while (at) {
    const char *comma = strchr(at, ',');
    size_t size = comma ? (size_t)(comma - at) : strlen(at);
    if (size == length && strncmp(at, call, size) == 0) return 1;
    at = comma ? comma + 1 : NULL;
  }
  return 0;
}

static void write_log(const char *call, long number, const char *path) {
  char line[PATH_MAX + 128];
  int fd, size;
  __typeof__(&write) real_write = (__typeof__(&write))dlsym(RTLD_NEXT, "write");
  __typeof__(&open) real_open = (__typeof__(&open))dlsym(RTLD_NEXT, "open");
  if (!fault_log) return;
  fd = real_open(fault_log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  size = snprintf(line, sizeof line, "%d %s %ld %s %s\n", (int)getpid(), call, number, fault_text, path);
  if (size > 0 && real_write(fd, line, (size_t)size) < 0) perror("fault shim: log");
  close(fd);
}

/* Counts a matching call and says what to do with it. A kill before the call does not return. */
static enum action decide(const char *call, const char *path, int writes) {
  long number;
  if (!path || !call_matches(call)) return PASS;
  if (!writes && fault_action >= SHORT) return PASS;
  number = atomic_fetch_add(&calls_seen, 1) + 1;
  if (number < fault_at || (fault_count >= 0 && number >= fault_at + fault_count)) return PASS;
  write_log(call, number, path);
  if (fault_action == KILL) kill(getpid(), SIGKILL);
  if (fault_action == FULL) return number == fault_at ? SHORT : FAIL;
  return fault_action;
}

static const char *fd_path(int fd) {
  if (fd < 0 || fd >= MAX_FD || !active()) return NULL;
  return atomic_load(&matching[fd]);
}

/* The old path is leaked on purpose: another thread may be writing it to the log. */
static int remember(int fd, const char *path) {
  if (fd >= 0 && fd < MAX_FD) atomic_store(&matching[fd], path_matches(path) ? strdup(path) : NULL);
  return fd;
}

static void after(enum action action) {
  int saved = errno;
  if (action == KILL_AFTER || action == TORN) kill(getpid(), SIGKILL);
  errno = saved;
}

#define FAIL_WITH_ERRNO(action) \
  if ((action) == FAIL) { \
    errno = fault_errno; \
    return -1; \
  }

#define OPEN_BODY(function) \
  REAL(function); \
  va_list rest; \
  va_start(rest, flags); \
  mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
  va_end(rest); \
  enum action action = decide("open", path_matches(path) ? path : NULL, 0); \
  FAIL_WITH_ERRNO(action) \
  int fd = remember(real(path, flags, mode), path); \
  after(action); \
  return fd;

int open(const char *path, int flags, ...) { OPEN_BODY(open) }
int open64(const char *path, int flags, ...) { OPEN_BODY(open64) }

#define OPENAT_BODY(function) \
  REAL(function); \
  va_list rest; \
  va_start(rest, flags); \
  mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
  va_end(rest); \
  enum action action = decide("open", path_matches(path) ? path : NULL, 0); \
  FAIL_WITH_ERRNO(action) \
  int fd = remember(real(dir, path, flags, mode), path); \
  after(action); \
  return fd;

int openat(int dir, const char *path, int flags, ...) { OPENAT_BODY(openat) }
int openat64(int dir, const char *path, int flags, ...) { OPENAT_BODY(openat64) }

int close(int fd) {
  REAL(close);
  /* Before the call: after it the number may already be another thread's file. */
  if (fd >= 0 && fd < MAX_FD) atomic_store(&matching[fd], NULL);
  return real(fd);
}

static size_t allowed(enum action action, size_t size) {
  return (action == SHORT || action == TORN) && size > fault_bytes ? fault_bytes : size;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  REAL(write);
  enum action action = decide("write", fd_path(fd), 1);
  FAIL_WITH_ERRNO(action)
  ssize_t done = real(fd, bytes, allowed(action, size));
  after(action);
  return done;
}

#define PWRITE_BODY(function) \
  REAL(function); \
  enum action action = decide("pwrite", fd_path(fd), 1); \
  FAIL_WITH_ERRNO(action) \
  ssize_t done = real(fd, bytes, allowed(action, size), offset); \
  after(action); \
  return done;

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) { PWRITE_BODY(pwrite) }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset) { PWRITE_BODY(pwrite64) }

/* The vectors that fit into the allowed bytes; `cut` has room for MAX_IOV. */
static int shorten(enum action action, const struct iovec *vectors, int count, struct iovec *cut) {
  size_t left = action == SHORT || action == TORN ? fault_bytes : SIZE_MAX;
  int kept = 0;
  for (; kept < count && kept < MAX_IOV && left > 0; kept++) {
    cut[kept] = vectors[kept];
    if (cut[kept].iov_len > left) cut[kept].iov_len = left;
    left -= cut[kept].iov_len;
  }
  return kept;
}

ssize_t writev(int fd, const struct iovec *vectors, int count) {
  REAL(writev);
  struct iovec cut[MAX_IOV];
  enum action action = decide("writev", fd_path(fd), 1);
  FAIL_WITH_ERRNO(action)
  if (action == PASS) return real(fd, vectors, count);
  ssize_t done = real(fd, cut, shorten(action, vectors, count, cut));
  after(action);
  return done;
}

#define PWRITEV_BODY(function) \
  REAL(function); \
  struct iovec cut[MAX_IOV]; \
  enum action action = decide("pwritev", fd_path(fd), 1); \
  FAIL_WITH_ERRNO(action) \
  if (action == PASS) return real(fd, vectors, count, offset); \
  ssize_t done = real(fd, cut, shorten(action, vectors, count, cut), offset); \
  after(action); \
  return done;

ssize_t pwritev(int fd, const struct iovec *vectors, int count, off_t offset) {
  PWRITEV_BODY(pwritev)
}
ssize_t pwritev64(int fd, const struct iovec *vectors, int count, off64_t offset) {
  PWRITEV_BODY(pwritev64)
}

/* A call without a result worth keeping but its status. */
#define STATUS_CALL(call, path, invocation) \
  enum action action = decide(call, path, 0); \
  FAIL_WITH_ERRNO(action) \
  int status = invocation; \
  after(action); \
  return status;

static const char *either(const char *from, const char *to) {
  return path_matches(to) ? to : path_matches(from) ? from : NULL;
}

int fsync(int fd) {
  REAL(fsync);
  STATUS_CALL("fsync", fd_path(fd), real(fd))
}

int fdatasync(int fd) {
  REAL(fdatasync);
  STATUS_CALL("fdatasync", fd_path(fd), real(fd))
}

int ftruncate(int fd, off_t size) {
  REAL(ftruncate);
  STATUS_CALL("ftruncate", fd_path(fd), real(fd, size))
}

int ftruncate64(int fd, off64_t size) {
  REAL(ftruncate64);
  STATUS_CALL("ftruncate", fd_path(fd), real(fd, size))
}

int rename(const char *from, const char *to) {
  REAL(rename);
  STATUS_CALL("rename", either(from, to), real(from, to))
}

int renameat(int fromdir, const char *from, int todir, const char *to) {
  REAL(renameat);
  STATUS_CALL("rename", either(from, to), real(fromdir, from, todir, to))
}

int renameat2(int fromdir, const char *from, int todir, const char *to, unsigned int flags) {
  REAL(renameat2);
  STATUS_CALL("rename", either(from, to), real(fromdir, from, todir, to, flags))
}

int link(const char *from, const char *to) {
  REAL(link);
  STATUS_CALL("link", either(from, to), real(from, to))
}

int linkat(int fromdir, const char *from, int todir, const char *to, int flags) {
  REAL(linkat);
  STATUS_CALL("link", either(from, to), real(fromdir, from, todir, to, flags))
}

int unlink(const char *path) {
  REAL(unlink);
  STATUS_CALL("unlink", path_matches(path) ? path : NULL, real(path))
}
