// SPDX-License-Identifier: GPL-2.0
/* The test programs. */
#include "rtt.h"

static const struct program programs[] = {
	{ "share", share_main },
	{ "errno", errno_main },
	{ "faces", faces_main },
	{ "stat", stat_main },
	{ "change", change_main },
	{ "alternate", alternate_main },
	{ "rescue", rescue_main },
	{ "taskset", taskset_main },
	{ "pipeline", pipeline_main },
	{ "churn", churn_main },
	{ "stress", stress_main },
	{ "cores", cores_main },
	{ "comeback", comeback_main },
	{ "unplug", unplug_main },
	{ "overhead", overhead_main },
	{ "several", several_main },
	{ "onset", onset_main },
	{ "slices", slices_main },
	{ "ceiling", ceiling_main },
	{ "heldup", heldup_main },
	{ "grace", grace_main },
	{ "onlined", onlined_main },
	{ "confined", confined_main },
	{ "lone", lone_main },
	{ "switched", switched_main },
	{ "frequency", frequency_main },
	{ "beside", beside_main },
	{ "inherit", inherit_main },
	{ "leftover", leftover_main },
	{ "crowd", crowd_main },
	{ "scale", scale_main },
	{ "sets", sets_main },
	{ "late", late_main },
};

/* Exit status of every program: 0 good, 1 bad, 2 skipped, 3 broken. */
int main(int argc, char **argv)
{
	return run_program(programs, ARRAY_SIZE(programs), argc, argv);
}
