// SPDX-License-Identifier: Apache-2.0
/* Hold a pod's namespaces until SIGTERM or SIGINT comes. */
#include <signal.h>
#include <stddef.h>

int main(void)
{
	sigset_t awaited;
	int signal;

	sigemptyset(&awaited);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGINT);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	return sigwait(&awaited, &signal);
}
