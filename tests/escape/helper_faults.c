/*
 * Allocations that fail, one after the other, below everything that a guest can do:
 * helper_faults [STEP [OFFSET [SCENARIO]]]. For n = 1 + OFFSET, 1 + OFFSET + STEP, ... a scenario runs with the n-th
 * allocation of the kernel process failing, and with all from the n-th on, until there is none left. Then
 * everything is cleared away, and nothing may remain: no open file, no buffer, no inode, no object.
 * Prints TAP. Needs the kernel process of tests/faults.
 */
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>

#include "faults.h"
#include "faults_files.h"
#include "faults_ipc.h"
#include "faults_report.h"

static void arm(uint64_t n, uint64_t count)
{
	syscall(SYS_personality, FAULTS_ARM, n, count);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

/* Back to the state before the scenario. */
static void clear(const char *home)
{
	syscall(SYS_close_range, 3, ~0u, 0);
	if (chdir(home) < 0)
		_exit(3);
	nftw(".", remove_one, 20, FTW_DEPTH | FTW_PHYS);
	while (faults_id_count) {
		int kind = faults_ids[--faults_id_count][0], id = faults_ids[faults_id_count][1];
		if (kind == 'q')
			msgctl(id, IPC_RMID, NULL);
		else if (kind == 's')
			semctl(id, 0, IPC_RMID);
		else
			shmctl(id, IPC_RMID, NULL);
	}
	int script = open("script", O_CREAT | O_WRONLY, 0755);
	IGNORE(write(script, "#!/bin/sh\nexit 0\n", 17));
	close(script);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	close(socket(AF_UNIX, SOCK_STREAM, 0)); /* lets unreachable ones be found */
	list_directory("/proc"); /* who asks for processes makes the kernel forget the reaped ones */
}

/* How many allocations the scenario tried. */
static uint64_t once(void (*scenario)(void), uint64_t n, uint64_t count, const char *home)
{
	struct faults_report before = report(), after;
	arm(n, count);
	scenario();
	arm(0, 0);
	syscall(SYS_personality, FAULTS_REPORT, &after);
	clear(home);
	return after.allocations - before.allocations;
}

/* What is cached may differ once; what leaks does so every time. */
static const char *leaks(void (*scenario)(void), uint64_t n, uint64_t count, const char *home)
{
	struct faults_report first = report(), second;
	for (int i = 0; i < 4; i++)
		once(scenario, n, count, home);
	second = report();
	if (!difference(&first, &second))
		return NULL;
	first = second;
	for (int i = 0; i < 8; i++)
		once(scenario, n, count, home);
	second = report();
	return second.objects >= first.objects + 8 || second.files != first.files || second.buffers != first.buffers ||
			       second.inodes != first.inodes || second.disk_bytes != first.disk_bytes || second.pids != first.pids ?
		       difference(&first, &second) :
		       NULL;
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "names", scenario_names }, { "data", scenario_data }, { "lower", scenario_lower }, { "memory", scenario_memory },
	{ "proc", scenario_proc }, { "watches", scenario_watches }, { "locks", scenario_locks }, { "pipes", scenario_pipes },
	{ "unix", scenario_unix }, { "inet", scenario_inet }, { "netlink", scenario_netlink }, { "events", scenario_events },
	{ "polling", scenario_polling }, { "sysv", scenario_sysv }, { "terminal", scenario_terminal },
	{ "processes", scenario_processes }, { "exec", scenario_exec }, { "waiting", scenario_waiting },
};

static bool try_scenario(size_t s, uint64_t step, uint64_t offset, const char *home)
{
	void (*scenario)(void) = scenarios[s].run;
	bool good = true;
	uint64_t n, tried = 0, wanted = 0;

	for (int i = 0; i < 3; i++) /* fills the caches */
		wanted = once(scenario, 0, 0, home);
	for (int forever = 0; forever < 2; forever++) {
		uint64_t count = forever ? UINT32_MAX : 1;
		for (n = 1 + offset; n <= wanted + 5; n += step) {
			struct faults_report before = report();
			once(scenario, n, count, home);
			struct faults_report after = report();
			const char *what = difference(&before, &after) ? leaks(scenario, n, count, home) : NULL;
			tried++;
			if (what && good)
				printf("# n = %lu%s leaves: %s\n", (unsigned long)n, forever ? " and all that follow" : "", what);
			good &= !what;
		}
	}
	printf("%s %zu %s # %lu failures in %lu allocations\n", good ? "ok" : "not ok", s + 1, scenarios[s].name, (unsigned long)tried,
	       (unsigned long)wanted);
	fflush(stdout);
	return good;
}

/* helper_faults storm PROGRAM: the program runs while allocations fail at random. */
static int storm(char **argv)
{
	pid_t pid = fork();
	for (unsigned seed = 1; pid == 0; usleep(300)) {
		seed = seed * 1664525 + 1013904223;
		arm(1 + (seed >> 8) % 300, 1 + (seed >> 20) % 4);
		if (getppid() == 1)
			_exit(0);
	}
	execv(argv[0], argv);
	return 126;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "storm") == 0)
		return storm(argv + 2);
	uint64_t step = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, offset = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	char home[] = "/tmp/faults-XXXXXX";
	bool good = true;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!mkdtemp(home))
		return 3;
	umask(022);
	clear(home);
	map_many();
	for (size_t s = 0; s < sizeof(scenarios) / sizeof(scenarios[0]); s++)
		if (argc < 4 || strcmp(argv[3], scenarios[s].name) == 0)
			good &= try_scenario(s, step, offset % step, home);
	return good ? 0 : 1;
}
