#include "cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/names.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/json.h"
#include "cli/version.h"

void report_reason(const struct outcome *o)
{
	switch (o->kind) {
	case OUTCOME_FAILED:
	case OUTCOME_NOT_RUN:
		fprintf(stderr, "hotcell: %s\n", o->reason);
		break;
	case OUTCOME_KILLED:
		fprintf(stderr, "hotcell: killed: %s\n", o->reason);
		break;
	case OUTCOME_EXITED:
	case OUTCOME_SIGNALED:
		break;
	}
}

static uint64_t memory_peak(const struct outcome *o)
{
	return o->usage.has_memory ? o->usage.memory_peak_bytes : o->stats.memory_peak_bytes;
}

static void put_time(struct text *t, const char *label, uint64_t ns)
{
	if (ns < 10 * NSEC_PER_SEC)
		text_printf(t, "%s %.1f ms", label, (double)ns / (double)NSEC_PER_MSEC);
	else
		text_printf(t, "%s %.1f s", label, (double)ns / (double)NSEC_PER_SEC);
}

void report_summary(const struct outcome *o)
{
	char buffer[1536];
	struct text t = TEXT_INIT(buffer);
	buffer[0] = '\0';
	put_time(&t, "hotcell: start", o->start_ns);
	put_time(&t, ", run", o->run_ns);
	if (o->have_stats) {
		text_printf(&t, ", peak memory %.1f MiB", (double)memory_peak(o) / (double)MIB(1));
		text_printf(&t, ", %" PRIu64 " system calls served", o->stats.calls_served);
		text_printf(&t, ", %" PRIu64 " refused", o->stats.calls_refused);
		if (o->stats.refused[0])
			text_printf(&t, " (%s)", o->stats.refused);
	}
	text_put(&t, "\n", 1);
	(void)io_write_all(STDERR_FILENO, buffer, t.length);
}

static const char *kind_name(enum outcome_kind kind)
{
	switch (kind) {
	case OUTCOME_NOT_RUN:
		return "not_run";
	case OUTCOME_EXITED:
		return "exited";
	case OUTCOME_SIGNALED:
		return "signaled";
	case OUTCOME_KILLED:
		return "killed";
	case OUTCOME_FAILED:
		break;
	}
	return "failed";
}

/* "name=3 other=1" as an object. The kernel process is not trusted to get the format right. */
static void put_refused(struct json *j, const char *list)
{
	char name[64];
	json_object_begin(j, "refused");
	while (*list) {
		size_t n = strcspn(list, " ");
		const char *equals = memchr(list, '=', n);
		size_t length = equals ? (size_t)(equals - list) : 0;
		uint64_t count = 0;
		if (length > 0 && length < sizeof(name)) {
			memcpy(name, list, length);
			name[length] = '\0';
			for (const char *p = equals + 1; *p >= '0' && *p <= '9'; p++)
				count = count * 10 + (uint64_t)(*p - '0');
			json_uint(j, name, count);
		}
		list += n;
		list += strspn(list, " ");
	}
	json_object_end(j);
}

static void put_stats(struct json *j, const struct outcome *o)
{
	const struct wire_stats *s = &o->stats;
	json_object_begin(j, "calls");
	json_uint(j, "served", s->calls_served);
	json_uint(j, "refused_total", s->calls_refused);
	put_refused(j, s->refused);
	json_object_end(j);
	json_object_begin(j, "memory");
	json_uint(j, "peak_bytes", memory_peak(o));
	json_string(j, "source", o->usage.has_memory ? "cgroup" : "application kernel");
	json_uint(j, "kernel_arena_bytes", s->arena_bytes);
	json_uint(j, "oom_kills", o->usage.oom_kills);
	json_object_end(j);
	json_object_begin(j, "cpu");
	json_ms(j, "user_ms", s->cpu_user_ns);
	json_ms(j, "system_ms", s->cpu_system_ns);
	json_ms(j, "kernel_ms", s->kernel_cpu_ns);
	json_object_end(j);
	json_object_begin(j, "disk");
	json_uint(j, "bytes", s->disk_bytes);
	json_uint(j, "inodes", s->disk_inodes);
	json_object_end(j);
	json_uint(j, "processes_total", s->processes_total);
}

static void put_limits(struct json *j, const struct run_options *o)
{
	json_object_begin(j, "limits");
	json_uint(j, "memory_bytes", o->memory_bytes);
	if (o->cpu_milli)
		json_uint(j, "cpu_milli", o->cpu_milli);
	else
		json_null(j, "cpu_milli");
	json_uint(j, "pids", o->pids);
	json_uint(j, "disk_bytes", run_options_disk(o));
	json_string(j, "store", o->store);
	json_uint(j, "files", o->files);
	if (o->timeout_ns)
		json_ms(j, "timeout_ms", o->timeout_ns);
	else
		json_null(j, "timeout_ms");
	json_object_end(j);
}

static void put_cgroup(struct json *j, const struct outcome *o)
{
	json_object_begin(j, "cgroup");
	json_int(j, "version", o->host.version);
	json_array_begin(j, "controllers");
	for (enum cgroup_controller c = 0; c < CGROUP_CONTROLLERS; c++) {
		if (o->controllers & CGROUP_BIT(c))
			json_string(j, NULL, cgroup_controller_name(c));
	}
	json_array_end(j);
	json_object_begin(j, "missing");
	for (enum cgroup_controller c = CGROUP_MEMORY; c <= CGROUP_PIDS; c++) {
		if (!(o->host.usable & CGROUP_BIT(c)))
			json_string(j, cgroup_controller_name(c),
				    cgroup_missing_reason(&o->host, c));
	}
	json_object_end(j);
	json_object_end(j);
}

static void put_notes(struct json *j, const char *notes)
{
	char line[512];
	json_array_begin(j, "notes");
	while (*notes) {
		size_t n = strcspn(notes, "\n");
		size_t length = MIN(n, sizeof(line) - 1);
		memcpy(line, notes, length);
		line[length] = '\0';
		json_string(j, NULL, line);
		notes += n + (notes[n] == '\n');
	}
	json_array_end(j);
}

static void put_result(struct json *j, const struct outcome *o)
{
	json_object_begin(j, "result");
	json_string(j, "kind", kind_name(o->kind));
	json_int(j, "status", o->status);
	if (o->kind == OUTCOME_SIGNALED) {
		json_int(j, "signal", o->signal);
		json_string(j, "signal_name", signal_short_name(o->signal));
	}
	json_string(j, "reason", o->reason[0] ? o->reason : NULL);
	json_object_end(j);
}

int report_json(const struct run_options *options, const struct outcome *o, struct error *err)
{
	AUTO_CLOSE int file = -EBADF;
	int fd = STDOUT_FILENO;
	if (strcmp(options->json, "-") != 0) {
		file = open(options->json, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (file < 0)
			return error_set(err, errno, "--json: open %s", options->json);
		fd = file;
	}
	struct json j;
	json_init(&j, fd);
	json_object_begin(&j, NULL);
	json_string(&j, "hotcell", HOTCELL_VERSION);
	json_array_begin(&j, "command");
	for (int i = 0; i < options->command_count; i++)
		json_string(&j, NULL, options->command[i]);
	json_array_end(&j);
	put_result(&j, o);
	json_ms(&j, "start_ms", o->start_ns);
	json_ms(&j, "run_ms", o->run_ns);
	if (o->have_stats)
		put_stats(&j, o);
	put_limits(&j, options);
	put_cgroup(&j, o);
	put_notes(&j, o->notes);
	json_object_end(&j);
	int r = json_finish(&j);
	return r < 0 ? error_set(err, -r, "--json: write %s", options->json) : 0;
}
