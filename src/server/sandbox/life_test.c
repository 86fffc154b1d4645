/* The life of sandboxes, with real kernel processes, without HTTP. */
#include "life_test.h"

/* ---- tests ---- */

TEST(create_run_kill)
{
	struct sandbox_record record;
	char id[SANDBOX_ID_SIZE], legacy[64];
	start("0");
	struct sandbox *s = create_one(&plain);
	memcpy(id, s->record.id, sizeof(id));
	CHECK_EQ(strlen(id), 21);
	CHECK_EQ(id[0], 'i');
	CHECK_EQ(run(s, "exit 3"), 3 << 8);
	CHECK_EQ(run(s,
		     "test \"$(cat /proc/sys/kernel/hostname)\" = i* || case $(hostname) in i*) ;; "
		     "*) exit 1;; esac"),
		 0);
	CHECK(sandbox_find(&server, id) == s);
	snprintf(legacy, sizeof(legacy), "%s-client", id);
	CHECK(sandbox_find(&server, legacy) == s);
	CHECK(!sandbox_find(&server, "inothing"));
	CHECK(!sandbox_find(&server, ""));
	get_record(id, &record);
	CHECK_EQ(record.state, SANDBOX_RUNNING);
	record_fini(&record);
	CHECK_EQ(kill_one(s), 0);
	CHECK(!sandbox_find(&server, id));
	get_record(id, &record);
	CHECK_EQ(record.state, SANDBOX_ENDED);
	CHECK_STR(record.reason, "killed");
	record_fini(&record);
	stop();
	CHECK_EQ(count_entries("sandboxes"), 0);
}

TEST(from_the_pool)
{
	start("2");
	fill_pool(POOL_PLAIN, 2);
	struct sandbox *a = create_one(&plain), *b = create_one(&plain);
	CHECK(strcmp(a->record.id, b->record.id) != 0);
	CHECK_EQ(run(a, "exit 0"), 0);
	CHECK_EQ(run(b, "exit 0"), 0);
	fill_pool(POOL_PLAIN, 2);
	CHECK_EQ(kill_one(a), 0);
	stop();
	CHECK_EQ(count_entries("sandboxes"), 0);
}

TEST(what_does_not_exist)
{
	struct sandbox_spec spec = plain;
	start("0");
	spec.template = "nothing";
	CHECK_EQ(create(&spec).code, ENOENT);
	spec.template = "base:v7";
	CHECK_EQ(create(&spec).code, ENOENT);
	spec.template = "../base";
	CHECK_EQ(create(&spec).code, ENOENT);
	spec.template = "BASE:default";
	CHECK_EQ(create(&spec).code, 0);
	spec.timeout_s = 100000;
	CHECK_EQ(create(&spec).code, ERANGE);
	stop();
}

TEST(a_timeout_ends_it)
{
	struct sandbox_spec spec = plain;
	struct sandbox_record record;
	char id[SANDBOX_ID_SIZE];
	start("0");
	spec.timeout_s = 1;
	struct sandbox *s = create_one(&spec);
	uint64_t began = clock_now_ns();
	memcpy(id, s->record.id, sizeof(id));
	wait_end(id);
	CHECK(clock_now_ns() - began > 900 * NSEC_PER_MSEC);
	get_record(id, &record);
	CHECK_EQ(record.state, SANDBOX_ENDED);
	CHECK_STR(record.reason, "timeout of 1 s is over");
	CHECK(record.ended_us >= record.end_us);
	record_fini(&record);
	stop();
}

TEST(timeouts_are_set)
{
	struct error err;
	char id[SANDBOX_ID_SIZE];
	start("0");
	struct sandbox *s = create_one(&plain);
	memcpy(id, s->record.id, sizeof(id));
	int64_t end = s->record.end_us;
	CHECK_EQ(sandbox_set_timeout(s, 10, true, &err), 0);
	CHECK_EQ(s->record.end_us, end);
	CHECK_EQ(sandbox_set_timeout(s, 1000, true, &err), 0);
	CHECK(s->record.end_us > end);
	CHECK_EQ(sandbox_set_timeout(s, 1000000, false, &err), -ERANGE);
	CHECK_EQ(resume_one(s, 10), EALREADY);
	CHECK_EQ(sandbox_set_timeout(s, 0, false, &err), 0);
	wait_end(id);
	stop();
}

static bool attachment_gone;

static void on_attachment_gone(struct sandbox_attachment *a)
{
	attachment_gone = true;
}

TEST(pause_and_resume)
{
	struct sandbox_attachment a = { .gone = on_attachment_gone };
	struct sandbox_record record;
	struct error err;
	struct run sleeper;
	start("0");
	struct sandbox *s = create_one(&plain);
	spawn(s, &sleeper, "while [ ! -e /tmp/go ]; do sleep 0.01; done; exit 7");
	loop_until(&sleeper.spawned);
	sandbox_attach(s, &a);
	CHECK_EQ(pause_one(s, true), 0);
	CHECK(attachment_gone);
	CHECK_EQ(s->record.state, SANDBOX_PAUSED);
	get_record(s->record.id, &record);
	CHECK_EQ(record.state, SANDBOX_PAUSED);
	record_fini(&record);
	CHECK_EQ(pause_one(s, true), EALREADY);
	CHECK_EQ(sandbox_set_timeout(s, 5, false, &err), -EBUSY);
	CHECK_EQ(resume_one(s, 30), 0);
	CHECK_EQ(s->record.state, SANDBOX_RUNNING);
	CHECK(!sleeper.done);
	CHECK_EQ(run(s, "touch /tmp/go"), 0);
	loop_until(&sleeper.done);
	CHECK_EQ(sleeper.status, 7 << 8);
	CHECK_EQ(pause_one(s, true), 0);
	CHECK_EQ(kill_one(s), 0);
	stop();
	CHECK_EQ(count_entries("sandboxes"), 0);
}

TEST(resumes_while_it_pauses)
{
	struct result paused = { .done = false }, one = { .done = false }, two = { .done = false };
	start("0");
	struct sandbox *s = create_one(&plain);
	sandbox_pause(s, true, on_done, &paused);
	sandbox_resume(s, 20, true, on_done, &one);
	sandbox_resume(s, 30, true, on_done, &two);
	loop_until(&one.done);
	CHECK(paused.done && two.done);
	CHECK_EQ(paused.code + one.code + two.code, 0);
	CHECK_EQ(s->record.state, SANDBOX_RUNNING);
	CHECK_EQ(run(s, "exit 0"), 0);
	/* And a kill overtakes both. */
	paused = one = two = (struct result){ .done = false };
	sandbox_pause(s, true, on_done, &paused);
	sandbox_resume(s, 20, true, on_done, &one);
	sandbox_kill(s, "killed", on_done, &two);
	loop_until(&two.done);
	CHECK_EQ(paused.code, ESRCH);
	CHECK_EQ(one.code, ESRCH);
	CHECK_EQ(two.code, 0);
	stop();
}

TEST(pause_without_memory)
{
	struct run sleeper;
	start("0");
	struct sandbox *s = create_one(&plain);
	CHECK_EQ(
		run(s,
		    "echo kept > /home/user/file; cat /proc/sys/kernel/random/boot_id > /home/user/id"),
		0);
	spawn(s, &sleeper, "sleep 1000");
	loop_until(&sleeper.spawned);
	CHECK_EQ(pause_one(s, false), 0);
	CHECK_EQ(resume_one(s, 30), 0);
	loop_until(&sleeper.done); /* told when it was killed, or only now */
	CHECK_EQ(run(s, "test \"$(cat /home/user/file)\" = kept"), 0);
	CHECK_EQ(run(s,
		     "test \"$(cat /home/user/id)\" != \"$(cat /proc/sys/kernel/random/boot_id)\""),
		 0);
	stop();
}

TEST(a_timeout_that_pauses)
{
	struct sandbox_spec spec = plain;
	start("0");
	spec.timeout_s = 1;
	spec.pause_on_timeout = spec.auto_resume = true;
	struct sandbox *s = create_one(&spec);
	while (s->record.state != SANDBOX_PAUSED)
		uv_run(server.loop, UV_RUN_ONCE);
	CHECK_EQ(resume_one(s, 0), 0); /* for as long as before */
	CHECK(s->record.end_us > s->record.started_us + 1000000);
	CHECK_EQ(run(s, "exit 0"), 0);
	stop();
}

TEST(a_kernel_process_that_is_killed)
{
	struct sandbox_record record;
	struct run sleeper;
	char id[SANDBOX_ID_SIZE], path[64], line[256];
	start("0");
	struct sandbox *s = create_one(&plain);
	memcpy(id, s->record.id, sizeof(id));
	spawn(s, &sleeper, "sleep 1000");
	loop_until(&sleeper.spawned);
	/* The only grandchild of ours that is a kernel process: child of the launcher. */
	DIR *d = opendir("/proc");
	struct dirent *e;
	while ((e = readdir(d))) {
		int parent = 0, grand = 0, pid = (int)strtol(e->d_name, NULL, 10);
		char name[64] = "";
		for (int who = pid, *to = &parent; who > 0 && to;
		     to = to == &parent ? &grand : NULL) {
			snprintf(path, sizeof(path), "/proc/%d/stat", who);
			FILE *f = fopen(path, "r");
			if (!f || !fgets(line, sizeof(line), f)) {
				if (f)
					fclose(f);
				break;
			}
			fclose(f);
			CHECK(sscanf(strrchr(line, ')') + 2, "%*c %d", to) == 1);
			if (who == pid)
				sscanf(line, "%*d (%63[^)])", name);
			who = *to;
		}
		if (grand == getpid() && strcmp(name, "hotcell-kernel") == 0)
			CHECK_EQ(kill(pid, SIGKILL), 0);
	}
	closedir(d);
	wait_end(id);
	CHECK(sleeper.done);
	CHECK_EQ(sleeper.error, ESHUTDOWN);
	get_record(id, &record);
	CHECK_STR(record.reason, "the kernel process was killed by signal 9 (KILL)");
	record_fini(&record);
	stop();
	CHECK_EQ(count_entries("sandboxes"), 0);
}

TEST(limits_of_a_key)
{
	const struct key_limits limits = { .sandboxes = 1, .creates_per_second = 2 };
	struct sandbox_spec spec = plain;
	char text[KEY_TEXT_SIZE];
	struct key key, found;
	struct error err;
	start("0");
	must(key_add(server.store, "small", &limits, text, &key, &err), &err);
	CHECK_EQ(key_check(server.store, text, &found), 0);
	CHECK_EQ(found.id, key.id);
	CHECK_EQ(key_check(server.store, "e2b_0000", &found), -ENOENT);
	spec.key_id = key.id;
	struct sandbox *s = create_one(&spec);
	struct result r = create(&spec);
	CHECK_EQ(r.code, EAGAIN);
	CHECK(r.retry_s > 0);
	CHECK_EQ(pause_one(s, true), 0);
	struct sandbox *other = create_one(&spec);
	CHECK_EQ(resume_one(s, 10), EAGAIN);
	CHECK_EQ(kill_one(other), 0);
	CHECK_EQ(resume_one(s, 10), 0);
	CHECK_EQ(kill_one(s), 0);
	r = create(&spec); /* the third within a second */
	CHECK_EQ(r.code, EAGAIN);
	CHECK_EQ(r.retry_s, 1);
	must(key_revoke(server.store, "small", &err), &err);
	CHECK_EQ(key_check(server.store, text, &found), -ENOENT);
	stop();
}

TEST(a_restart_ends_what_lived)
{
	struct sandbox_record record;
	char id[SANDBOX_ID_SIZE];
	make_top();
	pid_t pid = fork();
	if (pid == 0) {
		char path[512];
		start_with("0", NULL);
		struct sandbox *s = create_one(&plain);
		snprintf(path, sizeof(path), "%s/id", top);
		FILE *f = fopen(path, "w");
		fputs(s->record.id, f);
		fclose(f);
		kill(getpid(), SIGKILL);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	char path[512];
	snprintf(path, sizeof(path), "%s/id", top);
	FILE *f = fopen(path, "r");
	CHECK(f && fgets(id, sizeof(id), f));
	fclose(f);
	start_with("0", NULL);
	CHECK(!sandbox_find(&server, id));
	get_record(id, &record);
	CHECK_EQ(record.state, SANDBOX_ENDED);
	CHECK_STR(record.reason, "server restarted");
	record_fini(&record);
	stop();
	/* The launcher of the dead one cleans up by itself. */
	for (int i = 0; i < 1000 && count_entries("sandboxes"); i++)
		usleep(10000);
	CHECK_EQ(count_entries("sandboxes"), 0);
}

#define CYCLES 64
static uint64_t times[CYCLES], kill_times[CYCLES];

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void show(const char *what, uint64_t *t)
{
	qsort(t, CYCLES, sizeof(t[0]), compare);
	if (getenv("SHOW_TIMES"))
		printf("# %s: median %.2f ms, 90%% %.2f ms\n", what, (double)t[CYCLES / 2] / 1e6,
		       (double)t[CYCLES * 9 / 10] / 1e6);
}

static void cycles(const char *what, unsigned int pool)
{
	for (unsigned int i = 0; i < CYCLES; i++) {
		fill_pool(POOL_PLAIN, pool);
		uint64_t began = clock_now_ns();
		struct sandbox *s = create_one(&plain);
		times[i] = clock_now_ns() - began;
		began = clock_now_ns();
		CHECK_EQ(kill_one(s), 0);
		kill_times[i] = clock_now_ns() - began;
	}
	show(what, times);
	show("kill", kill_times);
	CHECK_EQ(sandbox_count(&server, SANDBOX_RUNNING), 0);
	stop();
	CHECK_EQ(count_entries("sandboxes"), 0);
}

TEST(many_cycles_cold)
{
	start("0");
	cycles("cold", 0);
}

TEST(many_cycles_from_the_pool)
{
	start("4");
	cycles("pool", 4);
}
CHECK_MAIN()
