/*
 * Rounds of random calls: each is one process, with threads and forks, whose calls follow from a seed;
 * end_round() clears away what it left.
 */
#pragma once

#include "fuzz_args.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <time.h>

enum { NATIVE, CHECKED, EMULATED, REFUSED };

static const struct row {
	const char *name;
	int number, class;
	const char *words; /* what the arguments are */
} rows[] = {
#define SYSCALL(name, number, class, handler, check, error, trace, note) { #name, number, class, trace },
#include "../../src/kernel/abi/syscalls.def"
};

#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

/* Calls that end or freeze the caller, have no arguments to get wrong, or hit processes at random:
 * those are made with chosen arguments by other_calls(). */
static const char *const never[] = {
	"exit", "exit_group", "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "rt_sigreturn", "fork",
	"vfork", "clone", "execve", "execveat", "close_range", "seccomp", "prlimit64",
};

static bool is_never(const struct row *row)
{
	if (row->class == REFUSED || row->class == NATIVE)
		return true;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strcmp(never[i], row->name) == 0)
			return true;
	return false;
}

static void prepare(void)
{
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd); /* or gigabytes of nonsense go to the caller */
	close(null);
	map_memory();
	open_descriptors();
	fill_structures();
}

/* ---- random calls ---- */

static void interrupted(int number)
{
	(void)number;
}

/* Signals to ourselves, programs, descriptors in ranges, mappings of files. */
static void other_calls(void)
{
	static char *const argv[] = { (char *)"x", NULL };
	static const int signals[] = { 0, SIGALRM, SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGUSR1, 65, -1 };
	static const int pids[] = { 0, 1, 999999, -999999, 0x7fffffff };
	int pid = below(3) ? (int)getpid() : PICK(pids), number = PICK(signals);
	switch (below(9)) {
	case 0: /* not 0: that is everybody around us */
		syscall(SYS_kill, pid ? pid : getpid(), number);
		break;
	case 1:
		syscall(SYS_tgkill, pid, pid, number);
		break;
	case 2:
		syscall(SYS_rt_sigqueueinfo, pid, number, pointer_argument());
		break;
	case 3:
		syscall(SYS_pidfd_send_signal, fd_argument(), number, below(2) ? NULL : pointer_argument(), 0);
		break;
	case 4:
		if (below(64) == 0)
			syscall(below(2) ? SYS_execve : SYS_execveat, PICK(paths), argv, pointer_argument(), pointer_argument(), below(8192));
		break;
	case 5:
		syscall(SYS_close_range, 3 + below(200), below(200), number_argument());
		break;
	case 6: /* ours, not those of the process that judges */
		syscall(SYS_prlimit64, 0, below(20), below(4) ? NULL : pointer_argument(), pointer_argument());
		break;
	default:
		syscall(SYS_mmap, window, (1 + below(WINDOW_PAGES)) * PAGE, below(8), (below(2) ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED,
			fd_argument(), below(4) * PAGE);
		break;
	}
}

static void one_call(void)
{
	const struct row *row = &rows[below(ROWS)];
	const char *word = row->words;
	long a[6];
	if (is_never(row)) {
		if (below(8) == 0)
			other_calls();
		return;
	}
	for (int i = 0; i < 6; i++) {
		size_t length = strcspn(word, " ");
		a[i] = length ? argument(word, length) : number_argument();
		word += length + (word[length] == ' ');
	}
	syscall(row->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (below(4) == 0)
		fill_structures();
}

static void *other_caller(void *argument)
{
	state = *(uint64_t *)argument * 3 + 1;
	for (;;)
		one_call();
	return NULL;
}

/* Memory changes while the kernel process looks at it. */
static void *changer(void *argument)
{
	state = *(uint64_t *)argument * 5 + 1;
	for (;;) {
		for (int i = 0; i < 8; i++) {
			uint64_t word = next_random() & next_random();
			memcpy(shared + below(S_COUNT * 256 - 8), &word, below(9));
		}
		change_window();
	}
	return NULL;
}

static void catch_signals(void)
{
	static const int ignored[] = { SIGPIPE, SIGIO, SIGXFSZ, SIGHUP, SIGTTOU, SIGTTIN, SIGUSR1, SIGCHLD };
	struct sigaction interrupt = { .sa_handler = interrupted };
	for (size_t i = 0; i < sizeof(ignored) / sizeof(int); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGALRM, &interrupt, NULL);
}

static void random_calls(void *argument)
{
	static uint64_t seed;
	pthread_t thread;
	seed = state = (uint64_t)(uintptr_t)argument * 0x9e3779b97f4a7c15ul + 1;
	setsid(); /* signals to the group are for us alone */
	prepare();
	catch_signals();
	if (below(4)) {
		pthread_create(&thread, NULL, changer, &seed);
		if (below(2))
			pthread_create(&thread, NULL, other_caller, &seed);
	}
	/* What would wait for ever is interrupted, in some rounds what is being answered, too. */
	static const useconds_t periods[] = { 10000, 10000, 200, 60, 20 };
	useconds_t period = PICK(periods);
	for (int i = 0; i < 2500; i++) {
		ualarm(period, 10000);
		if (i % 400 == 399) {
			remove_ids();
			open_descriptors();
		}
		if (i % 500 == 499 && fork() == 0)
			i = 2300; /* the copy has the same descriptors and goes on alone */
		one_call();
	}
	remove_ids();
	_exit(0);
}

/* Objects that processes left which did not come to remove_ids(). */
static void remove_objects(const char *list, int (*remove)(int id))
{
	char line[512];
	FILE *file = fopen(list, "r");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		int id;
		if (sscanf(line, "%*d %d", &id) == 1)
			(void)remove(id);
	}
	fclose(file);
}

static int remove_memory(int id)
{
	return shmctl(id, IPC_RMID, NULL);
}

static int remove_messages(int id)
{
	return msgctl(id, IPC_RMID, NULL);
}

static int remove_semaphores(int id)
{
	return semctl(id, 0, IPC_RMID);
}

/* 0 if it is gone. */
static pid_t parent_of(const char *pid)
{
	char path[300], text[512];
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	char *behind_name = strrchr(text, ')'); /* the name is anything */
	return behind_name ? atoi(behind_name + 4) : 0;
}

static void kill_children(void)
{
	struct dirent *e;
	DIR *all = opendir("/proc");
	CHECK(all != NULL);
	while ((e = readdir(all)))
		if (atoi(e->d_name) > 1 && parent_of(e->d_name) == getpid())
			kill(atoi(e->d_name), SIGKILL);
	closedir(all);
}

/* Forks outlive their round, in calls that wait, with all that they hold: hours of that fill a disk.
 * The caller is their reaper. */
static void end_round(void)
{
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 || errno != ECHILD) {
		if (pid > 0)
			continue;
		kill_children();
		waitpid(-1, NULL, 0);
	}
	remove_objects("/proc/sysvipc/shm", remove_memory);
	remove_objects("/proc/sysvipc/msg", remove_messages);
	remove_objects("/proc/sysvipc/sem", remove_semaphores);
}
