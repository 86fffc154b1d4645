/* inotify(7). */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static char dir[64];
static int in;

static const char *at(const char *name)
{
	static char path[4][128];
	static int turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static void start(void)
{
	snprintf(dir, sizeof(dir), "/tmp/check-inotify-XXXXXX");
	CHECK(mkdtemp(dir) != NULL);
	in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	CHECK(in >= 0);
}

static void finish(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	CHECK_EQ(system(command), 0);
}

static int watch(const char *path, uint32_t mask)
{
	int wd = inotify_add_watch(in, path, mask);

	CHECK(wd > 0);
	return wd;
}

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(close(fd), 0);
}

static char events[8192];
static size_t have, used;

static void drop(void)
{
	ssize_t n = read(in, events, sizeof(events));

	CHECK(n >= 0 || errno == EAGAIN);
	have = used = 0;
}

/* The next event must be this one. Returns its cookie. */
static uint32_t expect(int wd, uint32_t mask, const char *name)
{
	const struct inotify_event *e;

	if (used == have) {
		ssize_t n = read(in, events, sizeof(events));
		CHECK(n > 0);
		have = (size_t)n;
		used = 0;
	}
	e = (const struct inotify_event *)(const void *)(events + used);
	used += sizeof(*e) + e->len;
	CHECK_EQ(e->wd, wd);
	CHECK_EQ(e->mask, mask);
	if (name) {
		CHECK(e->len > 0 && e->len % 16 == 0);
		CHECK_STR(e->name, name);
	} else {
		CHECK_EQ(e->len, 0);
	}
	return e->cookie;
}

static void expect_nothing(void)
{
	CHECK_EQ(used, have);
	CHECK_ERRNO(read(in, events, sizeof(events)), EAGAIN);
}

TEST(life_of_a_file)
{
	start();
	int wd = watch(dir, IN_ALL_EVENTS);
	int fd = open(at("f"), O_CREAT | O_WRONLY, 0600);
	expect(wd, IN_CREATE, "f");
	expect(wd, IN_OPEN, "f");
	CHECK_EQ(write(fd, "x", 1), 1);
	expect(wd, IN_MODIFY, "f");
	CHECK_EQ(fchmod(fd, 0640), 0);
	expect(wd, IN_ATTRIB, "f");
	close(fd);
	expect(wd, IN_CLOSE_WRITE, "f");
	fd = open(at("f"), O_RDONLY);
	expect(wd, IN_OPEN, "f");
	CHECK_EQ(read(fd, events, 10), 1);
	have = used = 0;
	expect(wd, IN_ACCESS, "f");
	close(fd);
	expect(wd, IN_CLOSE_NOWRITE, "f");
	CHECK_EQ(truncate(at("f"), 0), 0);
	expect(wd, IN_MODIFY, "f");
	CHECK_EQ(unlink(at("f")), 0);
	expect(wd, IN_DELETE, "f");
	expect_nothing();
	finish();
}

TEST(truncating_open)
{
	start();
	int fd = open(at("f"), O_CREAT | O_WRONLY, 0600);
	CHECK_EQ(write(fd, "x", 1), 1);
	close(fd);
	int wd = watch(at("f"), IN_MODIFY);
	close(open(at("f"), O_WRONLY | O_TRUNC));
	expect(wd, IN_MODIFY, NULL);
	expect_nothing();
	finish();
}

TEST(watch_on_the_file_itself)
{
	start();
	touch(at("f"));
	int wd = watch(at("f"), IN_OPEN | IN_CLOSE | IN_ATTRIB | IN_DELETE_SELF);
	touch(at("f"));
	expect(wd, IN_OPEN, NULL);
	expect(wd, IN_CLOSE_WRITE, NULL);
	CHECK_EQ(unlink(at("f")), 0);
	expect(wd, IN_ATTRIB, NULL); /* the link count */
	expect(wd, IN_DELETE_SELF, NULL);
	expect(wd, IN_IGNORED, NULL);
	expect_nothing();
	CHECK_ERRNO(inotify_rm_watch(in, wd), EINVAL);
	finish();
}

TEST(deletion_waits_for_the_last_close)
{
	start();
	touch(at("f"));
	int wd = watch(at("f"), IN_DELETE_SELF);
	int fd = open(at("f"), O_RDONLY);
	CHECK_EQ(unlink(at("f")), 0);
	expect_nothing();
	close(fd);
	expect(wd, IN_DELETE_SELF, NULL);
	expect(wd, IN_IGNORED, NULL);
	finish();
}

TEST(directories)
{
	start();
	int wd = watch(dir, IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF);
	CHECK_EQ(mkdir(at("d"), 0700), 0);
	expect(wd, IN_CREATE | IN_ISDIR, "d");
	int sub = watch(at("d"), IN_CREATE | IN_DELETE_SELF);
	touch(at("d/inner"));
	expect(sub, IN_CREATE, "inner");
	CHECK_EQ(unlink(at("d/inner")), 0);
	CHECK_EQ(rmdir(at("d")), 0);
	expect(sub, IN_DELETE_SELF, NULL);
	expect(sub, IN_IGNORED, NULL);
	expect(wd, IN_DELETE | IN_ISDIR, "d");
	CHECK_EQ(symlink("x", at("s")), 0);
	expect(wd, IN_CREATE, "s");
	touch(at("a"));
	expect(wd, IN_CREATE, "a");
	CHECK_EQ(link(at("a"), at("b")), 0);
	expect(wd, IN_CREATE, "b");
	expect_nothing();
	finish();
}

TEST(names_that_were_never_there_keep_no_directory)
{
	char old[256];
	start();
	CHECK(getcwd(old, sizeof(old)) != NULL);
	CHECK_EQ(mkdir(at("d"), 0700), 0);
	CHECK_EQ(mkdir(at("e"), 0700), 0);
	int d = watch(at("d"), IN_DELETE_SELF), e = watch(at("e"), IN_DELETE_SELF);
	CHECK_ERRNO(access(at("d/none"), F_OK), ENOENT);
	CHECK_EQ(rmdir(at("d")), 0);
	expect(d, IN_DELETE_SELF, NULL);
	expect(d, IN_IGNORED, NULL);
	/* The same with a name that is asked for after the end. */
	CHECK_EQ(chdir(at("e")), 0);
	CHECK_EQ(rmdir(at("e")), 0);
	CHECK_ERRNO(access("none", F_OK), ENOENT);
	CHECK_EQ(chdir(old), 0);
	expect(e, IN_DELETE_SELF, NULL);
	expect(e, IN_IGNORED, NULL);
	finish();
}

TEST(renames_have_a_cookie)
{
	start();
	touch(at("a"));
	CHECK_EQ(mkdir(at("d"), 0700), 0);
	int wd = watch(dir, IN_MOVE), file = watch(at("a"), IN_MOVE_SELF);
	int sub = watch(at("d"), IN_MOVE);
	CHECK_EQ(rename(at("a"), at("b")), 0);
	uint32_t from = expect(wd, IN_MOVED_FROM, "a");
	uint32_t to = expect(wd, IN_MOVED_TO, "b");
	CHECK(from && from == to);
	CHECK_EQ(expect(file, IN_MOVE_SELF, NULL), 0);
	CHECK_EQ(rename(at("b"), at("d/c")), 0);
	uint32_t again = expect(wd, IN_MOVED_FROM, "b");
	CHECK(again != from);
	CHECK_EQ(expect(sub, IN_MOVED_TO, "c"), again);
	expect(file, IN_MOVE_SELF, NULL);
	CHECK_EQ(inotify_rm_watch(in, sub), 0);
	expect(sub, IN_IGNORED, NULL);
	sub = watch(at("d"), IN_MOVE_SELF | IN_ATTRIB);
	CHECK_EQ(chmod(at("d"), 0755), 0);
	expect(sub, IN_ATTRIB | IN_ISDIR, NULL);
	CHECK_EQ(rename(at("d"), at("e")), 0);
	expect(wd, IN_MOVED_FROM | IN_ISDIR, "d");
	expect(wd, IN_MOVED_TO | IN_ISDIR, "e");
	expect(sub, IN_MOVE_SELF, NULL);
	expect_nothing();
	finish();
}

TEST(replaced_by_rename)
{
	start();
	touch(at("a"));
	touch(at("b"));
	int victim = watch(at("b"), IN_DELETE_SELF);
	CHECK_EQ(rename(at("a"), at("b")), 0);
	expect(victim, IN_DELETE_SELF, NULL);
	expect(victim, IN_IGNORED, NULL);
	finish();
}

TEST(equal_events_are_one)
{
	start();
	int fd = open(at("f"), O_CREAT | O_WRONLY, 0600);
	int wd = watch(dir, IN_MODIFY);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(write(fd, "x", 1), 1);
	int n;
	CHECK_EQ(ioctl(in, FIONREAD, &n), 0);
	CHECK_EQ(n, sizeof(struct inotify_event) + 16);
	expect(wd, IN_MODIFY, "f");
	expect_nothing();
	finish();
}

TEST(removal_is_told)
{
	start();
	int wd = watch(dir, IN_CREATE);
	CHECK_EQ(inotify_rm_watch(in, wd), 0);
	expect(wd, IN_IGNORED, NULL);
	touch(at("f"));
	expect_nothing();
	CHECK(watch(dir, IN_CREATE) != wd); /* numbers are not reused soon */
	finish();
}

TEST(oneshot)
{
	start();
	int wd = watch(dir, IN_CREATE | IN_ONESHOT);
	touch(at("a"));
	touch(at("b"));
	expect(wd, IN_CREATE, "a");
	expect(wd, IN_IGNORED, NULL);
	expect_nothing();
	finish();
}

TEST(masks)
{
	start();
	touch(at("f"));
	int wd = watch(at("f"), IN_OPEN);
	CHECK_EQ(watch(at("f"), IN_CLOSE_WRITE | IN_MASK_ADD), wd);
	touch(at("f"));
	expect(wd, IN_OPEN, NULL);
	expect(wd, IN_CLOSE_WRITE, NULL);
	CHECK_EQ(watch(at("f"), IN_CLOSE_WRITE), wd); /* replaced */
	touch(at("f"));
	expect(wd, IN_CLOSE_WRITE, NULL);
	expect_nothing();
	CHECK_ERRNO(inotify_add_watch(in, at("f"), IN_OPEN | IN_MASK_CREATE), EEXIST);
	CHECK_ERRNO(inotify_add_watch(in, at("f"), IN_OPEN | IN_MASK_CREATE | IN_MASK_ADD), EINVAL);
	CHECK_ERRNO(inotify_add_watch(in, at("f"), IN_OPEN | IN_ONLYDIR), ENOTDIR);
	CHECK_ERRNO(inotify_add_watch(in, at("none"), IN_OPEN), ENOENT);
	CHECK_ERRNO(inotify_add_watch(in, at("f"), 0), EINVAL);
	CHECK_ERRNO(inotify_add_watch(0, at("f"), IN_OPEN), EINVAL);
	CHECK_ERRNO(inotify_add_watch(999, at("f"), IN_OPEN), EBADF);
	CHECK_ERRNO(inotify_rm_watch(in, 4711), EINVAL);
	CHECK_ERRNO(inotify_init1(1), EINVAL);
	finish();
}

TEST(dont_follow)
{
	start();
	touch(at("f"));
	CHECK_EQ(symlink(at("f"), at("link")), 0);
	int link_wd = watch(at("link"), IN_DELETE_SELF | IN_DONT_FOLLOW);
	int file_wd = watch(at("link"), IN_OPEN);
	CHECK(link_wd != file_wd);
	CHECK_EQ(unlink(at("link")), 0);
	expect(link_wd, IN_DELETE_SELF, NULL);
	expect(link_wd, IN_IGNORED, NULL);
	finish();
}

TEST(excl_unlink)
{
	start();
	int fd = open(at("f"), O_CREAT | O_WRONLY, 0600);
	int wd = watch(dir, IN_MODIFY | IN_DELETE | IN_EXCL_UNLINK);
	CHECK_EQ(unlink(at("f")), 0);
	expect(wd, IN_DELETE, "f");
	CHECK_EQ(write(fd, "x", 1), 1);
	expect_nothing();
	finish();
}

TEST(small_buffer)
{
	start();
	int wd = watch(dir, IN_CREATE);
	touch(at("a-name-of-more-than-sixteen"));
	touch(at("b"));
	CHECK_ERRNO(read(in, events, 16), EINVAL);
	CHECK_EQ(read(in, events, 48), 48);
	have = 48;
	used = 0;
	expect(wd, IN_CREATE, "a-name-of-more-than-sixteen");
	expect(wd, IN_CREATE, "b");
	finish();
}

TEST(poll_wakes)
{
	start();
	struct pollfd p = { .fd = in, .events = POLLIN };
	watch(dir, IN_CREATE);
	CHECK_EQ(poll(&p, 1, 0), 0);
	pid_t pid = fork();
	if (!pid) {
		usleep(10000);
		touch(at("x"));
		_exit(0);
	}
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(p.revents, POLLIN);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	drop();
	finish();
}

TEST(two_instances)
{
	start();
	int first = in, wd1 = watch(dir, IN_CREATE);
	in = inotify_init1(IN_NONBLOCK);
	int wd2 = watch(dir, IN_CREATE);
	touch(at("x"));
	expect(wd2, IN_CREATE, "x");
	in = first;
	expect(wd1, IN_CREATE, "x");
	close(first);
	finish();
}

TEST(overflow)
{
	char from[32], to[32];
	start();
	int wd = watch(dir, IN_MOVE);
	(void)wd;
	touch(at("0"));
	for (int i = 0; i < 9000; i++) {
		snprintf(from, sizeof(from), "%d", i);
		snprintf(to, sizeof(to), "%d", i + 1);
		CHECK_EQ(rename(at(from), at(to)), 0);
	}
	bool overflowed = false;
	ssize_t n;
	while ((n = read(in, events, sizeof(events))) > 0)
		for (ssize_t i = 0; i < n;) {
			struct inotify_event *e = (void *)(events + i);
			CHECK(!overflowed); /* it is the last one */
			if (e->mask & IN_Q_OVERFLOW) {
				overflowed = true;
				CHECK_EQ(e->wd, -1);
			}
			i += (ssize_t)(sizeof(*e) + e->len);
		}
	CHECK(overflowed);
	finish();
}

CHECK_MAIN()
