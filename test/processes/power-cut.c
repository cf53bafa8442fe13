/*
 * Shows what a power cut would leave of a file: loaded into a process (LD_PRELOAD), it copies each
 * file of the folder TEST_DISK to `<file>.synced` whenever the process has it synced. What was
 * written and not synced is in no copy. What is deleted is gone at once.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void fail(const char *what) {
  perror(what);
  _exit(70);
}

/* One process at a time, so that no older copy replaces a newer one. */
static void copy(int source, const char *path) {
  char synced[4096], fresh[4096], buffer[65536];
  snprintf(synced, sizeof synced, "%s.synced", path);
  snprintf(fresh, sizeof fresh, "%s.%d", synced, getpid());
  int lock = open(getenv("TEST_DISK"), O_RDONLY | O_DIRECTORY);
  if (lock < 0 || flock(lock, LOCK_EX) < 0) fail("lock");
  int target = open(fresh, O_CREAT | O_TRUNC | O_WRONLY, 0600);
  if (target < 0) fail(fresh);
  off_t at = 0;
  ssize_t size;
  while ((size = pread(source, buffer, sizeof buffer, at)) > 0) {
    if (write(target, buffer, size) != size) fail("write");
    at += size;
  }
  if (size < 0) fail("read");
  close(target);
  if (rename(fresh, synced) < 0) fail("rename");
  close(lock);
}

static int isOnDisk(const char *path) {
  const char *disk = getenv("TEST_DISK");
  size_t length = disk ? strlen(disk) : 0;
  return disk && strncmp(path, disk, length) == 0 && path[length] == '/';
}

static void synced(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  if (isOnDisk(path)) copy(file, path);
}

int fsync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  int answer = real(file);
  if (answer == 0) synced(file);
  return answer;
}

int fdatasync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  int answer = real(file);
  if (answer == 0) synced(file);
  return answer;
}

int unlink(const char *path) {
  int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
  int answer = real(path);
  if (answer == 0 && isOnDisk(path)) {
    char synced[4096];
    snprintf(synced, sizeof synced, "%s.synced", path);
    real(synced);
  }
  return answer;
}
