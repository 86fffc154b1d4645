/*
 * helper_leaks SEED ROUNDS [SCENARIO]: rounds of the fuzzer (fuzz_round.h) that end and that are killed;
 * then all that they made is cleared away and nothing may remain of it in the kernel process: no object,
 * open file, buffer, inode, task. What does is printed, with the places that made it ("# leak: OFFSET +N").
 * Prints TAP. Needs the kernel process of tests/faults, and to be root, which can clear away anything; the
 * rounds are a user's.
 */
#include "fuzz_round.h"

#include "faults_report.h"

#include <ftw.h>
#include <grp.h>
#include <sys/file.h>

#define WARM_ROUNDS 3
#define USER 1000

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	if (ftw->level)
		CHECK_EQ(remove(path), 0);
	return 0;
}

static void clear(const char *path)
{
	CHECK_EQ(nftw(path, remove_one, 20, FTW_DEPTH | FTW_PHYS), 0);
}

static void as_user(void *seed)
{
	CHECK_EQ(setgroups(0, NULL), 0);
	CHECK_EQ(setresgid(USER, USER, USER), 0);
	CHECK_EQ(setresuid(USER, USER, USER), 0);
	random_calls(seed);
}

/* Deep enough for "../.." to be the round's own. */
static void enter_place(void)
{
	static const char *const steps[] = { "/tmp", "a", "b", "c" };
	for (size_t i = 0; i < sizeof(steps) / sizeof(char *); i++) {
		if (i > 0)
			CHECK_EQ(mkdir(steps[i], 0755) | chown(steps[i], USER, USER), 0);
		CHECK_EQ(chdir(steps[i]), 0);
	}
}

static void clear_all(void)
{
	end_round();
	CHECK_EQ(chdir("/tmp"), 0);
	clear("/tmp");
	clear("/dev/shm");
}

/* A process that comes to its end, or to that of its time. */
static void whole_round(uint64_t seed)
{
	enter_place();
	run_attack(as_user, (void *)(uintptr_t)seed, 4);
	clear_all();
}

/* One that is killed at any moment, in the middle of any call. */
static void killed_round(uint64_t seed)
{
	int status;
	enter_place();
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		as_user((void *)(uintptr_t)seed);
	usleep(5000 + (useconds_t)(seed * 7919 % 60000));
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	clear_all();
}

static void send_for_ever(uint64_t seed)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	static char text[60000];
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .header = { CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { text, sizeof(text) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	for (;;) {
		int pair[2];
		CHECK_EQ(socketpair(AF_UNIX, types[seed % 3], 0, pair), 0);
		memcpy(CMSG_DATA(&control.header), pair, sizeof(pair));
		sendmsg(pair[0], &m, 0);
		close(pair[0]);
		close(pair[1]);
	}
}

/* Descriptors of the socket itself are on their way through it when it is killed: nobody else can free them. */
static void killed_senders(uint64_t seed)
{
	for (int i = 0; i < 80; i++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			send_for_ever(seed + (uint64_t)i);
		usleep(1000 + (useconds_t)(seed + (uint64_t)i) * 37 % 1000);
		kill(pid, SIGKILL);
	}
	end_round();
}

static void *map_something(void *unused)
{
	int fd = open("/usr/bin/env", O_RDONLY);
	munmap(mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0), 1);
	close(fd);
	return unused;
}

static pid_t start(bool whole, const char *program)
{
	static char *const argv[] = { (char *)"true", NULL };
	pid_t pid = whole ? fork() : vfork();
	if (pid == 0) {
		execv(program, argv);
		_exit(1);
	}
	return pid;
}

/* Births, programs, threads, shared memory, a terminal of its own. */
static void live(uint64_t seed)
{
	pthread_t thread;
	setsid();
	add_terminal();
	ioctl(fds[1], TIOCSCTTY, 0);
	int memory = shmget(IPC_PRIVATE, 8192, 0600);
	for (;; seed++) {
		void *at = shmat(memory, NULL, 0);
		pid_t pid = start(seed % 3 != 0, seed % 2 ? "/bin/true" : "/bin/which"); /* that is a script */
		if (pthread_create(&thread, NULL, map_something, NULL) == 0)
			pthread_join(thread, NULL);
		if (seed % 5)
			waitpid(pid, NULL, 0);
		shmdt(at);
	}
}

static void killed_life(uint64_t seed)
{
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			live(seed + (uint64_t)i);
		usleep(1000 + (useconds_t)(seed * 7919 + (uint64_t)i * 613) % 12000);
		kill(pid, SIGKILL);
	}
	end_round();
}

/* Some freed buffers are kept, and what lasting files need for locks and mappings. */
static void fill_pools(void)
{
	static const size_t sizes[] = { 1, 16000, 60000 };
	static const char *const lasting[] = { "/", "/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/tmp",
					       "/dev/shm", "/sys", "/proc/cpuinfo", "/etc/passwd", "/usr/lib", "/usr/bin/env", "/t", "/t/escape" };
	static char block[60000];
	int pairs[40][2];
	for (int s = 0; s < 3; s++) {
		for (int i = 0; i < 40; i++) {
			CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]), 0);
			CHECK(write(pairs[i][0], block, sizes[s]) > 0);
		}
		for (int i = 0; i < 40; i++) {
			close(pairs[i][0]);
			close(pairs[i][1]);
		}
	}
	for (int i = 0; i < 1000; i++) { /* tables of names do not become smaller */
		char name[32];
		snprintf(name, sizeof(name), "%s/%d", i % 2 ? "/tmp" : "/dev/shm", i);
		close(open(name, O_CREAT | O_WRONLY, 0600));
	}
	clear("/tmp");
	clear("/dev/shm");
	for (size_t i = 0; i < sizeof(lasting) / sizeof(char *); i++) {
		int fd = open(lasting[i], O_RDONLY | O_NONBLOCK | O_NOCTTY);
		flock(fd, LOCK_SH);
		munmap(mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0), 1); /* one of the sandbox's own goes to the store */
		close(fd);
	}
}

/* Pid 1 has reaped what it was told to, and waits again: its call is one of what there is. */
static void wait_for_init(void)
{
	char text[64] = "";
	while (!strstr(text, ") S ")) {
		int fd = open("/proc/1/stat", O_RDONLY);
		CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
		close(fd);
	}
}

static struct faults_report look(void)
{
	wait_for_init();
	DIR *all = opendir("/proc"); /* who asks for processes makes the kernel forget the reaped ones */
	while (readdir(all))
		;
	closedir(all);
	return report();
}

static struct faults_site before[FAULTS_SITES_MAX], after[FAULTS_SITES_MAX];

/* Prints the places of which more objects are there than before; true if there are none. */
static bool check_sites(long had, long have)
{
	bool good = true;
	for (long i = 0; i < have; i++) {
		uint64_t old = 0;
		for (long k = 0; k < had; k++)
			old += before[k].place == after[i].place ? before[k].objects : 0;
		if (after[i].objects > old)
			printf("# leak: %lx +%lu\n", (unsigned long)after[i].place, (unsigned long)(after[i].objects - old));
		good &= after[i].objects <= old;
	}
	return good;
}

static const struct {
	const char *name;
	void (*run)(uint64_t seed);
	long times;
} scenarios[] = {
	{ "killed_senders", killed_senders, 3 },
	{ "killed_lives", killed_life, 4 },
	{ "killed_rounds", killed_round, 4 },
	{ "whole_rounds", whole_round, 1 },
};

static bool try_scenario(size_t s, uint64_t seed, long rounds)
{
	for (long i = 0; i < WARM_ROUNDS; i++)
		scenarios[s].run(seed++);
	struct faults_report first = look();
	long had = syscall(SYS_personality, FAULTS_SITES, before);
	for (long i = 0; i < rounds * scenarios[s].times; i++)
		scenarios[s].run(seed++);
	struct faults_report last = look();
	last.objects = first.objects; /* some are cached, of some there is one for ever */
	const char *what = difference(&first, &last);
	if (what)
		printf("# left: %s\n", what);
	bool good = check_sites(had, syscall(SYS_personality, FAULTS_SITES, after)) && !what;
	printf("%s %zu %s\n", good ? "ok" : "not ok", s + 1, scenarios[s].name);
	return good;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	long rounds = argc > 2 ? atol(argv[2]) : 10;
	bool good = true;
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	map_many();
	fill_pools();
	for (size_t s = 0; s < sizeof(scenarios) / sizeof(scenarios[0]); s++)
		if (argc < 4 || strcmp(argv[3], scenarios[s].name) == 0)
			good &= try_scenario(s, seed, rounds);
	return good ? 0 : 1;
}
