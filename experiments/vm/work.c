// SPDX-License-Identifier: GPL-2.0
/* Work of a given length, and files. */
#include "exp.h"

#define TRIES 20
#define BLOCKS 2000

static double block_ns;

void work_blocks(int64_t n)
{
	while (n-- > 0)
		asm volatile(".rept 250\n\tnop\n\t.endr" ::: "memory");
}

void work_calibrate(void)
{
	int64_t begin, took, best = SEC;
	int i;

	/* The shortest: no interrupt came. */
	for (i = 0; i < TRIES; i++) {
		begin = now();
		work_blocks(BLOCKS);
		took = now() - begin;
		if (took < best)
			best = took;
	}
	block_ns = (double)best / BLOCKS;
}

void work(int64_t ns)
{
	work_blocks(ns / block_ns + 0.5);
}

size_t load(const char *path, void **data)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	*data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (*data == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
	return st.st_size;
}

void save(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file))
		die("%s: %s", path, strerror(errno));
}
