/* /proc about processes: proc(5). */
/* also as root */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

static char text[1 << 20];

/* Whole file, NUL-terminated; its size or -1. */
static ssize_t slurp(const char *name)
{
	size_t total = 0;
	ssize_t n;
	int fd = open(name, O_RDONLY);
	if (fd < 0)
		return -1;
	while ((n = read(fd, text + total, sizeof(text) - 1 - total)) > 0)
		total += (size_t)n;
	text[total] = 0;
	int error = errno;
	close(fd);
	errno = error;
	return n < 0 ? -1 : (ssize_t)total;
}

static bool has_line(const char *line)
{
	size_t n = strlen(line);
	for (const char *p = text; p; p = strchr(p, '\n')) {
		if (*p == '\n')
			p++;
		if (!strncmp(p, line, n) && (p[n] == '\n' || !p[n]))
			return true;
	}
	return false;
}

static const char *value_of(const char *key)
{
	size_t n = strlen(key);
	for (const char *p = text; p; p = strchr(p, '\n')) {
		if (*p == '\n')
			p++;
		if (!strncmp(p, key, n))
			return p + n;
	}
	return "";
}

static void read_link(const char *name, char *dst)
{
	ssize_t n = readlink(name, dst, PATH_MAX - 1);
	CHECK(n > 0);
	dst[n] = 0;
}

static void *wait_thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

TEST(self_is_a_link_to_the_pid)
{
	char link[PATH_MAX], want[64];
	read_link("/proc/self", link);
	snprintf(want, sizeof(want), "%d", getpid());
	CHECK_STR(link, want);
	read_link("/proc/thread-self", link);
	snprintf(want, sizeof(want), "%d/task/%ld", getpid(), syscall(SYS_gettid));
	CHECK_STR(link, want);
}

TEST(stat_line)
{
	CHECK(slurp("/proc/self/stat") > 0);
	int pid, ppid, pgrp, session, n = 0;
	char state;
	CHECK_EQ(sscanf(text, "%d (%*[^)]) %c %d %d %d%n", &pid, &state, &ppid, &pgrp, &session, &n),
		 5);
	CHECK_EQ(pid, getpid());
	CHECK_EQ(ppid, getppid());
	CHECK_EQ(pgrp, getpgrp());
	CHECK_EQ(session, getsid(0));
	CHECK(state == 'R' || state == 'S');
	int fields = 0;
	for (const char *p = strrchr(text, ')'); *p; p++)
		fields += *p == ' ';
	CHECK_EQ(fields + 2, 52);
}

TEST(status_knows_the_ids)
{
	char want[128];
	uid_t r, e, s;
	CHECK_EQ(getresuid(&r, &e, &s), 0);
	CHECK(slurp("/proc/self/status") > 0);
	snprintf(want, sizeof(want), "Uid:\t%u\t%u\t%u\t%u", r, e, s, e);
	CHECK(has_line(want));
	snprintf(want, sizeof(want), "Tgid:\t%d", getpid());
	CHECK(has_line(want));
	CHECK(has_line("Threads:\t1"));
	CHECK(strstr(text, "VmRSS:"));
	CHECK(strstr(text, "SigIgn:"));
	CHECK(strstr(text, "CapEff:"));
}

TEST(names_can_be_changed)
{
	char name[16];
	CHECK_EQ(prctl(PR_SET_NAME, "a name that is too long"), 0);
	CHECK_EQ(prctl(PR_GET_NAME, name), 0);
	CHECK_STR(name, "a name that is ");
	CHECK(slurp("/proc/self/comm") > 0);
	CHECK_STR(text, "a name that is \n");
	int fd = open("/proc/self/comm", O_WRONLY);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "other", 5), 5);
	CHECK_EQ(prctl(PR_GET_NAME, name), 0);
	CHECK_STR(name, "other");
	CHECK(slurp("/proc/self/stat") > 0);
	CHECK(strstr(text, "(other)"));
	CHECK(slurp("/proc/self/status") > 0);
	CHECK(has_line("Name:\tother"));
}

TEST(arguments_and_environment)
{
	char **argv = (char *[]){ "/proc/self/exe", "--print", "two words", "", NULL };
	char **envp = (char *[]){ "A=1", "B=two", NULL };
	int p[2], status;
	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(p[1], 1);
		execve("/proc/self/exe", argv, envp);
		_exit(9);
	}
	close(p[1]);
	size_t total = 0;
	ssize_t n;
	while ((n = read(p[0], text + total, sizeof(text) - total)) > 0)
		total += (size_t)n;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	static const char want[] = "/proc/self/exe\0--print\0two words\0\0A=1\0B=two";
	CHECK_EQ(total, sizeof(want));
	CHECK(!memcmp(text, want, sizeof(want)));
}

TEST(exe_cwd_and_root)
{
	char link[PATH_MAX], cwd[PATH_MAX];
	struct stat a, b;
	CHECK_EQ(chdir("/tmp"), 0);
	read_link("/proc/self/cwd", link);
	CHECK(getcwd(cwd, sizeof(cwd)));
	CHECK_STR(link, cwd);
	read_link("/proc/self/root", link);
	CHECK_STR(link, "/");
	read_link("/proc/self/exe", link);
	CHECK_EQ(stat(link, &a), 0);
	CHECK_EQ(stat("/proc/self/exe", &b), 0);
	CHECK(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	CHECK_EQ(lstat("/proc/self/exe", &b), 0);
	CHECK(S_ISLNK(b.st_mode));
	CHECK_EQ(stat("/proc/self/cwd/.", &a), 0);
	CHECK_EQ(stat("/tmp", &b), 0);
	CHECK_EQ(a.st_ino, b.st_ino);
}

TEST(descriptor_links)
{
	char name[] = "/tmp/proc_XXXXXX", link[PATH_MAX], path[64], want[PATH_MAX];
	int p[2], fd = mkstemp(name);
	CHECK(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_link(path, link);
	CHECK_STR(link, name);
	CHECK_EQ(write(fd, "hello", 5), 5);
	int again = open(path, O_RDONLY); /* a new open file: its own position */
	CHECK(again >= 0);
	CHECK_EQ(read(again, text, 10), 5);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 5);
	CHECK_ERRNO(write(again, "x", 1), EBADF);
	CHECK_EQ(unlink(name), 0);
	read_link(path, link);
	snprintf(want, sizeof(want), "%s (deleted)", name);
	CHECK_STR(link, want);
	int third = open(path, O_RDWR); /* reachable though deleted */
	CHECK(third >= 0);
	CHECK_EQ(read(third, text, 10), 5);

	CHECK_EQ(pipe(p), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p[1]);
	read_link(path, link);
	CHECK(!strncmp(link, "pipe:[", 6));
	struct stat st;
	CHECK_EQ(lstat(path, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0300);
	CHECK_EQ(stat(path, &st), 0);
	CHECK(S_ISFIFO(st.st_mode));
	int other = open(path, O_WRONLY);
	CHECK(other >= 0);
	CHECK_EQ(write(other, "via", 3), 3);
	CHECK_EQ(read(p[0], text, 3), 3);
	CHECK_ERRNO(readlink("/proc/self/fd/999", link, sizeof(link)), ENOENT);
	CHECK_ERRNO(open("/proc/self/fd/x", O_RDONLY), ENOENT);
}

TEST(names_of_anonymous_descriptors)
{
	char path[64], link[PATH_MAX];
	int fds[] = { eventfd(0, 0), epoll_create1(0), inotify_init(), timerfd_create(CLOCK_MONOTONIC, 0) };
	static const char *const want[] = { "anon_inode:[eventfd]", "anon_inode:[eventpoll]",
					    "anon_inode:inotify", "anon_inode:[timerfd]" };
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[i]);
		read_link(path, link);
		CHECK_STR(link, want[i]);
	}
	int s[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s[0]);
	read_link(path, link);
	CHECK(!strncmp(link, "socket:[", 8));
	CHECK_ERRNO(open(path, O_RDWR), ENXIO);
}

TEST(a_process_directory_takes_signals)
{
	char path[64];
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d", pid);
	int fd = open(path, O_DIRECTORY | O_RDONLY);
	CHECK(fd >= 0);
	CHECK_EQ(syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0), ESRCH);
	fd = open("/proc/self/stat", O_RDONLY);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0), EBADF);
}

TEST(a_zombie_can_be_waited_for_by_descriptor)
{
	siginfo_t info = { 0 };
	pid_t pid = fork();
	if (pid == 0)
		_exit(5);
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(fd >= 0);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	int late = (int)syscall(SYS_pidfd_open, pid, 0);
	CHECK(late >= 0);
	CHECK_EQ(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0), 0);
	memset(&info, 0, sizeof(info));
	CHECK_EQ(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), 0);
	CHECK_EQ(info.si_status, 5);
	CHECK_ERRNO(waitid(P_PIDFD, (id_t)late, &info, WEXITED), ECHILD);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0), ESRCH);
}

TEST(threads_have_names_of_their_own)
{
	pthread_t t;
	char name[16], path[64];
	CHECK_EQ(prctl(PR_SET_NAME, "main"), 0);
	CHECK_EQ(pthread_create(&t, NULL, wait_thread, NULL), 0);
	CHECK_EQ(pthread_setname_np(t, "worker"), 0); /* through /proc/self/task/TID/comm */
	CHECK_EQ(pthread_getname_np(t, name, sizeof(name)), 0);
	CHECK_STR(name, "worker");
	CHECK(slurp("/proc/self/comm") > 0);
	CHECK_STR(text, "main\n");
	DIR *d = opendir("/proc/self/task");
	CHECK(d);
	struct dirent *e;
	bool seen = false;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", atoi(e->d_name));
		CHECK(slurp(path) > 0);
		CHECK(strstr(text, "(worker) "));
		CHECK_EQ(atoi(text), atoi(e->d_name));
		snprintf(path, sizeof(path), "/proc/%d/status", atoi(e->d_name));
		CHECK(slurp(path) > 0); /* not listed, but there */
		CHECK_EQ(atoi(value_of("Tgid:")), getpid());
		seen = true;
	}
	closedir(d);
	CHECK(seen);
}

TEST(a_stopped_process_shows_it)
{
	char path[64];
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	CHECK(slurp(path) > 0);
	CHECK(strstr(text, ") T "));
	CHECK_EQ(kill(pid, SIGCONT), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(an_orphan_has_a_new_parent)
{
	char path[64];
	int p[2];
	pid_t orphan;
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid_t middle = fork();
	if (middle == 0) {
		orphan = fork();
		if (orphan == 0) {
			pause();
			_exit(0);
		}
		CHECK_EQ(write(p[1], &orphan, sizeof(orphan)), sizeof(orphan));
		_exit(0);
	}
	CHECK_EQ(read(p[0], &orphan, sizeof(orphan)), sizeof(orphan));
	CHECK_EQ(waitpid(middle, NULL, 0), middle);
	snprintf(path, sizeof(path), "/proc/%d/status", orphan);
	CHECK(slurp(path) > 0);
	CHECK_EQ(atoi(value_of("PPid:")), getpid());
	kill(orphan, SIGKILL);
	CHECK_EQ(waitpid(orphan, NULL, 0), orphan);
}

TEST(a_script_shows_its_interpreter)
{
	char name[] = "/tmp/proc_script_XXXXXX";
	int p[2], fd = mkstemp(name), status;
	CHECK(fd >= 0);
	CHECK(dprintf(fd, "#!/bin/cat /proc/self/cmdline\n") > 0);
	CHECK_EQ(fchmod(fd, 0755), 0);
	close(fd);
	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(p[1], 1);
		execl(name, "another name", NULL);
		_exit(9);
	}
	close(p[1]);
	memset(text, 0, 200);
	ssize_t n = read(p[0], text, 200);
	CHECK(n > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	unlink(name);
	CHECK_STR(text, "/bin/cat");
	CHECK_STR(text + 9, "/proc/self/cmdline");
	CHECK_STR(text + 28, name);
}

TEST(threads_have_no_threads)
{
	char path[96];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/self/task/%d", getpid());
	CHECK_EQ(stat(path, &st), 0);
	snprintf(path, sizeof(path), "/proc/self/task/%d/task", getpid());
	CHECK_ERRNO(stat(path, &st), ENOENT);
}

TEST(descriptor_directory)
{
	int extra = dup(0), seen = 0;
	bool found = false;
	CHECK(extra >= 0);
	DIR *d = opendir("/proc/self/fd");
	CHECK(d);
	struct dirent *e;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		CHECK_EQ(e->d_type, DT_LNK);
		CHECK(fcntl(atoi(e->d_name), F_GETFD) >= 0);
		found |= atoi(e->d_name) == extra;
		seen++;
	}
	CHECK(found && seen >= 2);
	closedir(d);
}

TEST(fdinfo_tells_position_and_flags)
{
	char name[] = "/tmp/proc_XXXXXX", path[64];
	int fd = mkostemp(name, O_CLOEXEC);
	CHECK(fd >= 0);
	unlink(name);
	CHECK_EQ(write(fd, "12345", 5), 5);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	CHECK(slurp(path) > 0);
	CHECK(has_line("pos:\t5"));
	unsigned flags;
	CHECK_EQ(sscanf(value_of("flags:\t"), "%o", &flags), 1);
	CHECK_EQ(flags & O_ACCMODE, O_RDWR);
	CHECK(flags & O_CLOEXEC);
}

TEST(maps_name_the_program)
{
	char exe[PATH_MAX];
	read_link("/proc/self/exe", exe);
	CHECK(slurp("/proc/self/maps") > 0);
	CHECK(strstr(text, exe));
	CHECK(strstr(text, "[stack]"));
	CHECK(strstr(text, "r-xp"));
	unsigned long start, end, here = (unsigned long)(uintptr_t)&slurp;
	bool found = false;
	for (char *line = text; *line; line = strchr(line, '\n') + 1) {
		CHECK_EQ(sscanf(line, "%lx-%lx", &start, &end), 2);
		if (here < start || here >= end)
			continue;
		*strchr(line, '\n') = 0;
		CHECK(strstr(line, exe));
		found = true;
		break;
	}
	CHECK(found);
}

TEST(maps_name_mapped_files)
{
	char name[] = "/tmp/proc_map_XXXXXX";
	struct stat st;
	int fd = mkstemp(name);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, 8192), 0);
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(slurp("/proc/self/maps") > 0);
	char *at = strstr(text, name);
	CHECK(at);
	while (at > text && at[-1] != '\n')
		at--;
	unsigned long start, end, ino;
	char perms[5];
	CHECK_EQ(sscanf(at, "%lx-%lx %4s %*x %*x:%*x %lu", &start, &end, perms, &ino), 4);
	CHECK_EQ(start, (unsigned long)(uintptr_t)p);
	CHECK_EQ(end - start, 8192);
	CHECK_STR(perms, "rw-s");
	CHECK_EQ(ino, st.st_ino);
	unlink(name);
}

TEST(limits_follow_setrlimit)
{
	struct rlimit l = { 77, 99 }, old;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	CHECK(old.rlim_cur == 77 && old.rlim_max == 99);
	CHECK(slurp("/proc/self/limits") > 0);
	unsigned soft, hard;
	CHECK_EQ(sscanf(value_of("Max open files"), "%u %u", &soft, &hard), 2);
	CHECK(soft == 77 && hard == 99);
	l.rlim_cur = 100;
	CHECK_ERRNO(setrlimit(RLIMIT_NOFILE, &l), EINVAL);
	CHECK_ERRNO(getrlimit(99, &l), EINVAL);
}

TEST(statm_counts_memory)
{
	unsigned long size, before, after;
	CHECK(slurp("/proc/self/statm") > 0);
	CHECK_EQ(sscanf(text, "%lu %lu", &size, &before), 2);
	CHECK(size >= before && before > 0);
	volatile char *p = malloc(16 << 20);
	CHECK(p);
	for (size_t i = 0; i < 16 << 20; i += 4096)
		p[i] = 1;
	CHECK(slurp("/proc/self/statm") > 0);
	CHECK_EQ(sscanf(text, "%lu %lu", &size, &after), 2);
	CHECK(after >= before + 3000 /* the host counts in batches */);
}

TEST(threads_are_listed)
{
	pthread_t t;
	int count = 0;
	CHECK_EQ(pthread_create(&t, NULL, wait_thread, NULL), 0);
	DIR *d = opendir("/proc/self/task");
	CHECK(d);
	struct dirent *e;
	while ((e = readdir(d)))
		count += e->d_name[0] != '.';
	closedir(d);
	CHECK_EQ(count, 2);
	CHECK(slurp("/proc/self/status") > 0);
	CHECK(has_line("Threads:\t2"));
	CHECK(slurp("/proc/thread-self/stat") > 0);
	CHECK_EQ(atoi(text), getpid());
}

TEST(a_zombie_is_a_zombie_and_then_gone)
{
	char path[64];
	siginfo_t info;
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	CHECK(slurp(path) > 0);
	CHECK(strstr(text, ") Z "));
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	CHECK_EQ(slurp(path), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_ERRNO(open(path, O_RDONLY), ENOENT);
}

TEST(the_root_lists_processes)
{
	bool self = false, child = false;
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	DIR *d = opendir("/proc");
	CHECK(d);
	struct dirent *e;
	while ((e = readdir(d))) {
		self |= atoi(e->d_name) == getpid();
		child |= atoi(e->d_name) == pid;
	}
	closedir(d);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(self && child);
}

TEST(other_users_are_private)
{
	char path[64];
	int status;
	if (geteuid() != 0)
		SKIP("not root");
	pid_t owner = getpid(), pid = fork();
	if (pid == 0) {
		char link[64];
		if (setgid(1234) || setuid(1234))
			_exit(1);
		snprintf(path, sizeof(path), "/proc/%d/environ", owner);
		CHECK_ERRNO(open(path, O_RDONLY), EACCES);
		snprintf(path, sizeof(path), "/proc/%d/fd", owner);
		CHECK(!opendir(path));
		CHECK_EQ(errno, EACCES);
		snprintf(path, sizeof(path), "/proc/%d/exe", owner);
		CHECK_ERRNO(readlink(path, link, sizeof(link)), EACCES);
		snprintf(path, sizeof(path), "/proc/%d/maps", owner);
		CHECK(slurp(path) <= 0);
		snprintf(path, sizeof(path), "/proc/%d/cmdline", owner);
		CHECK(slurp(path) > 0);
		snprintf(path, sizeof(path), "/proc/%d/stat", owner);
		CHECK(slurp(path) > 0);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(own_memory_can_be_read)
{
	static const char secret[] = "find me";
	char copy[sizeof(secret)];
	int fd = open("/proc/self/mem", O_RDONLY);
	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, copy, sizeof(copy), (off_t)(uintptr_t)secret), sizeof(copy));
	CHECK_STR(copy, "find me");
	CHECK_ERRNO(pread(fd, copy, 1, 16), EIO);
}

TEST(oom_score_adj_is_remembered)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "500", 3), 3);
	CHECK(slurp("/proc/self/oom_score_adj") > 0);
	CHECK_STR(text, "500\n");
	CHECK_ERRNO(write(fd, "5000", 4), EINVAL);
}

TEST(small_files)
{
	CHECK(slurp("/proc/self/cgroup") > 0);
	CHECK(slurp("/proc/self/mounts") > 0);
	CHECK(strstr(text, " / "));
	CHECK(strstr(text, " /proc proc "));
	CHECK(slurp("/proc/self/mountinfo") > 0);
	CHECK(strstr(text, " /proc "));
	CHECK(slurp("/proc/self/io") > 0);
	CHECK(has_line("rchar: 0") || strstr(text, "rchar: "));
	CHECK(slurp("/proc/self/auxv") >= 64);
	CHECK(slurp("/proc/self/uid_map") > 0);
	CHECK(slurp("/proc/self/wchan") >= 0);
	CHECK(slurp("/proc/self/smaps") > 0);
	CHECK(strstr(text, "Rss:"));
	CHECK(slurp("/proc/self/smaps_rollup") > 0);
	CHECK(strstr(text, "Pss:"));
	CHECK_ERRNO(open("/proc/self/nothing", O_RDONLY), ENOENT);
	CHECK_ERRNO(open("/proc/self/stat/x", O_RDONLY), ENOTDIR);
	CHECK_ERRNO(open("/proc/0", O_RDONLY), ENOENT);
	CHECK_EQ(mkdir("/proc/self/x", 0755), -1);
}

TEST(reading_in_pieces_is_reading_one_state)
{
	char whole[4096], pieces[4096];
	int fd = open("/proc/self/limits", O_RDONLY);
	ssize_t n = read(fd, whole, sizeof(whole)), at = 0;
	CHECK(n > 0);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	while (at < n) {
		ssize_t k = read(fd, pieces + at, 7);
		CHECK(k > 0);
		at += k;
	}
	CHECK_EQ(at, n);
	CHECK(!memcmp(whole, pieces, (size_t)n));
	CHECK_EQ(pread(fd, pieces, 10, 20), 10);
	CHECK(!memcmp(whole + 20, pieces, 10));
}

/* Prints its own arguments and environment as the kernel knows them. */
static int print_args(void)
{
	ssize_t n = slurp("/proc/self/cmdline");
	if (n < 0 || write(1, text, (size_t)n) != n)
		return 1;
	n = slurp("/proc/self/environ");
	return n < 0 || write(1, text, (size_t)n) != n;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--print"))
		return print_args();
	return check_main(argc, argv);
}
