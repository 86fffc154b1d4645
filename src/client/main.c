/*
 * hotcell-client: the verbs of `hotcell` that talk to a server. The command itself is small and
 * static; what needs JSON and TLS is here, in a program beside it that it becomes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "client/clean.h"
#include "client/client.h"

#define DEFAULT_URL "http://127.0.0.1:7878"

static const struct client_verb *const verbs[] = { &verb_ps,	  &verb_top,  &verb_logs,
						   &verb_exec,	  &verb_kill, &verb_cp,
						   &verb_forward, &verb_cert, &verb_code,
						   &verb_snapshot, &verb_fork };

int client_fail(const struct error *err)
{
	char shown[sizeof(err->message)];

	memcpy(shown, err->message, sizeof(shown));
	clean_text(shown);
	fprintf(stderr, "hotcell: %s\n", shown);
	return 1;
}

static int usage(const struct client_verb *v)
{
	printf("Usage: hotcell %s %s\n\n%s\n\n", v->name, v->usage, v->help);
	options_help(v->options, v->option_count);
	return 0;
}

int client_find_server(struct client_options *o, struct error *err)
{
	if (!o->url)
		o->url = getenv("E2B_API_URL");
	if (!o->url)
		o->url = DEFAULT_URL;
	if (!o->key)
		o->key = getenv("E2B_API_KEY");
	if (!o->key)
		return error_set(
			err, 0,
			"no API key: set E2B_API_KEY to the one that `hotcell serve` showed, "
			"or use --key (`hotcell key add NAME` makes another one)");
	if (strpbrk(o->key, "\r\n"))
		return error_set(err, 0, "the API key contains a line end");
	o->endpoint.key = o->key;
	o->endpoint.ca_file = o->ca;
	return endpoint_parse(&o->endpoint, o->url, err);
}

static int parse(const struct client_verb *v, struct client_options *o, int argc, char **argv,
		 struct error *err)
{
	options_init(v->options, v->option_count, o);
	o->arguments = argv;
	if (!v->command) {
		o->count = options_parse_mixed(v->options, v->option_count, o, argc, argv, err);
		return o->count;
	}
	int used = options_parse(v->options, v->option_count, o, argc, argv, err);
	o->count = argc - used;
	o->arguments += MAX(used, 0);
	return used;
}

static int run_verb(const struct client_verb *v, int argc, char **argv)
{
	static struct client_options o;
	struct error err;

	if (parse(v, &o, argc, argv, &err) < 0) {
		client_fail(&err);
		return v->failure ? v->failure : 2;
	}
	if (o.help)
		return usage(v);
	if (o.count < v->min_arguments || (v->max_arguments >= 0 && o.count > v->max_arguments)) {
		fprintf(stderr, "Usage: hotcell %s %s\n(hotcell %s --help tells more)\n", v->name,
			v->usage, v->name);
		return v->failure ? v->failure : 2;
	}
	if (!v->offline && client_find_server(&o, &err) < 0)
		return client_fail(&err);
	return v->run(&o);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i]->name, argv[1]) != 0)
			continue;
		int status = run_verb(verbs[i], argc - 2, argv + 2);
		return fflush(stdout) != 0 && status == 0 ? 1 : status;
	}
	fprintf(stderr, "hotcell-client: use `hotcell`\n");
	return 2;
}
