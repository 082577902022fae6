// SPDX-License-Identifier: GPL-2.0
/*
 * noise TASKS C T
 *
 * Tasks that begin together and work C us every T us, until they are killed.
 */
#include "exp.h"

int noise_main(int argc, char **argv)
{
	int64_t runtime, period, release;
	int i;

	if (argc != 4)
		die("usage: noise TASKS C T");
	runtime = atoll(argv[2]) * 1000;
	period = atoll(argv[3]) * 1000;
	work_calibrate();
	release = now() + 10 * MS;
	for (i = 1; i < atoi(argv[1]); i++)
		if (!fork())
			break;
	for (;; release += period) {
		sleep_until(release);
		work(runtime);
	}
}
