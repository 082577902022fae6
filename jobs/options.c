/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

/* As of env(1) and others that start a program: not the program's own status. */
#define REFUSED 125
#define LONGEST_NS 3600e9

static const char usage[] =
	"usage: nova-rt-run --period TIME [--deadline TIME] [--runtime TIME]\n"
	"                   [--name NAME] -- PROGRAM [ARGUMENT...]\n"
	"\n"
	"Tells the host when a periodic program misses its deadline. Its jobs begin\n"
	"and end where it waits for its next period: clock_nanosleep(2) until a point\n"
	"in time, read(2) of a periodic timerfd, or sched_yield(2) under\n"
	"SCHED_DEADLINE.\n"
	"\n"
	"  --period TIME    microseconds, or with a unit: 8333, 7.6ms, 1s\n"
	"  --deadline TIME  from the release of a job; the period if not given\n"
	"  --runtime TIME   run it under SCHED_DEADLINE with this budget, and count\n"
	"                   the jobs that use it up\n"
	"  --name NAME      of the activity; the program's if not given\n";

void refuse(const char *format, ...)
{
	va_list arguments;

	fputs("nova-rt-run: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(REFUSED);
}

static double unit_ns(const char *unit)
{
	if (strcmp(unit, "") == 0 || strcmp(unit, "us") == 0)
		return 1e3;
	if (strcmp(unit, "ms") == 0)
		return 1e6;
	if (strcmp(unit, "s") == 0)
		return 1e9;
	return NAN;
}

static uint64_t time_of(const char *option, const char *text)
{
	char *unit;
	double ns = strtod(text, &unit);

	ns *= unit_ns(unit);
	if (unit == text || strspn(text, "0123456789.") != (size_t)(unit - text) ||
	    !isfinite(ns))
		refuse("%s takes microseconds, or a number with us, ms or s, not '%s'.",
		       option, text);
	if (ns < 1e3 || ns > LONGEST_NS)
		refuse("%s must be between 1 us and an hour, not '%s'.", option, text);
	return (uint64_t)(ns + 0.5);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void check(const struct options *options)
{
	if (!options->period_ns)
		refuse("Give the program's period by --period; see --help.");
	if (!*options->program)
		refuse("Give a program after --; see --help.");
	if (options->deadline_ns > options->period_ns && options->runtime_ns)
		refuse("With --runtime, the deadline must not be longer than the period.");
	if (options->runtime_ns > options->deadline_ns)
		refuse("The runtime must not be longer than the deadline.");
}

struct options read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "period", required_argument, NULL, 'p' },
		{ "deadline", required_argument, NULL, 'd' },
		{ "runtime", required_argument, NULL, 'r' },
		{ "name", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct options options = { 0 };
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "+:", known, NULL)) != -1) {
		if (letter == 'p')
			options.period_ns = time_of("--period", optarg);
		else if (letter == 'd')
			options.deadline_ns = time_of("--deadline", optarg);
		else if (letter == 'r')
			options.runtime_ns = time_of("--runtime", optarg);
		else if (letter == 'n')
			options.name = optarg;
		else if (letter == 'h')
			exit(fputs(usage, stdout) < 0);
		else if (letter == ':')
			refuse("%s needs a value; see --help.", argv[optind - 1]);
		else
			refuse("There is no option %s; see --help.", argv[optind - 1]);
	}
	options.program = argv + optind;
	if (!options.deadline_ns)
		options.deadline_ns = options.period_ns;
	check(&options);
	if (!options.name)
		options.name = base_name(*options.program);
	return options;
}
