/* also as root */
/*
 * /proc/PID/mem and its neighbours: a way to the memory of processes that one may look into. Who may is
 * decided when the file is opened; the file must then stay with the program that ran at that time.
 */
#include "attack.h"

#include <sys/prctl.h>

static bool passed_on(uid_t uid)
{
	return geteuid() == uid;
}

/* A child that becomes a set-user-id program when told to, and waits in it. */
static pid_t child_in_pipe(const char *program, int *ret_go)
{
	static char *empty[] = { NULL };
	char *argv[] = { (char *)program, NULL };
	int go[2], out[2];
	CHECK_EQ(pipe(go), 0);
	CHECK_EQ(pipe(out), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		dup2(go[0], 0);
		dup2(out[1], 1);
		dup2(out[1], 2);
		close(go[1]);
		execve(program, argv, empty);
		_exit(2);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

static const char *set_user_id_program(void)
{
	static const char *const names[] = { "/usr/bin/su", "/usr/bin/passwd", "/usr/bin/sudo" };
	struct stat st;
	for (size_t i = 0; i < 3; i++)
		if (stat(names[i], &st) == 0 && (st.st_mode & S_ISUID) && st.st_uid == 0)
			return names[i];
	SKIP("there is no set-user-id program");
}

static int open_of(pid_t pid, const char *name, int flags)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, flags);
}

/* The child runs another program than before. */
static void wait_for_exec(pid_t pid, const char *base)
{
	char comm[32] = "";
	for (int i = 0; i < 2000 && strncmp(comm, base, strlen(base)) != 0; i++) {
		int fd = open_of(pid, "comm", O_RDONLY);
		ssize_t n = read(fd, comm, sizeof(comm) - 1);
		comm[n > 0 ? n : 0] = '\0';
		close(fd);
		usleep(1000);
	}
	CHECK(strncmp(comm, base, strlen(base)) == 0);
}

static const char *const inspected[] = { "mem", "maps", "smaps", "environ", "auxv", "syscall", "stack" };
#define INSPECTED (sizeof(inspected) / sizeof(inspected[0]))

/* In the name of a user without rights: what was opened before does not show what runs now. */
static void hold_files_over_an_exec(void *unused)
{
	char text[4096];
	int fds[INSPECTED], go;
	(void)unused;
	if (geteuid() == 0)
		CHECK_EQ(setresuid(4711, 4711, 4711), 0);
	CHECK(!passed_on(0));
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	const char *program = set_user_id_program();
	pid_t pid = child_in_pipe(program, &go);
	int directory = open_of(pid, ".", O_RDONLY | O_DIRECTORY), numbers = open_of(pid, "fd", O_RDONLY | O_DIRECTORY);
	int infos = open_of(pid, "fdinfo", O_RDONLY | O_DIRECTORY);
	CHECK(directory >= 0 && numbers >= 0);
	for (size_t i = 0; i < INSPECTED; i++)
		fds[i] = open_of(pid, inspected[i], i ? O_RDONLY : O_RDWR);
	CHECK(fds[0] >= 0 && fds[1] >= 0);
	static char mark[] = "unchanged";
	CHECK_EQ(pread(fds[0], text, sizeof(mark), (off_t)(unsigned long)mark), sizeof(mark));
	CHECK(read(fds[1], text, 1) == 1); /* and at the start again */
	CHECK_EQ(write(go, "g", 1), 1);
	wait_for_exec(pid, strrchr(program, '/') + 1);
	CHECK(open_of(pid, "mem", O_RDONLY) < 0);
	CHECK(open_of(pid, "maps", O_RDONLY) < 0);
	for (unsigned long at = 0x555555554000; at < 0x555555554000 + (1ul << 30); at += 1ul << 22)
		CHECK(pread(fds[0], text, 8, (off_t)at) <= 0);
	for (unsigned long at = STUB_AREA; at < STUB_AREA + 0x10000; at += 4096) {
		CHECK(pread(fds[0], text, 8, (off_t)at) <= 0);
		CHECK(pwrite(fds[0], "evil", 4, (off_t)at) <= 0);
	}
	for (size_t i = 1; i < INSPECTED; i++) {
		if (fds[i] < 0)
			continue;
		ssize_t n = pread(fds[i], text, sizeof(text), 0);
		if (n > 0)
			printf("# %s: %.60s\n", inspected[i], text);
		CHECK(n <= 0);
	}
	/* Directories that were opened before are no way to files of afterwards. */
	for (size_t i = 0; i < INSPECTED; i++)
		CHECK(openat(directory, inspected[i], O_RDONLY) < 0);
	CHECK(openat(directory, "root/etc/shadow", O_RDONLY) < 0);
	CHECK(readlinkat(directory, "cwd", text, sizeof(text)) < 0);
	CHECK(openat(directory, "cwd", O_PATH) < 0);
	CHECK(openat(directory, "fd/1", O_WRONLY) < 0);
	CHECK(openat(numbers, "1", O_WRONLY) < 0);
	CHECK(openat(numbers, "0", O_RDONLY) < 0);
	CHECK(readlinkat(numbers, "0", text, sizeof(text)) < 0);
	CHECK(openat(infos, "0", O_RDONLY) < 0);
	CHECK(syscall(SYS_getdents64, numbers, text, sizeof(text)) <= 0);
	kill(pid, SIGKILL);
	close(go);
}

TEST(files_that_were_opened_before_an_exec)
{
	set_user_id_program();
	CHECK_EQ(run_attack(hold_files_over_an_exec, NULL, 20), 0);
	check_alive();
}

TEST(a_file_of_a_dead_process_is_nobody_elses)
{
	/* Its number comes around again sooner or later: here the file has to know that already. */
	char byte;
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	int fd = open_of(pid, "mem", O_RDWR);
	CHECK(fd >= 0);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(pread(fd, &byte, 1, (off_t)(unsigned long)&byte) <= 0);
	CHECK(pwrite(fd, "x", 1, (off_t)(unsigned long)&byte) <= 0);
	close(fd);
}

TEST(the_first_process_cannot_be_written)
{
	CHECK(open("/proc/1/mem", O_RDWR) < 0);
	CHECK(open("/proc/1/mem", O_WRONLY) < 0);
	CHECK(open("/proc/1/task/1/mem", O_RDWR) < 0);
	CHECK_ERRNO(syscall(SYS_process_vm_writev, 1, NULL, 0, NULL, 0, 0), EPERM);
}

TEST(own_memory_keeps_its_protection)
{
	int file = open("/usr/bin/env", O_RDONLY), fd = open("/proc/self/mem", O_RDWR);
	char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0), text[8];
	CHECK(page != MAP_FAILED);
	/* Linux lets a debugger write to read-only private pages; to a shared one of a file, never. */
	CHECK(pwrite(fd, "evil", 4, (off_t)(unsigned long)page) <= 0);
	CHECK_EQ(memcmp(page, "\177ELF", 4), 0);
	CHECK_EQ(pread(file, text, 4, 0), 4);
	CHECK_EQ(memcmp(text, "\177ELF", 4), 0);
	static const unsigned long hostile[] = { 0, 0xffff888000000000, 0xffffffff81000000, 0xffffffffff600000, 0x800000000000,
						 0x7ffffffff000, -8ul };
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		CHECK(pread(fd, text, 8, (off_t)hostile[i]) <= 0);
		CHECK(pwrite(fd, text, 8, (off_t)hostile[i]) <= 0);
		lseek(fd, (off_t)hostile[i], SEEK_SET);
		CHECK(read(fd, text, 8) <= 0);
	}
	check_alive();
}

CHECK_MAIN()
