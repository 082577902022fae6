/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file.h"
#include "job.h"
#include "port.h"

/* What is not sent is tried again so often at most. */
#define RETRY_NS 100000000u

struct nova_rt_job {
	struct file file;
	/* Held by who writes; it never waits: who finds it held gives way. */
	atomic_flag busy;
	atomic_bool unsent;
	_Atomic uint64_t tried_ns;
	/* The release of the job that check() has reported. */
	uint64_t told_ns;
};

/* As nova_rt_jobs.h says; the suffix needs room as well. */
static bool is_valid(const struct activity *activity)
{
	const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789-_.";
	const char *name = activity->name;
	size_t length = name ? strlen(name) : 0;

	return length > 0 && length < RECORD_NAME - 4 && name[0] != '.' &&
	       strspn(name, letters) == length && activity->period_ns > 0 &&
	       activity->period_ns <= INT64_MAX && activity->deadline_ns > 0 &&
	       activity->deadline_ns <= INT64_MAX;
}

/* A page that the kernel empties in the child of a fork(). */
static struct nova_rt_job *new_job(void)
{
	struct nova_rt_job *job = mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (job == MAP_FAILED)
		return NULL;
	madvise(job, sizeof(*job), MADV_WIPEONFORK);
	mlock(job, sizeof(*job)); /* if the limit permits */
	return job;
}

static struct nova_rt_job *kept_if(struct nova_rt_job *job, bool works)
{
	int error = errno;

	if (works) {
		port_choose();
		return job;
	}
	munmap(job, sizeof(*job));
	errno = error;
	return NULL;
}

struct nova_rt_job *nova_rt_job_open(const char *name, uint64_t period_ns,
				     uint64_t deadline_ns)
{
	const struct activity activity = { name, period_ns, deadline_ns };
	struct nova_rt_job *job;

	if (!is_valid(&activity)) {
		errno = EINVAL;
		return NULL;
	}
	job = new_job();
	return job ? kept_if(job, file_create(&job->file, &activity)) : NULL;
}

struct nova_rt_job *job_attach(const char *path)
{
	struct nova_rt_job *job = new_job();

	return job ? kept_if(job, file_attach(&job->file, path)) : NULL;
}

const char *job_path(const struct nova_rt_job *job)
{
	return job->file.path;
}

void job_offer(struct nova_rt_job *job)
{
	atomic_store(&job->file.record->pid, 0);
}

static bool is_alive(uint32_t pid)
{
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

bool job_claim(struct nova_rt_job *job)
{
	struct record *record = job->file.record;
	uint32_t own = (uint32_t)getpid(), pid = atomic_load(&record->pid);

	if ((pid != 0 && pid != own && is_alive(pid)) ||
	    !atomic_compare_exchange_strong(&record->pid, &pid, own))
		return false;
	atomic_store(&record->began_ns, 0);
	return true;
}

void job_bury(struct nova_rt_job *job)
{
	struct record *record = job->file.record;
	uint32_t pid = atomic_load(&record->pid);

	if (pid != 0 && !is_alive(pid) &&
	    atomic_compare_exchange_strong(&record->pid, &pid, 0))
		atomic_store(&record->began_ns, 0);
}

static bool is_reported(const struct nova_rt_job *job)
{
	return job && job->file.record;
}

static void send_record(struct nova_rt_job *job, uint64_t now)
{
	job->tried_ns = now;
	atomic_store(&job->unsent, !port_send(job->file.record));
}

static void report(struct nova_rt_job *job, uint64_t now)
{
	int error = errno;

	file_report(&job->file, now);
	send_record(job, now);
	errno = error;
}

static void count(struct record *record, uint64_t began, uint64_t response, bool missed)
{
	uint64_t sequence = atomic_load_explicit(&record->sequence, memory_order_relaxed) | 1;

	atomic_store_explicit(&record->sequence, sequence, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	/* One thread writes them, so plain sums do. The job ends with its count: whoever
	 * reads while this thread is held up here must not take it for one that hangs. */
#define SET(field, value) \
	atomic_store_explicit(&record->field, (value), memory_order_relaxed)
#define GET(field) atomic_load_explicit(&record->field, memory_order_relaxed)
	SET(began_ns, 0);
	SET(jobs, GET(jobs) + 1);
	SET(last_response_ns, response);
	if (response > GET(worst_response_ns))
		SET(worst_response_ns, response);
	SET(consecutive, missed ? GET(consecutive) + 1 : 0);
	if (missed) {
		SET(misses, GET(misses) + 1);
		SET(missed_began_ns, began);
		SET(missed_response_ns, response);
	}
#undef SET
#undef GET
	atomic_store_explicit(&record->sequence, sequence + 1, memory_order_release);
}

/* Whether to send again what the port has not taken. */
static bool is_due(struct nova_rt_job *job, uint64_t now)
{
	return atomic_load_explicit(&job->unsent, memory_order_relaxed) &&
	       now - job->tried_ns > RETRY_NS;
}

/* End the present job, if there is one that has begun. */
static void end_at(struct nova_rt_job *job, uint64_t now)
{
	struct record *record = job->file.record;
	uint64_t began = atomic_load_explicit(&record->began_ns, memory_order_relaxed);
	bool missed = began && began <= now && now - began > record->deadline_ns;

	if (began && began <= now)
		count(record, began, now - began, missed);
	else /* announced, but not released */
		atomic_store_explicit(&record->began_ns, 0, memory_order_release);
	if (missed || is_due(job, now))
		report(job, now);
}

static bool takes(struct nova_rt_job *job)
{
	return is_reported(job) &&
	       !atomic_flag_test_and_set_explicit(&job->busy, memory_order_acquire);
}

static void gives(struct nova_rt_job *job)
{
	atomic_flag_clear_explicit(&job->busy, memory_order_release);
}

void nova_rt_job_begin(struct nova_rt_job *job, uint64_t released_ns)
{
	_Atomic uint64_t *began;
	uint64_t now = 0;

	if (!takes(job))
		return;
	began = &job->file.record->began_ns;
	if (atomic_load_explicit(began, memory_order_relaxed)) {
		now = monotonic_ns();
		end_at(job, now);
	}
	if (!released_ns)
		released_ns = now ? now : monotonic_ns();
	atomic_store_explicit(began, released_ns, memory_order_release);
	gives(job);
}

void nova_rt_job_end(struct nova_rt_job *job)
{
	if (!takes(job))
		return;
	end_at(job, monotonic_ns());
	gives(job);
}

void nova_rt_job_overrun(struct nova_rt_job *job)
{
	if (!is_reported(job))
		return;
	atomic_fetch_add(&job->file.record->overruns, 1);
	report(job, monotonic_ns());
}

uint64_t nova_rt_job_check(struct nova_rt_job *job)
{
	const struct record *record;
	uint64_t now, began, next;

	if (!is_reported(job))
		return UINT64_MAX;
	record = job->file.record;
	now = monotonic_ns();
	began = atomic_load_explicit(&record->began_ns, memory_order_acquire);
	if (began && now <= began + record->deadline_ns)
		return began + record->deadline_ns + 1;
	if (!began) /* the next one is not released before now */
		return now + record->deadline_ns;
	if (began != job->told_ns) {
		job->told_ns = began;
		report(job, now);
	}
	/* The next one may have been released while this one still runs. */
	next = began + record->period_ns + record->deadline_ns + 1;
	return next > now ? next : now + record->deadline_ns;
}

void nova_rt_job_close(struct nova_rt_job *job)
{
	if (!job)
		return;
	if (is_reported(job)) {
		atomic_store(&job->file.record->began_ns, 0);
		file_close(&job->file);
	}
	munmap(job, sizeof(*job));
}
