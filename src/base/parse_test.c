/* Values and options of the command line. */
#include "check.h"

#include "base/options.h"
#include "base/parse.h"
#include "cli/run_options.h"
#include "wire/wire.h"

TEST(sizes)
{
	uint64_t v = 0;
	CHECK_EQ(parse_size("65536", &v), 0);
	CHECK_EQ(v, 65536);
	CHECK_EQ(parse_size("512M", &v), 0);
	CHECK_EQ(v, 512ll << 20);
	CHECK_EQ(parse_size("2G", &v), 0);
	CHECK_EQ(v, 2ll << 30);
	CHECK_EQ(parse_size("1.5GiB", &v), 0);
	CHECK_EQ(v, 3ll << 29);
	v = 7;
	static const char *const bad[] = { "",	   "M",	 "-1", "1X",  "1 M",
					   "0x10", "1.", ".5", "1e3", "nan" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(parse_size(bad[i], &v), -EINVAL);
	CHECK_EQ(parse_size("99999999999999999999", &v), -ERANGE);
	CHECK_EQ(parse_size("9999999T", &v), -ERANGE);
	CHECK_EQ(v, 7);
}

TEST(durations)
{
	uint64_t v;
	CHECK_EQ(parse_duration("30s", &v), 0);
	CHECK_EQ(v, 30000000000ll);
	CHECK_EQ(parse_duration("5m", &v), 0);
	CHECK_EQ(v, 300000000000ll);
	CHECK_EQ(parse_duration("0.25", &v), 0);
	CHECK_EQ(v, 250000000ll);
	CHECK_EQ(parse_duration("500ms", &v), 0);
	CHECK_EQ(v, 500000000ll);
	CHECK_EQ(parse_duration("5 m", &v), -EINVAL);
}

TEST(counts_and_cpus)
{
	uint64_t v;
	CHECK_EQ(parse_count("1024", &v), 0);
	CHECK_EQ(v, 1024);
	CHECK_EQ(parse_count("1.5", &v), -EINVAL);
	CHECK_EQ(parse_cpus("1.5", &v), 0);
	CHECK_EQ(v, 1500);
	CHECK_EQ(parse_cpus("0.001", &v), -ERANGE);
	CHECK_EQ(parse_cpus("two", &v), -EINVAL);
}

TEST(mounts)
{
	static struct mount_text m;
	CHECK_EQ(parse_mount(".:/work", &m), 0);
	CHECK_STR(m.host, ".");
	CHECK_STR(m.guest, "/work");
	CHECK_EQ(parse_mount("/a:b:/data//x/./y/", &m), 0);
	CHECK_STR(m.host, "/a:b");
	CHECK_STR(m.guest, "/data/x/y");
	CHECK_EQ(parse_mount("/same", &m), 0);
	CHECK_STR(m.host, "/same");
	CHECK_STR(m.guest, "/same");
	CHECK_EQ(parse_mount("x:/", &m), 0);
	CHECK_STR(m.guest, "/");
	CHECK_EQ(parse_mount("x:y", &m), -EINVAL);
	CHECK_EQ(parse_mount("x:/a/../b", &m), -EINVAL);
	CHECK_EQ(parse_mount(":/a", &m), -EINVAL);
	CHECK_EQ(parse_mount("a:", &m), -EINVAL);
	CHECK_EQ(parse_mount("relative", &m), -EINVAL);
}

static struct run_options o;
static struct error err;

/* The options keep pointing into the list, which therefore stays. */
static int parse(char **list)
{
	static char *argv[32];
	int argc = 0;
	for (; list[argc] && argc < 31; argc++)
		argv[argc] = list[argc];
	argv[argc] = NULL;
	return run_options_parse(argc, argv, &o, &err);
}
#define PARSE(...) parse((char *[]){ __VA_ARGS__, NULL })

TEST(defaults)
{
	CHECK_EQ(PARSE("true"), 0);
	CHECK_EQ(o.memory_bytes, 2ll << 30);
	CHECK_EQ(o.disk_bytes, 4ll << 30);
	CHECK_EQ(o.pids, 1024);
	CHECK_EQ(o.files, 65536);
	CHECK_EQ(o.timeout_ns, 0);
	CHECK_EQ(o.cpu_milli, 0);
	CHECK_EQ(o.tty, RUN_TTY_AUTO);
	CHECK_EQ(run_options_disk(&o), 3ll << 29);
	CHECK(!o.store);
	CHECK_STR(o.hostname, "hotcell");
	CHECK_STR(o.user, "user");
	CHECK_EQ(o.command_count, 1);
}

TEST(the_command_starts_at_the_first_argument_that_is_no_option)
{
	CHECK_EQ(PARSE("-q", "ls", "-l", "--", "--json"), 0);
	CHECK_EQ(o.command_count, 4);
	CHECK_STR(o.command[0], "ls");
	CHECK_STR(o.command[3], "--json");
	CHECK_EQ(PARSE("-q", "--", "-odd"), 0);
	CHECK_STR(o.command[0], "-odd");
}

TEST(forms_of_options)
{
	CHECK_EQ(PARSE("--memory=1G", "-w", "/x", "-eA=1", "--env", "B", "-qt", "true"), 0);
	CHECK_EQ(o.memory_bytes, 1ll << 30);
	CHECK_STR(o.workdir, "/x");
	CHECK_EQ(o.env.count, 2);
	CHECK_STR(o.env.items[0].text, "A=1");
	CHECK_EQ(o.quiet, 1);
	CHECK_EQ(o.tty, RUN_TTY_YES);
	CHECK_EQ(PARSE("--trace", "true"), 0);
	CHECK_STR(o.trace, "");
	CHECK_EQ(PARSE("--trace=f", "true"), 0);
	CHECK_STR(o.trace, "f");
	CHECK_EQ(PARSE("--ro", "a:/a", "--rw", "b:/b", "true"), 0);
	CHECK_EQ(o.mounts.items[0].tag, WIRE_MOUNT_RO);
	CHECK_EQ(o.mounts.items[1].tag, WIRE_MOUNT_RW);
	CHECK_EQ(PARSE("--store", "/var/tmp", "--disk", "9G", "true"), 0);
	CHECK_STR(o.store, "/var/tmp");
	CHECK_EQ(run_options_disk(&o), 9ll << 30);
}

TEST(bad_options_are_explained)
{
	CHECK(PARSE("--nonsense", "true") < 0);
	CHECK(strstr(err.message, "--nonsense"));
	CHECK(PARSE("--memory", "much", "true") < 0);
	CHECK(strstr(err.message, "--memory: 'much' is not a size"));
	CHECK(PARSE("--memory", "1k", "true") < 0);
	CHECK(strstr(err.message, "out of range"));
	CHECK(PARSE("--memory") < 0);
	CHECK(strstr(err.message, "--memory needs a size"));
	CHECK(PARSE("--quiet=1", "true") < 0);
	CHECK(PARSE("-Z", "true") < 0);
	CHECK(PARSE("--template", "none", "true") < 0);
	CHECK(PARSE("--hostname", "a b", "true") < 0);
	CHECK(PARSE("--workdir", "x", "true") < 0);
	CHECK(PARSE("--env", "=x", "true") < 0);
	CHECK(PARSE("-q") < 0);
	CHECK(strstr(err.message, "no command"));
}

CHECK_MAIN()
