/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "program.h"

/* As execvp(3) finds it. Returns false if it is not in $PATH. */
static bool found_in_path(const char *program, char *path)
{
	const char *folders = getenv("PATH");
	size_t length;

	for (folders = folders ? folders : "/bin:/usr/bin"; *folders;
	     folders += length + (folders[length] == ':')) {
		length = strcspn(folders, ":");
		snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folders, program);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* Whether it is an ELF program of this machine's kind that names no loader. */
static bool is_static(int fd)
{
	ElfW(Ehdr) header;
	ElfW(Phdr) part;
	int number;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_phentsize != sizeof(part))
		return false;
	for (number = 0; number < header.e_phnum; number++) {
		if (pread(fd, &part, sizeof(part),
			  (off_t)(header.e_phoff + (size_t)number * sizeof(part))) !=
		    sizeof(part))
			return false;
		if (part.p_type == PT_INTERP)
			return false;
	}
	return true;
}

void check_program(const char *program)
{
	char path[PATH_MAX];
	struct stat status;
	int fd;

	if (strchr(program, '/'))
		snprintf(path, sizeof(path), "%s", program);
	else if (!found_in_path(program, path))
		refuse("There is no program '%s'.", program);
	if (stat(path, &status) != 0 || access(path, X_OK) != 0)
		refuse("%s cannot be run: %s.", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		refuse("%s cannot be run: it is not a file.", path);
	if ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
	    (status.st_mode & S_ISGID && status.st_gid != getegid()))
		refuse("%s changes its user or group, so nothing can be preloaded into it: "
		       "run nova-rt-run as that user.", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return; /* it may be run, but not read */
	if (is_static(fd))
		refuse("%s is statically linked, so nothing can be preloaded into it: build "
		       "it with libnova-rt-jobs.a and nova_rt_jobs.h.", path);
	close(fd);
}
