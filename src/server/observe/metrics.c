/* GET /metrics: https://prometheus.io/docs/instrumenting/exposition_formats, text version 0.0.4. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/io.h"
#include "base/util.h"
#include "http/server.h"
#include "interpreter/language.h"
#include "server/observe/counters.h"
#include "server/observe/observe.h"
#include "server/sandbox/pool.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/snapshot/snapshots.h"

#define METRICS_MAX  (1u << 20)
#define REQUESTS_MAX 512u
#define LABEL_MAX    64

/* Labels are patterns of routes and statuses three digits: a small table. What does not fit is counted
 * under "other". */
static struct request_count {
	char label[LABEL_MAX];
	int status;
	uint64_t count, sum_ns;
} requests[REQUESTS_MAX];
static unsigned int request_kinds;

static bool is_same(const struct request_count *r, const char *label, int status)
{
	return r->status == status && strncmp(r->label, label, LABEL_MAX - 1) == 0;
}

static struct request_count *get_count(const char *label, int status)
{
	for (unsigned int i = 0; i < request_kinds; i++) {
		if (is_same(&requests[i], label, status))
			return &requests[i];
	}
	if (request_kinds == REQUESTS_MAX)
		return NULL;
	struct request_count *r = &requests[request_kinds++];
	snprintf(r->label, sizeof(r->label), "%s", request_kinds == REQUESTS_MAX ? "other" : label);
	r->status = status;
	return r;
}

void observe_request(struct http_exchange *x, const char *label, int status, uint64_t duration_ns)
{
	struct request_count *r = get_count(label[0] ? label : "none", status);
	if (!r)
		r = &requests[REQUESTS_MAX - 1];
	r->count++;
	r->sum_ns += duration_ns;
}

/* ---- printing ---- */

static void head(struct buffer *b, const char *name, const char *type, const char *help)
{
	buffer_printf(b, "# HELP hotcell_%s %s\n# TYPE hotcell_%s %s\n", name, help, name, type);
}

static void number(struct buffer *b, const char *name, const char *type, const char *help,
		   uint64_t v)
{
	head(b, name, type, help);
	buffer_printf(b, "hotcell_%s %" PRIu64 "\n", name, v);
}

static void put_pools(struct buffer *b, const struct server *server)
{
	static const struct {
		const char *name, *type, *help;
		size_t offset;
	} rows[] = {
		{ "pool_size", "gauge", "Sandboxes that a pool should hold.",
		  offsetof(struct pool_state, size) },
		{ "pool_ready", "gauge", "Sandboxes that wait in a pool.",
		  offsetof(struct pool_state, ready) },
		{ "pool_started_total", "counter", "Sandboxes started for a pool.",
		  offsetof(struct pool_state, started) },
		{ "pool_failed_total", "counter", "Starts for a pool that failed.",
		  offsetof(struct pool_state, failed) },
		{ "pool_prepared_total", "counter", "Sandboxes with something prepared inside.",
		  offsetof(struct pool_state, prepared) },
		{ "pool_unprepared_total", "counter", "Preparations that failed.",
		  offsetof(struct pool_state, prepare_failed) },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		head(b, rows[i].name, rows[i].type, rows[i].help);
		for (unsigned int kind = 0; kind < POOL_KINDS; kind++) {
			const void *state = sandboxes_pool(server, kind);
			uint64_t v = *(const uint64_t *)(const void *)((const char *)state +
								       rows[i].offset);
			buffer_printf(b, "hotcell_%s{pool=\"%s\"} %" PRIu64 "\n", rows[i].name,
				      pool_kind_name((enum pool_kind)kind), v);
		}
	}
}

static void put_sandboxes(struct buffer *b, const struct server *server)
{
	head(b, "sandboxes", "gauge", "Sandboxes by state.");
	for (int i = SANDBOX_STARTING; i < SANDBOX_ENDED; i++)
		buffer_printf(b, "hotcell_sandboxes{state=\"%s\"} %u\n",
			      sandbox_state_name((enum sandbox_state)i),
			      sandbox_count(server, (enum sandbox_state)i));
	number(b, "sandboxes_created_total", "counter", "Sandboxes created.", counters.created);
	number(b, "sandboxes_failed_total", "counter", "Creates that failed.",
	       counters.create_failed);
	number(b, "sandboxes_ended_total", "counter", "Sandboxes that ended.", counters.ended);
	put_pools(b, server);
	number(b, "channel_errors_total", "counter", "Control channels that broke the protocol.",
	       counters.channel_errors);
	number(b, "store_errors_total", "counter", "Writes to the database that failed.",
	       counters.store_errors);
}

/* label: "from=\"pool\"," or "". */
static void put_histogram(struct buffer *b, const char *name, const char *label,
			  const struct histogram *h)
{
	uint64_t below = 0;
	int size = (int)strlen(label) - 1; /* without the comma */
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		below += h->counts[i];
		buffer_printf(b, "hotcell_%s_bucket{%sle=\"%g\"} %" PRIu64 "\n", name, label,
			      (double)histogram_bounds[i] / 1e9, below);
	}
	buffer_printf(b, "hotcell_%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, label, h->count);
	const char *open = size > 0 ? "{" : "", *close = size > 0 ? "}" : "";
	size = MAX(size, 0);
	buffer_printf(b, "hotcell_%s_sum%s%.*s%s %.9g\n", name, open, size, label, close,
		      (double)h->sum_ns / 1e9);
	buffer_printf(b, "hotcell_%s_count%s%.*s%s %" PRIu64 "\n", name, open, size, label, close,
		      h->count);
}

static void put_snapshots(struct buffer *b, const struct server *server)
{
	uint64_t count, bytes;
	snapshots_usage(server, &count, &bytes);
	number(b, "snapshots", "gauge", "Files of snapshots.", count);
	number(b, "snapshot_bytes", "gauge",
	       "Bytes of snapshots on the disk, with those that are being made.", bytes);
	number(b, "snapshots_failed_total", "counter", "Snapshots that could not be taken.",
	       counters.snapshots_failed);
	number(b, "forks_total", "counter", "Sandboxes created as forks.", counters.forks);
	head(b, "snapshot_seconds", "histogram", "Time to take a snapshot, in the daemon.");
	put_histogram(b, "snapshot_seconds", "", &counters.snapshot);
}

static void put_interpreter(struct buffer *b)
{
	static const char *const outcomes[EXECUTION_OUTCOMES] = {
		[EXECUTION_DONE] = "done",
		[EXECUTION_ABANDONED] = "abandoned",
		[EXECUTION_DIED] = "died",
		[EXECUTION_NOT_STARTED] = "not_started",
		[EXECUTION_ABORTED] = "aborted",
	};
	head(b, "executions_total", "counter",
	     "Executions of the code interpreter that have ended, by language and how.");
	for (unsigned int i = 0; i < EXECUTION_LANGUAGES; i++) {
		const struct language *l = language_at(i);
		if (!l && i < EXECUTION_LANGUAGES - 1)
			continue;
		for (unsigned int o = 0; o < EXECUTION_OUTCOMES; o++)
			buffer_printf(b,
				      "hotcell_executions_total{language=\"%s\",outcome=\"%s\"} "
				      "%" PRIu64 "\n",
				      l ? l->name : "other", outcomes[o],
				      counters.executions[i][o]);
	}
	number(b, "contexts", "gauge", "Contexts of the code interpreter.", counters.contexts);
	head(b, "execution_first_line_seconds", "histogram",
	     "Time from the request of an execution to the first line of its response.");
	put_histogram(b, "execution_first_line_seconds", "", &counters.first_line);
}

static void put_requests(struct buffer *b)
{
	head(b, "http_requests_total", "counter", "Requests by route and status.");
	for (unsigned int i = 0; i < request_kinds; i++)
		buffer_printf(b,
			      "hotcell_http_requests_total{route=\"%s\",status=\"%d\"} %" PRIu64
			      "\n",
			      requests[i].label, requests[i].status, requests[i].count);
	head(b, "http_request_seconds_sum", "counter",
	     "Time that requests took, by route and status.");
	for (unsigned int i = 0; i < request_kinds; i++)
		buffer_printf(b,
			      "hotcell_http_request_seconds_sum{route=\"%s\",status=\"%d\"} %.9g\n",
			      requests[i].label, requests[i].status,
			      (double)requests[i].sum_ns / 1e9);
}

static void put_process(struct buffer *b, const struct server *server)
{
	struct http_counts http = { .connections = 0 };
	struct rusage use;
	char text[256];
	unsigned long size = 0, resident = 0;
	if (io_read_file(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) > 0)
		(void)sscanf(text, "%lu %lu", &size, &resident);
	number(b, "memory_bytes", "gauge", "Resident memory of the daemon.",
	       resident * (uint64_t)sysconf(_SC_PAGESIZE));
	getrusage(RUSAGE_SELF, &use);
	head(b, "cpu_seconds_total", "counter", "CPU time of the daemon.");
	buffer_printf(b, "hotcell_cpu_seconds_total %.6f\n",
		      (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
			      (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
	if (server->http)
		http_server_counts(server->http, &http);
	number(b, "connections", "gauge", "Connections of clients.", http.connections);
	number(b, "inside_connections", "gauge",
	       "Connections of programs inside sandboxes to their services.", http.adopted);
	number(b, "connections_accepted_total", "counter", "Connections accepted.", http.accepted);
	number(b, "connections_refused_total", "counter", "Connections refused: a limit.",
	       http.refused);
}

void observe_metrics(struct http_exchange *x)
{
	const struct server *server = http_context(x);
	struct buffer b;
	buffer_init(&b, METRICS_MAX);
	put_sandboxes(&b, server);
	head(&b, "create_seconds", "histogram", "Time to create a sandbox, in the daemon.");
	put_histogram(&b, "create_seconds", "from=\"pool\",", &counters.create_pool);
	put_histogram(&b, "create_seconds", "from=\"code-pool\",", &counters.create_code_pool);
	put_histogram(&b, "create_seconds", "from=\"cold\",", &counters.create_cold);
	put_snapshots(&b, server);
	put_interpreter(&b);
	put_requests(&b);
	put_process(&b, server);
	http_respond(x, 200, "text/plain; version=0.0.4; charset=utf-8", b.data, b.size);
	buffer_fini(&b);
}
