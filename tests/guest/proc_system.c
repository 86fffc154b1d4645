/* The system files of /proc and /sys, as programs parse them. */
/* also as root */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

static char text[1 << 20];

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
	close(fd);
	return n < 0 ? -1 : (ssize_t)total;
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

static bool inside(void)
{
	struct utsname u;
	CHECK_EQ(uname(&u), 0);
	return strstr(u.release, "hotcell") != NULL;
}

TEST(meminfo_agrees_with_sysinfo)
{
	struct sysinfo info;
	unsigned long total, free_kib, available;
	CHECK_EQ(sysinfo(&info), 0);
	CHECK(slurp("/proc/meminfo") > 0);
	CHECK_EQ(sscanf(value_of("MemTotal:"), "%lu kB", &total), 1);
	CHECK_EQ(sscanf(value_of("MemFree:"), "%lu kB", &free_kib), 1);
	CHECK_EQ(sscanf(value_of("MemAvailable:"), "%lu kB", &available), 1);
	CHECK_EQ((unsigned long)info.totalram * info.mem_unit / 1024, total);
	CHECK(free_kib <= total && available <= total);
	CHECK_EQ(sysconf(_SC_PHYS_PAGES), (long)(total / 4));
}

TEST(cpus_agree)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int stat_cpus = 0, info_cpus = 0;
	CHECK(slurp("/proc/stat") > 0);
	CHECK(!strncmp(text, "cpu  ", 5));
	for (char *p = text; (p = strstr(p, "\ncpu")); p++)
		stat_cpus++;
	unsigned long btime;
	CHECK_EQ(sscanf(value_of("btime "), "%lu", &btime), 1);
	CHECK(btime > 1600000000);
	CHECK(slurp("/proc/cpuinfo") > 0);
	for (char *p = text; (p = strstr(p, "processor\t")); p++)
		info_cpus++;
	CHECK(strstr(text, "model name\t"));
	CHECK(strstr(text, "flags\t"));
	CHECK_EQ(stat_cpus, cpus);
	CHECK_EQ(info_cpus, cpus);
	CHECK(slurp("/sys/devices/system/cpu/online") > 0);
	CHECK_EQ(text[0], '0');
	CHECK(slurp("/sys/devices/system/cpu/possible") > 0);
}

TEST(times)
{
	double up, idle;
	CHECK(slurp("/proc/uptime") > 0);
	CHECK_EQ(sscanf(text, "%lf %lf", &up, &idle), 2);
	CHECK(up >= 0);
	double a, b, c;
	int running, total, last;
	CHECK(slurp("/proc/loadavg") > 0);
	CHECK_EQ(sscanf(text, "%lf %lf %lf %d/%d %d", &a, &b, &c, &running, &total, &last), 6);
	CHECK(total >= 1 && running >= 1);
}

TEST(a_process_started_after_the_machine)
{
	unsigned long long start;
	double up;
	CHECK(slurp("/proc/self/stat") > 0);
	const char *p = strrchr(text, ')');
	for (int i = 0; i < 20; i++)
		p = strchr(p + 1, ' ');
	start = strtoull(p, NULL, 10);
	CHECK(slurp("/proc/uptime") > 0);
	CHECK_EQ(sscanf(text, "%lf", &up), 1);
	CHECK((double)start / (double)sysconf(_SC_CLK_TCK) <= up + 1);
}

TEST(sysctls)
{
	struct utsname u;
	char want[160], first[64];
	CHECK_EQ(uname(&u), 0);
	CHECK_STR(u.sysname, "Linux");
	CHECK_STR(u.machine, "x86_64");
	CHECK(slurp("/proc/sys/kernel/osrelease") > 0);
	snprintf(want, sizeof(want), "%s\n", u.release);
	CHECK_STR(text, want);
	CHECK(slurp("/proc/sys/kernel/hostname") > 0);
	snprintf(want, sizeof(want), "%s\n", u.nodename);
	CHECK_STR(text, want);
	CHECK(slurp("/proc/sys/kernel/pid_max") > 0);
	CHECK(atoi(text) >= 32768);
	CHECK_EQ(slurp("/proc/sys/kernel/random/uuid"), 37);
	snprintf(first, sizeof(first), "%.40s", text);
	CHECK_EQ(slurp("/proc/sys/kernel/random/uuid"), 37);
	CHECK(strcmp(first, text));
	CHECK_EQ(slurp("/proc/sys/kernel/random/boot_id"), 37);
	snprintf(first, sizeof(first), "%.40s", text);
	slurp("/proc/sys/kernel/random/boot_id");
	CHECK_STR(first, text);
	CHECK(slurp("/proc/sys/vm/overcommit_memory") == 2);
	CHECK(slurp("/proc/sys/fs/inotify/max_user_watches") > 0);
	CHECK(slurp("/proc/sys/net/core/somaxconn") > 0);
	int low, high;
	CHECK(slurp("/proc/sys/net/ipv4/ip_local_port_range") > 0);
	CHECK_EQ(sscanf(text, "%d %d", &low, &high), 2);
	CHECK(low < high);
	CHECK(slurp("/proc/sys/kernel/ngroups_max") > 0);
	CHECK_EQ(atoi(text), sysconf(_SC_NGROUPS_MAX));
}

TEST(network_files)
{
	CHECK(slurp("/proc/net/dev") > 0);
	CHECK(strstr(text, "lo:"));
	CHECK(slurp("/proc/net/tcp") > 0);
	CHECK(strstr(text, "local_address"));
	CHECK(slurp("/proc/net/unix") > 0);
	CHECK(slurp("/proc/net/route") >= 0);
	CHECK(slurp("/proc/self/net/udp") > 0);
	CHECK(slurp("/sys/class/net/lo/mtu") > 0);
	CHECK(atoi(text) > 0);
}

TEST(other_files)
{
	static const char *const names[] = { "cmdline", "devices", "filesystems", "mounts",
					     "partitions", "swaps", "version", "vmstat", "locks",
					     "sysvipc/shm", "sysvipc/sem", "sysvipc/msg" };
	char name[64];
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(name, sizeof(name), "/proc/%s", names[i]);
		CHECK(slurp(name) >= 0);
	}
	CHECK(slurp("/proc/filesystems") > 0);
	CHECK(strstr(text, "proc\n"));
	CHECK_ERRNO(open("/proc/no-such-file", O_RDONLY), ENOENT);
	CHECK_EQ(mkdir("/proc/x", 0700), -1);
}

TEST(file_system_types)
{
	struct statfs s;
	struct stat st;
	CHECK_EQ(statfs("/proc", &s), 0);
	CHECK_EQ(s.f_type, 0x9fa0);
	CHECK_EQ(statfs("/sys", &s), 0);
	CHECK_EQ(s.f_type, 0x62656572);
	CHECK_EQ(stat("/proc/version", &st), 0);
	CHECK_EQ(st.st_size, 0);
	CHECK(S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0444);
}

/* Every directory of both trees can be listed and every file opened without surprises. */
static int walk(const char *path, int depth)
{
	char name[512];
	int count = 0;
	DIR *d = opendir(path);
	if (!d)
		return 0;
	struct dirent *e;
	while ((e = readdir(d))) {
		struct stat st;
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		CHECK_EQ(lstat(name, &st), 0);
		count++;
		if (S_ISDIR(st.st_mode) && depth < 6) {
			count += walk(name, depth + 1);
		} else if (S_ISREG(st.st_mode)) {
			int fd = open(name, O_RDONLY | O_NONBLOCK);
			if (fd >= 0) {
				CHECK(read(fd, text, sizeof(text)) >= 0 || errno);
				close(fd);
			}
		}
	}
	closedir(d);
	return count;
}

TEST(everything_can_be_read)
{
	if (!inside())
		SKIP("the host has too much");
	CHECK(walk("/proc/sys", 0) > 80);
	CHECK(walk("/proc/self", 0) > 100);
	CHECK(walk("/sys", 0) > 60);
}

TEST(the_control_group_is_the_sandbox)
{
	if (!inside())
		SKIP("native");
	unsigned long total;
	CHECK(slurp("/proc/meminfo") > 0);
	CHECK_EQ(sscanf(value_of("MemTotal:"), "%lu kB", &total), 1);
	CHECK(slurp("/sys/fs/cgroup/memory.max") > 0);
	if (strcmp(text, "max\n"))
		CHECK_EQ(strtoul(text, NULL, 10) / 1024, total);
	CHECK(slurp("/sys/fs/cgroup/cpu.max") > 0);
	CHECK(strstr(text, " 100000\n"));
	CHECK(slurp("/sys/fs/cgroup/pids.max") > 0);
	CHECK(slurp("/sys/fs/cgroup/cgroup.procs") > 0);
	CHECK(slurp("/proc/self/cgroup") > 0);
	CHECK_STR(text, "0::/\n");
	CHECK(slurp("/proc/self/mountinfo") > 0);
	CHECK(strstr(text, "/sys/fs/cgroup") && strstr(text, " - cgroup2 "));
	CHECK_ERRNO(open("/sys/fs/cgroup/memory.max", O_WRONLY), EROFS);
}

CHECK_MAIN()
