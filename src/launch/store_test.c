/* --store: what is made, what is swept, and that removal follows nothing that it finds. */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "launch/store.h"

static char top[64]; /* each test runs in a process of its own */
static const struct store_owner self = { .root = false };

static const char *in_top(const char *name)
{
	static char path[4][512];
	static unsigned int next;
	char *p = path[next++ % 4];
	snprintf(p, sizeof(path[0]), "%s/%s", top, name);
	return p;
}

static bool exists(const char *name)
{
	struct stat st;
	return lstat(in_top(name), &st) == 0;
}

static void make_file(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0);
	close(fd);
}

static void make_top(void)
{
	snprintf(top, sizeof(top), "/tmp/hotcell-store-XXXXXX");
	CHECK(mkdtemp(top));
}

/* Opens a store and returns the descriptor of its data. */
static int open_store(struct store *s)
{
	struct error err;
	bool detached;
	int fd = -1;
	CHECK_EQ(store_open(s, top, &self, &fd, &detached, &err), 0);
	CHECK(!detached);
	return fd;
}

TEST(a_store_is_private_and_goes)
{
	struct store s, other;
	struct stat st;
	make_top();
	int fd = open_store(&s);
	make_file(fd, "0000000000000001");
	CHECK_EQ(fstatat(s.parent_fd, s.name, &st, 0), 0);
	CHECK_EQ(st.st_mode & 07777, 0700);
	/* A second one in the same directory sweeps nothing that lives. */
	int second = open_store(&other);
	CHECK(exists(s.name) && exists(other.name));
	CHECK_EQ(faccessat(fd, "0000000000000001", F_OK, 0), 0);
	close(fd);
	close(second);
	store_remove(&s);
	store_remove(&other);
	store_remove(&s);
	CHECK_EQ(rmdir(top), 0);
}

TEST(what_a_dead_run_left_is_swept)
{
	struct store s;
	make_top();
	pid_t pid = fork();
	if (pid == 0) {
		int fd = open_store(&s);
		make_file(fd, "0000000000000001");
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(mkdir(in_top("hotcell-notes"), 0755), 0);
	char left[64];
	snprintf(left, sizeof(left), "hotcell-%d-1", (int)pid);
	CHECK(exists(left));
	int fd = open_store(&s);
	CHECK(!exists(left) && exists(s.name) && exists("hotcell-notes"));
	close(fd);
	store_remove(&s);
	CHECK_EQ(rmdir(in_top("hotcell-notes")), 0);
	CHECK_EQ(rmdir(top), 0);
}

TEST(removal_takes_anything_and_follows_nothing)
{
	struct store s;
	make_top();
	CHECK_EQ(mkdir(in_top("outside"), 0755), 0);
	make_file(AT_FDCWD, in_top("outside/precious"));
	int fd = open_store(&s);
	int deep = dup(fd);
	for (int i = 0; i < 500; i++) {
		CHECK_EQ(mkdirat(deep, "d", 0700), 0);
		make_file(deep, "moved-3");
		int next = openat(deep, "d", O_RDONLY | O_DIRECTORY);
		CHECK(next >= 0);
		close(deep);
		deep = next;
	}
	CHECK_EQ(symlinkat("../../outside", deep, "link"), 0);
	CHECK_EQ(symlinkat("../../outside", fd, "link"), 0);
	CHECK_EQ(mkfifoat(deep, "fifo", 0600), 0);
	CHECK_EQ(mkdirat(fd, "closed", 0700), 0);
	CHECK_EQ(symlinkat("../../../outside", fd, "closed/link"), 0);
	CHECK_EQ(fchmodat(fd, "closed", 0, 0), 0);
	close(deep);
	CHECK_EQ(fchmodat(s.lock_fd, "data", 0, 0), 0);
	close(fd);
	store_remove(&s);
	CHECK(exists("outside/precious"));
	CHECK_EQ(unlink(in_top("outside/precious")), 0);
	CHECK_EQ(rmdir(in_top("outside")), 0);
	CHECK_EQ(rmdir(top), 0);
}

TEST(failures_are_explained)
{
	struct store s;
	struct error err;
	bool detached;
	int fd;
	CHECK(store_open(&s, "/no/such/directory", &self, &fd, &detached, &err) < 0);
	CHECK(strstr(err.message, "--store: /no/such/directory: No such file"));
	store_remove(&s);
	CHECK(store_open(&s, "/proc", &self, &fd, &detached, &err) < 0);
	CHECK(strstr(err.message, "noexec") || strstr(err.message, "--store"));
	store_remove(&s);
}

CHECK_MAIN()
