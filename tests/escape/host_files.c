/* also as root */
/* Paths and descriptors which might lead out of the sandbox's own tree. */
#include "attack.h"

#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

/* Opens by every trick and expects never to see the secret. */
static void check_not_reachable(const char *path)
{
	int fd = open(path, O_RDONLY);
	if (fd >= 0 && is_secret(fd)) {
		printf("# read through %s\n", path);
		CHECK(!"the secret was read");
	}
	if (fd >= 0)
		close(fd);
	CHECK(open(path, O_WRONLY) < 0);
	CHECK(access(path, R_OK) < 0);
}

TEST(the_secret_has_no_path)
{
	static const char *const before[] = {
		"", "/..", "/../../../../../../../..", "/proc/self/root", "/proc/1/root", "/proc/self/cwd/..",
		"/proc/1/cwd", "/proc/1/root/..", "/proc/thread-self/root", "/proc/self/task/../root",
		"/dev/fd/../../../..", "/work/../..", "/proc/self/fd/..", "/sys/..", "/tmp/../..", "//", "/proc/2/root", "/old_root",
	};
	char path[8192];
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", before[i], hint("VICTIM_SECRET"));
		check_not_reachable(path);
	}
}

TEST(symlinks_lead_inside)
{
	char text[4096];
	CHECK_EQ(symlink(hint("VICTIM_SECRET"), "link"), 0);
	check_not_reachable("link");
	CHECK_EQ(symlink("/proc/self/root", "root"), 0);
	snprintf(text, sizeof(text), "root%s", hint("VICTIM_SECRET"));
	check_not_reachable(text);
	snprintf(text, sizeof(text), "../../../../../../..%s", hint("VICTIM_SECRET"));
	CHECK_EQ(symlink(text, "up"), 0);
	check_not_reachable("up");
	CHECK_EQ(symlink("loop", "loop"), 0);
	CHECK_ERRNO(open("loop", O_RDONLY), ELOOP);
	CHECK(link(hint("VICTIM_SECRET"), "hard") < 0);
	CHECK(rename(hint("VICTIM_SECRET"), "moved") < 0);
	CHECK(truncate(hint("VICTIM_SECRET"), 0) < 0);
	CHECK(unlink(hint("VICTIM_SECRET")) < 0);
	CHECK(chmod(hint("VICTIM_SECRET"), 0) < 0);
}

TEST(the_stub_of_the_host_has_no_path)
{
	char *argv[] = { (char *)"x", NULL };
	CHECK_ERRNO(open("/x", O_RDONLY), ENOENT);
	CHECK_ERRNO(access("/x", F_OK), ENOENT);
	CHECK_EQ(run_program("/x", argv), 127);
	CHECK_EQ(run_program("/proc/1/root/x", argv) == 0, 0);
	CHECK_ERRNO(open("/proc/self/root/x", O_RDONLY), ENOENT);
}

TEST(path_descriptors_and_fchdir_stay_inside)
{
	int root = open("/", O_PATH | O_DIRECTORY);
	char path[4096];
	CHECK(root >= 0);
	snprintf(path, sizeof(path), "../../../..%s", hint("VICTIM_SECRET"));
	CHECK(openat(root, path, O_RDONLY) < 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/..%s", root, hint("VICTIM_SECRET"));
	check_not_reachable(path);
	CHECK_EQ(fchdir(root), 0);
	CHECK_EQ(chdir(".."), 0);
	CHECK_STR(getcwd(path, sizeof(path)), "/");
	check_not_reachable(hint("VICTIM_SECRET") + 1);
	CHECK_ERRNO(read(root, path, 1), EBADF);
	for (int fd = 3; fd < 4096; fd++) {
		if (fd == root)
			continue;
		CHECK_ERRNO(fcntl(fd, F_GETFD), EBADF);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		CHECK(open(path, O_RDONLY) < 0);
	}
}

TEST(openat2_with_every_resolve_flag)
{
	for (unsigned int resolve = 0; resolve < 128; resolve++) {
		struct open_how how = { .flags = O_RDONLY, .resolve = resolve };
		long fd = syscall(SYS_openat2, AT_FDCWD, hint("VICTIM_SECRET"), &how, sizeof(how));
		CHECK(fd < 0);
		how.flags = O_PATH;
		CHECK(syscall(SYS_openat2, AT_FDCWD, "/proc/1/root", &how, sizeof(how)) < 0 || resolve < 128);
	}
	struct open_how how = { .flags = ~0ull, .mode = ~0ull, .resolve = ~0ull };
	CHECK(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof(how)) < 0);
	CHECK(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, 0) < 0);
	CHECK(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, 1ul << 40) < 0);
}

static volatile bool flipping;

static void *flip_directory(void *unused)
{
	(void)unused;
	while (flipping) {
		rename("swap", "real");
		symlink("/proc/1/root", "swap");
		unlink("swap");
		rename("real", "swap");
	}
	return NULL;
}

TEST(renames_during_the_walk)
{
	pthread_t thread;
	char path[4096];
	CHECK_EQ(mkdir("swap", 0755), 0);
	snprintf(path, sizeof(path), "swap%s", hint("VICTIM_SECRET"));
	flipping = true;
	CHECK_EQ(pthread_create(&thread, NULL, flip_directory, NULL), 0);
	for (int i = 0; i < 3000; i++) {
		int fd = open(path, O_RDWR);
		CHECK(fd < 0);
	}
	flipping = false;
	pthread_join(thread, NULL);
	check_alive();
}

TEST(the_template_cannot_be_changed_for_others)
{
	/* Changes stay in the private layer; host_layer.py looks at the host's files. */
	int fd = open("/usr/bin/env", O_RDONLY);
	struct stat before;
	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &before), 0);
	char *shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(shared != MAP_FAILED);
	CHECK_ERRNO(mprotect(shared, 4096, PROT_READ | PROT_WRITE), EACCES);
	CHECK_ERRNO(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, EACCES);
	CHECK_ERRNO(write(fd, "x", 1), EBADF);
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int again = open(path, O_RDWR);
	if (again >= 0) {
		/* Root inside may write its own copy: the shared page stays as it is. */
		char first = shared[0];
		CHECK_EQ(pwrite(again, "#", 1, 0), 1);
		(void)first;
	}
	char *private = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(private != MAP_FAILED);
	memset(private, 0, 4096);
}

TEST(device_nodes_are_not_the_hosts)
{
	static const struct {
		mode_t type;
		unsigned int major, minor;
	} nodes[] = { { S_IFCHR, 1, 1 }, { S_IFCHR, 1, 2 }, { S_IFCHR, 1, 4 }, { S_IFCHR, 1, 11 }, { S_IFBLK, 8, 0 },
		      { S_IFBLK, 254, 0 }, { S_IFBLK, 259, 0 }, { S_IFBLK, 7, 0 }, { S_IFCHR, 10, 200 }, { S_IFCHR, 10, 232 },
		      { S_IFCHR, 10, 229 }, { S_IFCHR, 4, 0 }, { S_IFCHR, 5, 1 }, { S_IFCHR, 226, 0 }, { S_IFCHR, 10, 237 } };
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		if (mknod("node", nodes[i].type | 0666, makedev(nodes[i].major, nodes[i].minor)) < 0)
			continue;
		CHECK(open("node", O_RDONLY) < 0);
		CHECK(open("node", O_RDWR | O_NONBLOCK) < 0);
		CHECK_EQ(unlink("node"), 0);
	}
	static const char *const names[] = { "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/kvm",
					     "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/dev/vhost-net", "/dev/vsock", "/dev/console",
					     "/dev/userfaultfd", "/dev/uinput", "/dev/snapshot" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(open(names[i], O_RDONLY | O_NONBLOCK) < 0);
}

TEST(the_kernels_own_files_are_not_the_hosts)
{
	static const char *const closed[] = {
		"/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/sysrq-trigger", "/proc/kpagemap", "/proc/kpageflags",
		"/proc/1/mem", "/proc/1/map_files", "/proc/vmallocinfo", "/proc/iomem", "/proc/timer_list", "/proc/keys",
		"/sys/kernel/debug", "/sys/kernel/uevent_helper", "/sys/kernel/security", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs",
		"/sys/power/state", "/sys/firmware/efi", "/sys/kernel/vmcoreinfo", "/proc/acpi", "/proc/scsi", "/proc/driver", "/proc/sys/kernel/modprobe",
	};
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
		if (open(closed[i], O_WRONLY) >= 0)
			printf("# opened %s\n", closed[i]);
		CHECK(open(closed[i], O_WRONLY) < 0);
	}
	static const char *const settings[] = { "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
						"/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/pid_max",
						"/proc/sys/net/ipv4/ip_forward", "/proc/self/uid_map", "/proc/1/oom_score_adj" };
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int fd = open(settings[i], O_WRONLY);
		if (fd >= 0)
			CHECK(write(fd, "|/tmp/evil\n", 11) < 0);
	}
}

TEST(mounts_and_roots)
{
	CHECK(mount("none", "/mnt", "tmpfs", 0, NULL) < 0);
	CHECK(mount("/", "/mnt", NULL, MS_BIND, NULL) < 0);
	CHECK(umount2("/proc", MNT_DETACH) < 0);
	CHECK(syscall(SYS_pivot_root, ".", ".") < 0);
	char path[4096];
	if (chroot("/work") == 0) {
		/* The classic way out of a chroot: a working directory outside of it. */
		mkdir("jail", 0755);
		int up = open(".", O_RDONLY | O_DIRECTORY);
		if (chroot("jail") == 0) {
			fchdir(up);
			for (int i = 0; i < 64; i++)
				chdir("..");
			chroot(".");
		}
		snprintf(path, sizeof(path), "%s", hint("VICTIM_SECRET"));
		check_not_reachable(path);
		check_not_reachable(path + 1);
	}
}

TEST(long_and_deep_paths)
{
	char *path = malloc(1 << 20);
	memset(path, 'a', 1 << 20);
	path[(1 << 20) - 1] = '\0';
	CHECK_ERRNO(open(path, O_RDONLY), ENAMETOOLONG);
	for (int i = 0; i < (1 << 20) - 1; i++)
		path[i] = i % 2 ? '.' : '/';
	CHECK_ERRNO(open(path, O_RDONLY), ENAMETOOLONG);
	path[4094] = '\0';
	int fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	for (int i = 0; i < 4095; i++)
		path[i] = '/';
	path[4095] = '\0';
	CHECK(open(path, O_RDONLY) >= 0);
	memset(path, 'b', 256);
	path[256] = '\0';
	CHECK_ERRNO(open(path, O_RDONLY | O_CREAT, 0600), ENAMETOOLONG);
}

CHECK_MAIN()
