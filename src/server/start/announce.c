/* What a person sees of a start. Standard output has it alone; the log goes to standard error. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/config/config.h"
#include "server/start/start.h"
#include "server/store/keys.h"

static void count_key(void *ctx, const struct key *k)
{
	unsigned int *count = ctx;
	*count += k->revoked_us == 0;
}

int start_first_key(struct store *s, char *ret_key, size_t size, struct error *err)
{
	const struct key_limits none = { 0, 0, 0, 0 };
	char text[KEY_TEXT_SIZE];
	unsigned int count = 0;
	struct key k;
	ret_key[0] = '\0';
	int r = key_list(s, count_key, &count, err);
	if (r < 0 || count)
		return r;
	r = key_add(s, "default", &none, text, &k, err);
	if (r == 0)
		snprintf(ret_key, size, "%s", text);
	return r;
}

/* "0.0.0.0" and "::" are no addresses to connect to. */
static void make_url(const struct config *c, uint16_t port, char *ret, size_t size)
{
	bool tls = c->listen.count == 0;
	const char *address = (tls ? &c->listen_tls : &c->listen)->items[0].text;
	if (c->url) {
		snprintf(ret, size, "%s", c->url);
		return;
	}
	if (strncmp(address, "unix:", 5) == 0) {
		ret[0] = '\0';
		return;
	}
	size_t n = (size_t)(strrchr(address, ':') - address);
	char host[256];
	snprintf(host, sizeof(host), "%.*s", (int)n, address);
	if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "[::]") == 0 || strcmp(host, "*") == 0)
		snprintf(host, sizeof(host), "127.0.0.1");
	snprintf(ret, size, "%s://%s:%u", tls ? "https" : "http", host, port);
}

static void print_exports(const char *url, const char *key, const char *indent)
{
	printf("%sexport E2B_API_URL=%s\n%sexport E2B_SANDBOX_URL=%s\n", indent, url, indent, url);
	if (key[0])
		printf("%sexport E2B_API_KEY=%s\n", indent, key);
}

static void print_for_person(const struct config *c, const char *url, const char *key)
{
	printf("Hotcell serves at \033[1m%s\033[0m, data in %s\n\n", url, c->data_dir);
	if (key[0])
		printf("The API key is shown only now. In the shell of a client:\n\n");
	else
		printf("In the shell of a client (the key was shown at the first start; "
		       "`hotcell key add NAME` makes another):\n\n");
	print_exports(url, key, "    ");
	printf("\nCtrl-C ends the server and every sandbox.\n\n");
}

void start_announce(const struct config *c, uint16_t port, const char *key)
{
	char url[512];
	make_url(c, port, url, sizeof(url));
	if (url[0] == '\0')
		printf("# listening on %s\n%s%s%s", c->listen.items[0].text,
		       key[0] ? "export E2B_API_KEY=" : "", key, key[0] ? "\n" : "");
	else if (isatty(STDOUT_FILENO))
		print_for_person(c, url, key);
	else
		print_exports(url, key, "");
	fflush(stdout);
}

void start_notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, strlen(path));
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0';
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to, size);
	close(fd);
}
