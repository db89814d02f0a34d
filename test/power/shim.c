// Test only, loaded with LD_PRELOAD: logs what a process does to a database file and the files beside it (their names
// begin with $SHIM_DATABASE), in the order in which it happens. The log is a row of records: the header below, then the
// data of a write. The shared memory file is left out: it does not survive a power cut.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 4096
#define NAME 15

struct record {
  char kind; // Create, Write, Truncate, Sync, Folder sync, Unlink.
  char name[NAME]; // What follows $SHIM_DATABASE: "", "-wal", …
  uint64_t offset; // Of a write; the new size of a truncation.
  uint64_t length; // Of the data that follows.
};

static char names[FILES][NAME];
static char kinds[FILES]; // 'f' for a file that is watched, 'd' for its folder.
static int log_file = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void tell(char kind, const char *name, uint64_t offset, const void *data, uint64_t length) {
  if (log_file < 0) log_file = syscall(SYS_openat, AT_FDCWD, getenv("SHIM_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  struct record record = {.kind = kind, .offset = offset, .length = length};
  strncpy(record.name, name, NAME - 1);
  struct iovec parts[] = {{&record, sizeof record}, {(void *)data, length}};
  if (syscall(SYS_writev, log_file, parts, 2) != (long)(sizeof record + length)) abort();
}

static const char *watched(const char *path) {
  const char *database = getenv("SHIM_DATABASE");
  if (database == NULL || path == NULL || strncmp(path, database, strlen(database)) != 0) return NULL;
  const char *name = path + strlen(database);
  return strcmp(name, "-shm") == 0 || strlen(name) >= NAME ? NULL : name;
}

static int is_folder(const char *path) {
  const char *database = getenv("SHIM_DATABASE");
  const char *end = database == NULL ? NULL : strrchr(database, '/');
  return end != NULL && path != NULL && strlen(path) == (size_t)(end - database) && strncmp(path, database, end - database) == 0;
}

static int is_file(int fd) { return fd >= 0 && fd < FILES && kinds[fd] == 'f'; }

static int opened(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
  const char *name = watched(path);
  int is_new = name != NULL && access(path, F_OK) != 0;
  int fd = real(path, flags, mode);
  if (fd < 0 || fd >= FILES) return fd;
  kinds[fd] = name != NULL ? 'f' : is_folder(path) ? 'd' : 0;
  if (name == NULL) return fd;
  strcpy(names[fd], name);
  if (is_new) tell('C', name, 0, NULL, 0);
  else if (flags & O_TRUNC) tell('T', name, 0, NULL, 0);
  return fd;
}

static mode_t mode_of(int flags, va_list rest) { return flags & O_CREAT ? va_arg(rest, mode_t) : 0; }

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return opened(REAL(open), path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return opened(REAL(open64), path, flags, mode);
}

int close(int fd) {
  if (fd >= 0 && fd < FILES) kinds[fd] = 0;
  return REAL(close)(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  ssize_t written = REAL(pwrite64)(fd, data, length, offset);
  if (written > 0 && is_file(fd)) tell('W', names[fd], offset, data, written);
  return written;
}

// Only for what the program itself notes, always at the end: SQLite writes at a position.
ssize_t write(int fd, const void *data, size_t length) {
  ssize_t written = REAL(write)(fd, data, length);
  if (written > 0 && is_file(fd)) tell('W', names[fd], lseek(fd, 0, SEEK_CUR) - written, data, written);
  return written;
}

int ftruncate64(int fd, off64_t size) {
  int failed = REAL(ftruncate64)(fd, size);
  if (!failed && is_file(fd)) tell('T', names[fd], size, NULL, 0);
  return failed;
}

static int synced(int fd, int failed) {
  if (failed || fd < 0 || fd >= FILES) return failed;
  if (kinds[fd] == 'f') tell('S', names[fd], 0, NULL, 0);
  if (kinds[fd] == 'd') tell('F', "", 0, NULL, 0);
  return failed;
}

int fsync(int fd) { return synced(fd, REAL(fsync)(fd)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)(fd)); }

int unlink(const char *path) {
  int failed = REAL(unlink)(path);
  const char *name = watched(path);
  if (!failed && name != NULL) tell('U', name, 0, NULL, 0);
  return failed;
}
