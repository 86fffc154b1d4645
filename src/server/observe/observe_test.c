/* Logs of sandboxes: kept, bounded, found again; what a crash leaves of them. */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <uv.h>

#include "server/config/config.h"
#include "server/observe/logs.h"
#include "server/observe/observe_internal.h"
#include "server/observe/samples.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/store/store.h"

static struct server server;
static struct sandbox sandbox;
/* Below the working directory, which the runner removes. */
static char top[256];

static void open_it(const char *log_bytes)
{
	char data[512], bytes[64], path[512];
	struct error err;
	CHECK(getcwd(top, sizeof(top) - 32));
	strcat(top, "/logs-XXXXXX");
	CHECK(mkdtemp(top));
	snprintf(data, sizeof(data), "--data-dir=%s", top);
	snprintf(bytes, sizeof(bytes), "--log-bytes=%s", log_bytes);
	char pool[] = "--pool-size=0", *argv[] = { strdup(data), strdup(bytes), pool, NULL };
	CHECK_EQ(config_load(3, argv, &server.config, &err), 0);
	snprintf(path, sizeof(path), "%s/logs", top);
	CHECK_EQ(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/db", top);
	server.loop = uv_default_loop();
	CHECK_EQ(store_open_database(path, &server.store, &err), 0);
	CHECK_EQ(sandboxes_start(&server, &err), 0);
	sandbox.server = &server;
	snprintf(sandbox.record.id, sizeof(sandbox.record.id), "iabc");
}

static unsigned int count;
static uint64_t first, last;
static char text[4096];

static void on_entry(void *ctx, const struct log_entry *e)
{
	if (count++ == 0)
		first = e->sequence;
	last = e->sequence;
	strncat(text, e->message, sizeof(text) - strlen(text) - 1);
	strncat(text, " ", sizeof(text) - strlen(text) - 1);
}

static int query(struct log_query q)
{
	count = 0;
	text[0] = '\0';
	if (!q.limit)
		q.limit = 1000;
	if (!q.to_us)
		q.to_us = INT64_MAX;
	logs_flush(&sandbox);
	return logs_each(&server, "iabc", &q, on_entry, NULL);
}

static void add(enum log_level level, const char *message)
{
	log_add(&sandbox, level, "process", message, "{\"pid\":1}");
}

TEST(lines_are_found)
{
	open_it("1M");
	add(LOG_INFO, "one");
	add(LOG_DEBUG, "two");
	add(LOG_ERROR, "three");
	CHECK_EQ(query((struct log_query){ .limit = 0 }), 0);
	CHECK_STR(text, "one two three ");
	query((struct log_query){ .level = LOG_INFO });
	CHECK_STR(text, "one three ");
	query((struct log_query){ .backward = true, .limit = 2 });
	CHECK_STR(text, "three two ");
	query((struct log_query){ .after_sequence = 1 });
	CHECK_STR(text, "two three ");
	query((struct log_query){ .backward = true, .after_sequence = 3 });
	CHECK_STR(text, "two one ");
	query((struct log_query){ .search = "hre" });
	CHECK_STR(text, "three ");
	query((struct log_query){ .from_us = store_now_us() + 1000000 });
	CHECK_EQ(count, 0);
	query((struct log_query){ .limit = 1 });
	CHECK_STR(text, "one ");
	logs_end(&sandbox);
	CHECK_EQ(query((struct log_query){ .limit = 1 }), 0); /* after the end */
	CHECK_STR(text, "one ");
	logs_remove(&server, "iabc");
	CHECK_EQ(query((struct log_query){ .limit = 1 }), -ENOENT);
}

TEST(names_that_are_no_sandbox)
{
	struct log_query q = { .limit = 1, .to_us = INT64_MAX };
	open_it("1M");
	CHECK_EQ(logs_each(&server, "../db", &q, on_entry, NULL), -ENOENT);
	CHECK_EQ(logs_each(&server, "", &q, on_entry, NULL), -ENOENT);
	CHECK_EQ(logs_each(&server, "iother", &q, on_entry, NULL), -ENOENT);
}

static off_t size_of(const char *name)
{
	struct stat st;
	char path[512];
	snprintf(path, sizeof(path), "%s/logs/%s", top, name);
	return stat(path, &st) == 0 ? st.st_size : 0;
}

TEST(the_newest_are_kept)
{
	char line[128];
	open_it("64K");
	for (int i = 0; i < 3000; i++) {
		snprintf(line, sizeof(line), "line %d of many that do not fit", i);
		add(LOG_INFO, line);
		if (i % 50 == 0)
			logs_flush(&sandbox);
	}
	query((struct log_query){ .limit = 100000 });
	CHECK_EQ(last, 3000);
	CHECK(first > 1000);
	CHECK_EQ(count, last - first + 1);
	CHECK(size_of("iabc.log") + size_of("iabc.log.1") < 100 << 10);
}

TEST(a_flood_is_cut_and_said)
{
	static char line[32 << 10];
	open_it("16M");
	memset(line, 'x', sizeof(line) - 1);
	/* In the next second it is said. */
	do {
		for (int i = 0; i < 40; i++)
			add(LOG_INFO, line);
		query((struct log_query){ .search = "left out", .limit = 1 });
	} while (count == 0);
	do {
		add(LOG_INFO, "after");
		query((struct log_query){ .search = "after", .limit = 1 });
	} while (count == 0);
	query((struct log_query){ .limit = 100000 });
	CHECK_EQ(first, 1);
	CHECK_EQ(count, last); /* what was left out has no number */
}

TEST(a_flood_before_the_end_is_said)
{
	static char line[32 << 10];
	open_it("16M");
	memset(line, 'x', sizeof(line) - 1);
	/* A round that falls into two seconds may be let through. */
	do {
		for (int i = 0; i < 40; i++)
			add(LOG_INFO, line);
		logs_end(&sandbox);
		query((struct log_query){ .search = "left out", .limit = 1 });
	} while (count == 0);
}

TEST(numbers_go_on_with_the_file)
{
	open_it("1M");
	add(LOG_INFO, "one");
	add(LOG_INFO, "two");
	logs_end(&sandbox);
	add(LOG_INFO, "three");
	CHECK_EQ(query((struct log_query){ .after_sequence = 2 }), 0);
	CHECK_STR(text, "three ");
	CHECK_EQ(last, 3);
}

TEST(a_torn_frame_costs_no_other)
{
	char path[512];
	open_it("1M");
	add(LOG_INFO, "before");
	logs_flush(&sandbox);
	snprintf(path, sizeof(path), "%s/logs/iabc.log", top);
	int fd = open(path, O_WRONLY | O_APPEND);
	CHECK(write(fd, "HLOG\x80\0\0\0garbage", 15) == 15);
	close(fd);
	add(LOG_INFO, "behind");
	CHECK_EQ(query((struct log_query){ .limit = 0 }), 0);
	CHECK_STR(text, "before behind ");
}

TEST(long_lines_are_cut_between_characters)
{
	static char line[(64 << 10) + 100];
	open_it("1M");
	for (size_t i = 0; i + 2 < sizeof(line); i += 2)
		memcpy(line + i, "\xc3\xa9", 2);
	memmove(line + 1, line, sizeof(line) - 2);
	line[0] = 'x';
	add(LOG_INFO, line);
	CHECK_EQ(query((struct log_query){ .search = "x" }), 0);
	CHECK_EQ(count, 1);
}

TEST(no_samples_yet)
{
	struct sample x;
	CHECK_EQ(samples_last(&sandbox, &x), -ENOENT);
	samples_each(&sandbox, INT64_MIN, INT64_MAX, NULL, NULL);
}
CHECK_MAIN()
