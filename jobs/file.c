/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a record. It must be on a tmpfs: there a store to a mapped page
 * never waits for a disk, and a page that is there once stays, so that no full
 * file system can kill the application (SIGBUS) later.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "file.h"

#define DEFAULT_FOLDER "/run/nova-rt/jobs"
#define FOLDER_VARIABLE "NOVA_RT_JOBS_DIR"
#define OF_ONE_NAME 16
#define OPEN_FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const char *folder(void)
{
	const char *given = secure_getenv(FOLDER_VARIABLE);

	return given && *given ? given : DEFAULT_FOLDER;
}

/* Any user of the container may report, as any may write to /tmp. */
static void make_default_folder(void)
{
	mkdir("/run/nova-rt", 0755);
	if (mkdir(DEFAULT_FOLDER, 01777) == 0)
		chmod(DEFAULT_FOLDER, 01777); /* whatever the umask is */
}

static bool on_tmpfs(int fd)
{
	struct statfs status;

	if (fstatfs(fd, &status) != 0)
		return false;
	if (status.f_type == TMPFS_MAGIC)
		return true;
	errno = ENOTSUP;
	return false;
}

/* An open file description's lock: it goes with the process, however that ends. */
static bool locked(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Not where a program expects its output. */
static int above_standard_files(int fd)
{
	int other;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return other;
}

/* Returns -1 with errno; EAGAIN means that another process has it. */
static int open_locked(const char *path)
{
	int error, fd = above_standard_files(open(path, OPEN_FLAGS | O_CREAT, 0644));

	if (fd < 0)
		return -1;
	if (on_tmpfs(fd) && locked(fd))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static bool continues(int fd, const struct record *wanted)
{
	struct record found;

	return pread(fd, &found, sizeof(found), 0) == sizeof(found) &&
	       memcmp(found.magic, wanted->magic, sizeof(found.magic)) == 0 &&
	       found.version == wanted->version && found.size == wanted->size &&
	       found.period_ns == wanted->period_ns &&
	       found.deadline_ns == wanted->deadline_ns &&
	       memcmp(found.name, wanted->name, sizeof(found.name)) == 0;
}

/* Written, not only mapped: where the tmpfs is full, this fails, not a store. */
static bool initialized(int fd, const char *name, const struct activity *activity)
{
	struct record fresh = {
		.magic = RECORD_MAGIC, .version = RECORD_VERSION,
		.size = sizeof(fresh), .period_ns = activity->period_ns,
		.deadline_ns = activity->deadline_ns,
		/* Even, and no earlier record's. */
		.sequence = monotonic_ns() & ~(uint64_t)1,
	};
	ssize_t written;

	memcpy(fresh.name, name, strlen(name));
	if (continues(fd, &fresh))
		return true;
	if (ftruncate(fd, sizeof(fresh)) != 0)
		return false;
	written = pwrite(fd, &fresh, sizeof(fresh), 0);
	if (written >= 0 && written != sizeof(fresh))
		errno = ENOSPC;
	return written == sizeof(fresh);
}

static bool mapped(struct file *file, int fd)
{
	struct stat status;
	void *page;

	if (fstat(fd, &status) != 0)
		return false;
	if (!S_ISREG(status.st_mode) || status.st_size != sizeof(struct record)) {
		errno = EINVAL;
		return false;
	}
	page = mmap(NULL, sizeof(struct record), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return false;
	madvise(page, sizeof(struct record), MADV_DONTFORK);
	mlock(page, sizeof(struct record)); /* if the limit permits */
	file->record = page;
	file->fd = fd;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	return true;
}

static bool take_over(struct file *file, int fd, const char *name,
		      const struct activity *activity)
{
	struct record *record;

	if (!initialized(fd, name, activity) || !mapped(file, fd))
		return false;
	record = file->record;
	/* An earlier process may have been killed anywhere. */
	atomic_store(&record->began_ns, 0);
	atomic_store(&record->pid, (uint32_t)getpid());
	atomic_store(&record->sequence, (record->sequence + 1) & ~(uint64_t)1);
	record->opened_ns = monotonic_ns();
	return true;
}

/* Whether another name may do: this one is another process's, or user's. */
static bool taken(int error)
{
	return error == EAGAIN || error == EACCES || error == EPERM;
}

bool file_create(struct file *file, const struct activity *activity)
{
	char name[RECORD_NAME];
	int error, fd, number;

	if (strcmp(folder(), DEFAULT_FOLDER) == 0)
		make_default_folder();
	for (number = 0; number < OF_ONE_NAME; number++) {
		snprintf(name, sizeof(name), number ? "%s.%d" : "%s",
			 activity->name, number);
		snprintf(file->path, sizeof(file->path), "%s/%s", folder(), name);
		fd = open_locked(file->path);
		if (fd < 0 && taken(errno))
			continue;
		if (fd < 0)
			return false;
		if (take_over(file, fd, name, activity))
			return true;
		error = errno;
		close(fd);
		errno = error;
		return false;
	}
	errno = errno == EAGAIN ? EBUSY : errno;
	return false;
}

bool file_attach(struct file *file, const char *path)
{
	int error, fd = above_standard_files(open(path, OPEN_FLAGS));

	if (fd < 0)
		return false;
	if (on_tmpfs(fd) && mapped(file, fd)) {
		snprintf(file->path, sizeof(file->path), "%s", path);
		return true;
	}
	error = errno;
	close(fd);
	errno = error;
	return false;
}

/* A program may have closed all files, and opened another under this number. */
static bool still_ours(const struct file *file)
{
	struct stat status;

	return fstat(file->fd, &status) == 0 && status.st_dev == file->device &&
	       status.st_ino == file->inode;
}

void file_report(struct file *file, uint64_t now)
{
	ssize_t written = -1;

	if (still_ours(file))
		written = pwrite(file->fd, &now, sizeof(now),
				 offsetof(struct record, reported_ns));
	if (written != sizeof(now)) /* nobody is woken, but who looks sees it */
		atomic_store(&file->record->reported_ns, now);
}

void file_close(struct file *file)
{
	if (still_ours(file))
		close(file->fd);
	munmap(file->record, sizeof(struct record));
	file->record = NULL;
}
