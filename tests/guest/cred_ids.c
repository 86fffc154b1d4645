/* User and group ids, capabilities and what changes with them: credentials(7), capabilities(7). */
/* also as root */
#include "check.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* The raw calls: libc broadcasts to threads and hides nothing we want hidden, but also sorts out
 * arguments. */
static long set_res_uid(uid_t r, uid_t e, uid_t s)
{
	return syscall(SYS_setresuid, r, e, s);
}

static void expect_uids(uid_t r, uid_t e, uid_t s)
{
	uid_t a, b, c;
	CHECK_EQ(getresuid(&a, &b, &c), 0);
	CHECK_EQ(a, r);
	CHECK_EQ(b, e);
	CHECK_EQ(c, s);
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("not root");
}

static uint64_t effective_caps(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	CHECK_EQ(syscall(SYS_capget, &h, d), 0);
	return d[0].effective | (uint64_t)d[1].effective << 32;
}

static uint64_t permitted_caps(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	CHECK_EQ(syscall(SYS_capget, &h, d), 0);
	return d[0].permitted | (uint64_t)d[1].permitted << 32;
}

TEST(ids_agree)
{
	uid_t r, e, s;
	gid_t rg, eg, sg;
	CHECK_EQ(getresuid(&r, &e, &s), 0);
	CHECK_EQ(getresgid(&rg, &eg, &sg), 0);
	CHECK_EQ(getuid(), r);
	CHECK_EQ(geteuid(), e);
	CHECK_EQ(getgid(), rg);
	CHECK_EQ(getegid(), eg);
	CHECK_ERRNO(syscall(SYS_getresuid, NULL, NULL, NULL), EFAULT);
	CHECK_ERRNO(syscall(SYS_setuid, -1), EINVAL);
	CHECK_ERRNO(syscall(SYS_setgid, -1), EINVAL);
	CHECK_EQ(set_res_uid(-1, -1, -1), 0);
}

TEST(setuid_as_root_is_forever)
{
	need_root();
	CHECK_EQ(setuid(1234), 0);
	expect_uids(1234, 1234, 1234);
	CHECK_ERRNO(setuid(0), EPERM);
	CHECK_ERRNO(seteuid(0), EPERM);
	CHECK_EQ(effective_caps(), 0);
	CHECK_EQ(permitted_caps(), 0);
}

TEST(the_saved_id_lets_one_come_back)
{
	need_root();
	CHECK_EQ(seteuid(1234), 0);
	expect_uids(0, 1234, 0);
	CHECK_EQ(effective_caps(), 0);
	CHECK(permitted_caps() != 0);
	CHECK_ERRNO(setuid(4321), EPERM);
	CHECK_EQ(seteuid(0), 0);
	CHECK(effective_caps() != 0);
	CHECK_EQ(set_res_uid(1, 2, 3), 0);
	expect_uids(1, 2, 3);
	CHECK_EQ(set_res_uid(3, 1, 2), 0);
	expect_uids(3, 1, 2);
	CHECK_ERRNO(set_res_uid(0, -1, -1), EPERM);
	CHECK_EQ(setuid(3), 0); /* the real id */
	expect_uids(3, 3, 2);
}

TEST(setreuid_moves_the_saved_id)
{
	need_root();
	CHECK_EQ(syscall(SYS_setreuid, 5, 6), 0);
	expect_uids(5, 6, 6);
	CHECK_EQ(syscall(SYS_setreuid, 6, 5), 0);
	expect_uids(6, 5, 5);
	CHECK_ERRNO(syscall(SYS_setreuid, 0, -1), EPERM);
	CHECK_EQ(syscall(SYS_setreuid, -1, 6), 0); /* back to the real id: saved stays */
	expect_uids(6, 6, 5);
}

TEST(group_ids)
{
	gid_t a, b, c;
	need_root();
	CHECK_EQ(syscall(SYS_setresgid, 10, 20, 30), 0);
	CHECK_EQ(getresgid(&a, &b, &c), 0);
	CHECK(a == 10 && b == 20 && c == 30);
	CHECK_EQ(syscall(SYS_setregid, -1, 30), 0);
	CHECK_EQ(setuid(99), 0);
	CHECK_ERRNO(syscall(SYS_setgid, 77), EPERM);
	CHECK_EQ(syscall(SYS_setgid, 10), 0);
	CHECK_EQ(getegid(), 10);
}

TEST(supplementary_groups_come_back_sorted)
{
	gid_t in[] = { 30, 10, 20 }, out[8];
	need_root();
	CHECK_EQ(setgroups(3, in), 0);
	CHECK_EQ(getgroups(0, NULL), 3);
	CHECK_ERRNO(getgroups(2, out), EINVAL);
	CHECK_EQ(getgroups(8, out), 3);
	CHECK(out[0] == 10 && out[1] == 20 && out[2] == 30);
	CHECK_ERRNO(syscall(SYS_getgroups, -1, out), EINVAL);
	CHECK_EQ(setgroups(0, NULL), 0);
	CHECK_EQ(getgroups(0, NULL), 0);
	CHECK_EQ(seteuid(1), 0);
	CHECK_ERRNO(setgroups(1, in), EPERM);
}

TEST(file_system_ids)
{
	need_root();
	CHECK_EQ(setfsuid(700), 0);
	CHECK_EQ(setfsuid(-1), 700);
	CHECK(!(effective_caps() & (1u << CAP_DAC_OVERRIDE)));
	CHECK_EQ(setfsuid(0), 700);
	CHECK(effective_caps() & (1u << CAP_DAC_OVERRIDE));
	CHECK_EQ(setuid(5), 0);
	CHECK_EQ(setfsuid(700), 5);
	CHECK_EQ(setfsuid(-1), 5);
}

TEST(permission_follows_the_ids)
{
	char name[] = "/tmp/cred_XXXXXX";
	need_root();
	int fd = mkstemp(name);
	CHECK(fd >= 0);
	CHECK_EQ(fchmod(fd, 0600), 0);
	CHECK_EQ(seteuid(1234), 0);
	CHECK_ERRNO(open(name, O_RDONLY), EACCES);
	CHECK_EQ(access(name, R_OK), 0); /* asks for the real ids */
	CHECK_ERRNO(chown(name, 1234, -1), EPERM);
	CHECK_EQ(seteuid(0), 0);
	CHECK_EQ(chown(name, 1234, 1234), 0);
	CHECK_EQ(unlink(name), 0);
}

TEST(keepcaps)
{
	need_root();
	CHECK_EQ(prctl(PR_GET_KEEPCAPS), 0);
	CHECK_EQ(prctl(PR_SET_KEEPCAPS, 1), 0);
	CHECK_EQ(prctl(PR_GET_KEEPCAPS), 1);
	uint64_t before = permitted_caps();
	CHECK_EQ(setuid(1234), 0);
	CHECK_EQ(permitted_caps(), before);
	CHECK_EQ(effective_caps(), 0);
	CHECK_ERRNO(prctl(PR_SET_KEEPCAPS, 2), EINVAL);
}

TEST(capset_only_takes_away)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	need_root();
	CHECK_EQ(syscall(SYS_capget, &h, d), 0);
	d[0].effective &= ~(1u << CAP_KILL);
	CHECK_EQ(syscall(SYS_capset, &h, d), 0);
	CHECK(!(effective_caps() & (1u << CAP_KILL)));
	d[0].effective |= 1u << CAP_KILL;
	CHECK_EQ(syscall(SYS_capset, &h, d), 0); /* still permitted */
	d[0].effective &= ~(1u << CAP_KILL);
	d[0].permitted &= ~(1u << CAP_KILL);
	CHECK_EQ(syscall(SYS_capset, &h, d), 0);
	d[0].permitted |= 1u << CAP_KILL;
	CHECK_ERRNO(syscall(SYS_capset, &h, d), EPERM);
	h.pid = 1;
	if (getpid() != 1)
		CHECK_ERRNO(syscall(SYS_capset, &h, d), EPERM);
}

TEST(capability_header_versions)
{
	struct __user_cap_header_struct h = { 0, 0 };
	struct __user_cap_data_struct d[2];
	CHECK_EQ(syscall(SYS_capget, &h, NULL), 0);
	CHECK_EQ(h.version, _LINUX_CAPABILITY_VERSION_3);
	h.version = 12;
	CHECK_ERRNO(syscall(SYS_capget, &h, d), EINVAL);
	CHECK_EQ(h.version, _LINUX_CAPABILITY_VERSION_3);
	h.pid = 0x7ffffff;
	CHECK_ERRNO(syscall(SYS_capget, &h, d), ESRCH);
	h.pid = -1;
	CHECK_ERRNO(syscall(SYS_capget, &h, d), EINVAL);
	CHECK_ERRNO(syscall(SYS_capget, NULL, d), EFAULT);
}

TEST(bounding_set)
{
	CHECK_ERRNO(prctl(PR_CAPBSET_READ, 100), EINVAL);
	need_root();
	CHECK_EQ(prctl(PR_CAPBSET_READ, CAP_CHOWN), 1);
	CHECK_EQ(prctl(PR_CAPBSET_DROP, CAP_CHOWN), 0);
	CHECK_EQ(prctl(PR_CAPBSET_READ, CAP_CHOWN), 0);
	CHECK(effective_caps() & (1u << CAP_CHOWN)); /* until the next exec */
	CHECK_EQ(setuid(1), 0);
	CHECK_ERRNO(prctl(PR_CAPBSET_DROP, CAP_FOWNER), EPERM);
}

TEST(ambient_set)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	need_root();
	CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 0);
	CHECK_EQ(syscall(SYS_capget, &h, d), 0);
	if (!(d[0].inheritable & (1u << CAP_CHOWN)))
		CHECK_ERRNO(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), EPERM);
	d[0].inheritable |= 1u << CAP_CHOWN;
	CHECK_EQ(syscall(SYS_capset, &h, d), 0);
	CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), 0);
	CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 1);
	CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0), 0);
	CHECK_ERRNO(prctl(PR_CAP_AMBIENT, 99, 0, 0, 0), EINVAL);
}

TEST(securebits)
{
	need_root();
	CHECK_EQ(prctl(PR_GET_SECUREBITS), 0);
	CHECK_EQ(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED),
		 0);
	CHECK_ERRNO(prctl(PR_SET_SECUREBITS, 0), EPERM);
	uint64_t before = effective_caps();
	CHECK_EQ(seteuid(1), 0);
	CHECK_EQ(effective_caps(), before);
}

/* ---- set-user-id programs ---- */

/* Copies this program to a set-id file and gives its name. */
static void make_setid_copy(char *name, mode_t mode)
{
	char buffer[65536];
	ssize_t n;
	struct statvfs v;
	CHECK_EQ(statvfs("/tmp", &v), 0);
	if (v.f_flag & ST_NOSUID)
		SKIP("/tmp is nosuid");
	int in = open("/proc/self/exe", O_RDONLY), out = mkstemp(name);
	CHECK(in >= 0 && out >= 0);
	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		CHECK_EQ(write(out, buffer, (size_t)n), n);
	CHECK_EQ(fchmod(out, mode), 0);
	close(in);
	close(out);
}

static int run_as(uid_t uid, const char *program, const char *arg, bool no_new_privs)
{
	int status;
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (setgid(uid) || setuid(uid))
			_exit(99);
		if (no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			_exit(98);
		execl(program, program, "--report", arg, NULL);
		_exit(97);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* In the executed copy: 0 when the ids are what `what` says. */
static int report(const char *what)
{
	uid_t r, e, s;
	getresuid(&r, &e, &s);
	if (!strcmp(what, "suid"))
		return !(r == 1234 && e == 0 && s == 0 && effective_caps() != 0);
	if (!strcmp(what, "plain"))
		return !(r == 1234 && e == 1234 && s == 1234 && effective_caps() == 0);
	if (!strcmp(what, "sgid"))
		return !(getgid() == 1234 && getegid() == 0 && geteuid() == 1234);
	if (!strcmp(what, "caps"))
		return !(r == 1234 && e == 1234 && effective_caps() == 1u << CAP_CHOWN);
	return 50;
}

TEST(set_user_id_programs)
{
	char name[] = "/tmp/cred_suid_XXXXXX";
	need_root();
	make_setid_copy(name, 04755);
	int normal = run_as(1234, name, "suid", false);
	int confined = run_as(1234, name, "plain", true);
	CHECK_EQ(chmod(name, 0755), 0);
	int plain = run_as(1234, name, "plain", false);
	CHECK_EQ(chmod(name, 02755), 0);
	int group = run_as(1234, name, "sgid", false);
	CHECK_EQ(unlink(name), 0);
	CHECK_EQ(normal, 0);
	CHECK_EQ(confined, 0);
	CHECK_EQ(plain, 0);
	CHECK_EQ(group, 0);
}

/* cap_chown, permitted and effective; version 2 of the attribute. */
static const uint8_t chown_cap[20] = { 1, 0, 0, 2, 1 << CAP_CHOWN };

TEST(programs_with_capabilities)
{
	char name[] = "/tmp/cred_caps_XXXXXX";
	need_root();
	make_setid_copy(name, 0755);
	if (setxattr(name, "security.capability", chown_cap, sizeof(chown_cap), 0) < 0) {
		unlink(name);
		SKIP("no capabilities on files");
	}
	int with = run_as(1234, name, "caps", false);
	int without = run_as(1234, name, "plain", true);
	CHECK_EQ(unlink(name), 0);
	CHECK_EQ(with, 0);
	CHECK_EQ(without, 0);
}

TEST(giving_capabilities_takes_privilege)
{
	char name[] = "/tmp/cred_caps_XXXXXX";
	if (geteuid() == 0 && setuid(1234))
		SKIP("cannot drop privileges");
	int fd = mkstemp(name);
	CHECK(fd >= 0);
	CHECK_ERRNO(fsetxattr(fd, "security.capability", chown_cap, sizeof(chown_cap), 0), EPERM);
	CHECK_EQ(unlink(name), 0);
}

TEST(no_new_privs_is_one_way)
{
	CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	CHECK_ERRNO(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
}

TEST(signals_between_users)
{
	need_root();
	int status;
	pid_t root_child = fork();
	CHECK(root_child >= 0);
	if (root_child == 0) {
		pause();
		_exit(0);
	}
	pid_t user = fork();
	CHECK(user >= 0);
	if (user == 0) {
		if (setuid(1234))
			_exit(1);
		errno = 0;
		bool refused = kill(root_child, SIGTERM) == -1 && errno == EPERM;
		_exit(refused && kill(getpid(), 0) == 0 ? 0 : 2);
	}
	CHECK_EQ(waitpid(user, &status, 0), user);
	CHECK_EQ(status, 0);
	CHECK_EQ(kill(root_child, SIGTERM), 0);
	CHECK_EQ(waitpid(root_child, &status, 0), root_child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--report"))
		return report(argv[2]);
	return check_main(argc, argv);
}
