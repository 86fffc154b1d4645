/* Namespaces and mounts, as the launcher and the jail make them. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/util.h"
#include "cli/doctor_internal.h"
#include "launch/identity.h"
#include "launch/idmap.h"

/* A user namespace with the caller's own ids mapped to 0. */
static int enter_user_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	int r = io_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (r == 0)
		r = io_write_file(AT_FDCWD, "/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	if (r == 0)
		r = io_write_file(AT_FDCWD, "/proc/self/gid_map", map);
	return r;
}

static int try_user_namespace(char *text)
{
	int r = enter_user_namespace();
	if (r < 0)
		return r;
	/* AppArmor's restriction lets the namespace be made, but without any capability in it. */
	if (sethostname("probe", 5) == 0 || errno != EPERM)
		return 0;
	if (unshare(CLONE_NEWUTS) < 0)
		return -errno;
	return sethostname("probe", 5) < 0 ? -errno : 0;
}

static int try_other_namespaces(char *text)
{
	static const struct {
		int flag;
		const char *name;
	} kinds[] = {
		{ CLONE_NEWNS, "mount" }, { CLONE_NEWPID, "pid" }, { CLONE_NEWNET, "network" },
		{ CLONE_NEWIPC, "ipc" },  { CLONE_NEWUTS, "uts" }, { CLONE_NEWCGROUP, "cgroup" },
	};
	int r = enter_user_namespace();
	text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && (r == 0 || text[0]); i++) {
		if (unshare(kinds[i].flag) == 0)
			continue;
		r = -errno;
		size_t length = strlen(text);
		snprintf(text + length, PROBE_TEXT - length, "%s%s", length ? ", " : "",
			 kinds[i].name);
	}
	return r;
}

static int mount_proc(void)
{
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return errno;
	return access("/proc/1/stat", R_OK) < 0 ? errno : 0;
}

static int try_proc_mount(char *text)
{
	int r = enter_user_namespace();
	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0)
		return -errno;
	pid_t pid = fork(); /* the first process of the new pid namespace */
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(mount_proc());
	int status;
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

static const char *restriction(void)
{
	static const struct {
		const char *path, *bad, *fix;
	} settings[] = {
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		  "AppArmor restricts user namespaces: install an AppArmor profile for hotcell with "
		  "\"userns,\" or sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
		{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
		  "sysctl kernel.unprivileged_userns_clone=1" },
		{ "/proc/sys/user/max_user_namespaces", "0",
		  "sysctl user.max_user_namespaces=15000" },
	};
	char text[32];
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		ssize_t n = io_read_file(AT_FDCWD, settings[i].path, text, sizeof(text));
		if (n > 0 && strncmp(text, settings[i].bad, 1) == 0 &&
		    (text[1] < '0' || text[1] > '9'))
			return settings[i].fix;
	}
	return "the container or security profile around Hotcell must allow user namespaces "
	       "(Docker: --security-opt seccomp=unconfined)";
}

void probe_user_namespace(struct probe_result *r)
{
	/* Root makes them as root, others as they are. */
	int e = probe_in_child(try_user_namespace, false, NULL);
	int unprivileged = probe_in_child(try_user_namespace, true, NULL);
	if (e == 0 && unprivileged == 0)
		probe_found(r, FINDING_OK, "works");
	else if (e == 0)
		probe_found(r, FINDING_OK, "works for root; not for other users (%s)",
			    strerror(-unprivileged));
	else
		probe_found(r, FINDING_MISSING, "%s", strerror(-e));
	r->fix = e ? restriction() : NULL;
}

void probe_other_namespaces(struct probe_result *r)
{
	char text[PROBE_TEXT] = "";
	int e = probe_in_child(try_other_namespaces, false, text);
	if (e == 0)
		probe_found(r, FINDING_OK, "mount, pid, network, ipc, uts, cgroup");
	else
		probe_found(r, FINDING_MISSING, "not: %s (%s)", text[0] ? text : "any",
			    strerror(-e));
}

void probe_proc_mount(struct probe_result *r)
{
	int e = probe_in_child(try_proc_mount, false, NULL);
	probe_found(r, e ? FINDING_MISSING : FINDING_OK, "%s", e ? strerror(-e) : "works");
}

void probe_idmap(struct probe_result *r)
{
	struct error err;
	struct stat st;
	uint32_t uid, gid;
	int tree = -EBADF;
	if (geteuid() != 0) {
		probe_found(r, FINDING_OK, "not needed: the caller is not root");
		return;
	}
	AUTO_CLOSE int fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		probe_found(r, FINDING_WEAKER, "the current directory: %s", strerror(errno));
		return;
	}
	identity_choose(&uid, &gid);
	struct idmap_ids ids = { st.st_uid, st.st_gid, uid, gid };
	int e = idmap_open(fd, &ids, true, &tree, &err);
	if (e == 0)
		close(tree);
	probe_found(r, e ? FINDING_WEAKER : FINDING_OK, "%s",
		    e ? err.message : "works for the current directory");
}
