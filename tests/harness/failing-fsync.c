/*
 * LD_PRELOAD library for tests: fsync and fdatasync fail with EIO while the file that
 * FAIL_FSYNC_FILE names exists.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int fails(void) {
  const char *file = getenv("FAIL_FSYNC_FILE");
  return file != NULL && access(file, F_OK) == 0;
}

int fsync(int fd) {
  if (fails()) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
  if (fails()) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
