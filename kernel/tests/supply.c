// SPDX-License-Identifier: GPL-2.0
/*
 * How long the tasks of a reserved group take at most, by analysis.
 *
 * A server of runtime Q and period P supplies nothing for 2(P - Q) at worst,
 * and Q in every P then (the supply bound function of the periodic resource
 * model). A task has ended when what it and those of higher priority ask for
 * has been supplied.
 */
#include "rtt.h"

/* The longest it takes the server to supply @demand. */
static int64_t supply_time(int64_t demand, int64_t runtime, int64_t period)
{
	int64_t whole = (demand - 1) / runtime;

	return 2 * (period - runtime) + whole * period + demand - whole * runtime;
}

/* The least that the server supplies in any interval of this length: the bound itself. */
int64_t supply_least(int64_t interval, int64_t runtime, int64_t period)
{
	int64_t rest;

	interval -= 2 * (period - runtime);
	if (interval <= 0)
		return 0;
	rest = interval % period;
	return interval / period * runtime + (rest < runtime ? rest : runtime);
}

/*
 * The longest response time of task @i; tasks are sorted by priority. 0 if it
 * exceeds the task's period, where this analysis ends.
 */
int64_t supply_response(const struct periodic *tasks, int i, int64_t runtime, int64_t period)
{
	int64_t response = tasks[i].c, previous = 0, demand;
	int j;

	while (response != previous && response <= tasks[i].t) {
		previous = response;
		demand = tasks[i].c;
		for (j = 0; j < i; j++)
			demand += (previous + tasks[j].t - 1) / tasks[j].t * tasks[j].c;
		response = supply_time(demand, runtime, period);
	}
	return response <= tasks[i].t ? response : 0;
}
