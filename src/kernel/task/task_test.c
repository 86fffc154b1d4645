/* Credentials across execve, limits, parsing of maps, growing buffers: without guests. */
#include "check.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/seq.h"
#include "kernel/mm/maps.h"
#include "kernel/task/cred.h"

#define CAP(n) (1ull << (n))

static void begin(void)
{
	CHECK_EQ(arena_init(64u << 20), 0);
	CHECK_EQ(limits_init(), 0);
}

static struct cred *exec_as(struct cred *from, struct cred_exec file, bool want_secure)
{
	struct cred *to = NULL;
	bool secure = !want_secure;

	CHECK_EQ(cred_for_exec(from, &file, &to, &secure), 0);
	CHECK_EQ(secure, want_secure);
	CHECK_EQ(to->refs, 1);
	return to;
}

TEST(an_ordinary_program_changes_nothing)
{
	begin();
	struct cred *user = cred_new(1000, 1000);
	struct cred *to = exec_as(user, (struct cred_exec){ .mode = 0755 }, false);
	CHECK_EQ(to->euid, 1000);
	CHECK_EQ(to->cap_permitted, 0);
	struct cred *root = cred_new(0, 0);
	to = exec_as(root, (struct cred_exec){ .mode = 0755 }, false);
	CHECK_EQ(to->cap_effective, root->cap_bounding);
}

TEST(set_user_id_root)
{
	begin();
	struct cred *user = cred_new(1000, 1000);
	struct cred *to = exec_as(user, (struct cred_exec){ .mode = 04755 }, true);
	CHECK(to->uid == 1000 && to->euid == 0 && to->suid == 0 && to->fsuid == 0);
	CHECK_EQ(to->cap_effective, to->cap_bounding);
	to = exec_as(user, (struct cred_exec){ .mode = 04755, .nosuid = true }, false);
	CHECK_EQ(to->euid, 1000);
	user->no_new_privs = true;
	to = exec_as(user, (struct cred_exec){ .mode = 06755 }, false);
	CHECK(to->euid == 1000 && to->egid == 1000 && to->cap_permitted == 0);
}

TEST(set_group_id_needs_the_group_execute_bit)
{
	begin();
	struct cred *user = cred_new(1000, 1000);
	CHECK_EQ(exec_as(user, (struct cred_exec){ .mode = 02755, .gid = 5 }, true)->egid, 5);
	CHECK_EQ(exec_as(user, (struct cred_exec){ .mode = 02745, .gid = 5 }, false)->egid, 1000);
}

TEST(root_without_its_privilege)
{
	begin();
	struct cred *root = cred_new(0, 0);
	root->securebits = SECBIT_NOROOT;
	struct cred *to = exec_as(root, (struct cred_exec){ .mode = 0755 }, false);
	CHECK_EQ(to->cap_permitted, 0);
	root->securebits = 0;
	root->no_new_privs = true;
	root->cap_permitted = CAP(CAP_CHOWN);
	to = exec_as(root, (struct cred_exec){ .mode = 0755 }, false);
	CHECK_EQ(to->cap_permitted, CAP(CAP_CHOWN)); /* what was dropped does not come back */
}

TEST(file_capabilities)
{
	uint8_t caps[20] = { 1, 0, 0, 2, 1 << CAP_CHOWN };
	struct cred_exec file = { .mode = 0755, .file_caps = caps, .file_caps_size = sizeof(caps) };
	struct cred *to;
	bool secure;
	begin();
	struct cred *user = cred_new(1000, 1000);
	to = exec_as(user, file, true);
	CHECK_EQ(to->cap_effective, CAP(CAP_CHOWN));
	user->cap_bounding = 0;
	CHECK_EQ(cred_for_exec(user, &file, &to, &secure), -EPERM);
	file.file_caps_size = 7; /* damaged: as if there were none */
	to = exec_as(user, file, false);
	CHECK_EQ(to->cap_permitted, 0);
}

TEST(the_ambient_set_survives_ordinary_programs_only)
{
	begin();
	struct cred *user = cred_new(1000, 1000);
	user->cap_permitted = user->cap_inheritable = user->cap_ambient = CAP(CAP_NET_RAW);
	struct cred *to = exec_as(user, (struct cred_exec){ .mode = 0755 }, false);
	CHECK_EQ(to->cap_effective, CAP(CAP_NET_RAW));
	to = exec_as(user, (struct cred_exec){ .mode = 04755, .uid = 7 }, true);
	CHECK_EQ(to->cap_ambient, 0);
}

TEST(no_memory_for_credentials)
{
	struct cred *to = NULL;
	bool secure;
	begin();
	struct cred *user = cred_new(1000, 1000);
	arena_fail_after(1);
	CHECK_EQ(cred_for_exec(user, &(struct cred_exec){ .mode = 0755 }, &to, &secure), -ENOMEM);
	CHECK(!cred_new(1, 1) && !cred_copy(user));
}

TEST(limits_are_exact)
{
	begin();
	limit_set(LIMIT_PIDS, 3);
	CHECK(limit_charge(LIMIT_PIDS, 2));
	CHECK(!limit_charge(LIMIT_PIDS, 2));
	CHECK(!limit_charge(LIMIT_PIDS, UINT64_MAX));
	CHECK_EQ(limit_used(LIMIT_PIDS), 2);
	CHECK(limit_charge(LIMIT_PIDS, 1));
	limit_release(LIMIT_PIDS, 3);
	CHECK_EQ(limit_used(LIMIT_PIDS), 0);
	CHECK_EQ(limit_peak(LIMIT_PIDS), 3);
	limit_release(LIMIT_PIDS, 1); /* one too many does not wrap */
	CHECK_EQ(limit_used(LIMIT_PIDS), 0);
}

TEST(maps_lines)
{
	struct mm_map m;
	char line[] = "7f0011223000-7f0011224000 rw-s 0000a000 08:1f 1234567890123   /a b (deleted)";
	char anon[] = "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]";
	CHECK(mm_maps_parse(line, &m));
	CHECK_EQ(m.start, 0x7f0011223000);
	CHECK_EQ(m.end, 0x7f0011224000);
	CHECK_EQ(m.offset, 0xa000);
	CHECK_EQ(m.dev, makedev(8, 0x1f));
	CHECK_EQ(m.ino, 1234567890123);
	CHECK_STR(m.perms, "rw-s");
	CHECK_STR(m.name, "/a b (deleted)");
	CHECK(mm_maps_parse(anon, &m));
	CHECK_EQ(m.ino, 0);
	CHECK_STR(m.name, "[vsyscall]");
	static const char *const bad[] = { "", "x", "12", "12-", "12-34", "12-34 rw", "12-34 rw-p 0",
					   "12-34 rw-p 0 8", "12-34 rw-p 0 8:1", "Size: 4 kB" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char copy[64];
		snprintf(copy, sizeof(copy), "%s", bad[i]);
		CHECK(!mm_maps_parse(copy, &m));
	}
}

TEST(buffers_grow_and_fail_softly)
{
	struct seq s = { 0 };
	begin();
	for (int i = 0; i < 10000; i++)
		seq_printf(&s, "%d,", i);
	CHECK_EQ(s.size, 48890);
	CHECK(!memcmp(s.data + s.size - 5, "9999,", 5));
	seq_escaped(&s, "a b\\");
	CHECK(!memcmp(s.data + s.size - 10, "a\\040b\\134", 10));
	seq_free(&s);
	arena_fail_after(1);
	seq_text(&s, "x");
	CHECK_EQ(s.error, -ENOMEM);
	CHECK_EQ(s.size, 0);
}

CHECK_MAIN()
