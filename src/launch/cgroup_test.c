/* Control groups: reading the host's tables, and a real group where the host allows one. */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "launch/cgroup_internal.h"

static const char mounts[] =
	"22 28 0:20 / /sys rw,relatime shared:7 - sysfs sysfs rw\n"
	"30 22 0:26 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	"33 22 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	"34 22 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory";

static const char self[] =
	"12:memory:/a/b\n4:cpu,cpuacct:/docker/abc/x\n1:name=systemd:/s\n0::/u\n";

TEST(mount_table)
{
	static struct cgroup_mount m;
	const char *cursor = mounts;
	CHECK(cgroup_next_mount(&cursor, "cgroup", &m));
	CHECK_STR(m.point, "/sys/fs/cgroup/cpu,cpuacct");
	CHECK_STR(m.root, "/docker/abc");
	CHECK(cgroup_has_word(m.super, "cpuacct", ","));
	CHECK(!cgroup_has_word(m.super, "cpua", ","));
	CHECK(cgroup_next_mount(&cursor, "cgroup", &m));
	CHECK_STR(m.point, "/sys/fs/cgroup/memory");
	CHECK(!cgroup_next_mount(&cursor, "cgroup", &m));
	cursor = mounts;
	CHECK(cgroup_next_mount(&cursor, "cgroup2", &m));
	CHECK_STR(m.super, "rw,nsdelegate");
}

TEST(own_paths)
{
	char path[256];
	CHECK(cgroup_own_path(self, "memory", path, sizeof(path)));
	CHECK_STR(path, "/a/b");
	CHECK(cgroup_own_path(self, "cpuacct", path, sizeof(path)));
	CHECK_STR(path, "/docker/abc/x");
	CHECK(cgroup_own_path(self, "", path, sizeof(path)));
	CHECK_STR(path, "/u");
	CHECK(!cgroup_own_path(self, "pids", path, sizeof(path)));
	CHECK_STR(cgroup_relative("/docker/abc/x", "/docker/abc"), "/x");
	CHECK_STR(cgroup_relative("/a", "/"), "/a");
	CHECK(!cgroup_relative("/docker/abcd", "/docker/abc"));
}

static struct cgroup_host host;

/* ---- version 2, on a directory that looks like one ---- */

static char top[] = "/tmp/hotcell-cgroup-XXXXXX";

static void make_group(const char *path, const char *controllers, const char *handed_on, int mode)
{
	const char *const files[][2] = { { "cgroup.controllers", controllers },
					 { "cgroup.subtree_control", handed_on },
					 { "cgroup.procs", "" } };
	char name[512];
	snprintf(name, sizeof(name), "%s%s", top, path);
	CHECK(mkdir(name, 0755) == 0 || errno == EEXIST);
	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s/%s", top, path, files[i][0]);
		int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);
		CHECK(fd >= 0);
		CHECK_EQ(write(fd, files[i][1], strlen(files[i][1])), strlen(files[i][1]));
		close(fd);
	}
}

static void probe_v2(const char *own)
{
	char mountinfo[512];
	snprintf(mountinfo, sizeof(mountinfo), "30 22 0:26 / %s rw - cgroup2 cgroup2 rw\n", top);
	memset(&host, 0, sizeof(host));
	cgroup_v2_probe(&host, mountinfo, own);
}

static bool used(const char *path)
{
	return strcmp(host.hierarchies[0].parent + strlen(top), path) == 0;
}

TEST(version_2_groups_are_made_where_controllers_are_handed_on)
{
	CHECK(mkdtemp(top));
	make_group("", "cpu memory pids\n", "cpu memory pids\n", 0644);
	make_group("/slice", "cpu memory pids\n", "memory pids\n", 0644);
	make_group("/slice/scope", "", "", 0644);
	probe_v2("0::/slice/scope\n");
	CHECK_EQ(host.version, 2);
	CHECK_EQ(host.count, 1);
	CHECK(used("/slice"));
	CHECK(host.usable & CGROUP_BIT(CGROUP_MEMORY));
	CHECK(host.usable & CGROUP_BIT(CGROUP_PIDS));
	/* cpu was not handed on, but could be switched on. */
	CHECK(host.usable & CGROUP_BIT(CGROUP_CPU));
	char text[64], name[512];
	snprintf(name, sizeof(name), "%s/slice/cgroup.subtree_control", top);
	CHECK(io_read_file(AT_FDCWD, name, text, sizeof(text)) > 0);
	CHECK(strncmp(text, "+cpu", 4) == 0);
	snprintf(name, sizeof(name), "rm -r %s", top);
	CHECK_EQ(system(name), 0);
}

TEST(version_2_without_delegation_is_not_used)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		SKIP("cannot become another user");
	CHECK(mkdtemp(top));
	make_group("", "cpu memory pids\n", "cpu memory pids\n", 0444);
	make_group("/session", "memory\n", "memory\n", 0444);
	probe_v2("0::/session\n");
	CHECK_EQ(host.count, 0);
	CHECK_EQ(host.usable, 0);
	CHECK_STR(cgroup_missing_reason(&host, CGROUP_MEMORY), "not delegated to this user");
	char name[512];
	snprintf(name, sizeof(name), "rm -rf %s", top);
	CHECK_EQ(system(name), 0);
}

static bool have(enum cgroup_controller c)
{
	cgroup_probe(&host);
	return host.usable & CGROUP_BIT(c);
}

/* As the child of a launch does it. */
static void enter(const struct cgroup *cg)
{
	struct error err;
	int fds[CGROUP_CONTROLLERS];
	unsigned int count;
	if (cgroup_open_entries(cg, false, fds, &count, &err) < 0)
		_exit(2);
	for (unsigned int i = 0; i < count; i++) {
		if (write(fds[i], "0", 1) != 1)
			_exit(3);
	}
}

TEST(a_child_enters_the_group)
{
	struct cgroup_limits limits = { .memory_bytes = 64 << 20, .pids = 50, .cpu_milli = 500 };
	struct cgroup cg;
	struct error err;
	char text[4096];
	if (!have(CGROUP_MEMORY) || !(host.version & 1))
		SKIP("no version 1 memory controller for this user");
	CHECK_EQ(cgroup_create(&cg, &host, CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS),
			       &limits, &err),
		 0);
	pid_t pid = fork();
	if (pid == 0) {
		enter(&cg);
		static char touched[8 << 20];
		memset(touched, 1, sizeof(touched));
		bool inside = io_read_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) > 0 &&
			      strstr(text, cg.name);
		_exit(inside ? 0 : 1);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(io_read_file(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) > 0);
	CHECK(!strstr(text, cg.name));
	struct cgroup_usage usage;
	cgroup_read(&cg, &usage);
	CHECK(usage.has_memory);
	CHECK(usage.memory_peak_bytes >= 8 << 20);
	CHECK(usage.memory_peak_bytes < 64 << 20);
	CHECK_EQ(usage.oom_kills, 0);
	char path[CGROUP_PATH_MAX + 128];
	snprintf(path, sizeof(path), "%s/%s", cg.members[0].hierarchy->parent, cg.name);
	cgroup_remove(&cg);
	CHECK_ERRNO(access(path, F_OK), ENOENT);
}

TEST(too_much_memory_is_an_oom_kill)
{
	struct cgroup_limits limits = { .memory_bytes = 16 << 20 };
	struct cgroup cg;
	struct error err;
	if (!have(CGROUP_MEMORY) || !(host.version & 1))
		SKIP("no version 1 memory controller for this user");
	CHECK_EQ(cgroup_create(&cg, &host, CGROUP_BIT(CGROUP_MEMORY), &limits, &err), 0);
	pid_t pid = fork();
	if (pid == 0) {
		enter(&cg);
		volatile char *p = malloc(64 << 20);
		for (size_t i = 0; i < 64 << 20; i += 4096)
			p[i] = 1;
		_exit(0);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	struct cgroup_usage usage;
	cgroup_read(&cg, &usage);
	CHECK(usage.oom_kills >= 1);
	cgroup_remove(&cg);
}

CHECK_MAIN()
