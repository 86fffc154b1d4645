/*
 * `hotcell cp`: files and directories to and from a running sandbox, named SANDBOX:PATH. "-" is
 * standard input or output.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/util.h"
#include "client/client.h"
#include "codec/url.h"

#define PIECE	  (256u << 10)
#define DEPTH_MAX 64

struct copy {
	struct client_options *o;
	char id[24], token[64];
	struct connection *c;
	unsigned int files;
};

static char piece[PIECE];

static void set_headers(const struct copy *y, struct header h[5], const char *type)
{
	h[0] = (struct header){ "E2b-Sandbox-Id", y->id };
	h[1] = (struct header){ "E2b-Sandbox-Port", "49983" };
	h[2] = (struct header){ "Content-Type", type };
	h[3] = (struct header){ y->token[0] ? "X-Access-Token" : NULL, y->token };
	h[4] = (struct header){ NULL, NULL };
}

static int files_path(const struct copy *y, const char *path, char *out, size_t size,
		      struct error *err)
{
	static char encoded[PATH_MAX * 3 + 1];
	char user[256] = "";

	if (strlen(path) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "%.100s", path);
	url_encode(path, strlen(path), encoded);
	if (y->o->user && strlen(y->o->user) < 64)
		url_encode(y->o->user, strlen(y->o->user), user);
	snprintf(out, size, "/files?path=%s%s%s", encoded, user[0] ? "&username=" : "", user);
	return 0;
}

/* A call of filesystem.Filesystem. */
static int rpc(struct copy *y, const char *method, const char *path, json_t **ret, struct error *err)
{
	struct header headers[5];
	char name[64], *text = NULL;
	json_t *m = json_pack("{s:s}", "path", path);
	char *body = m ? json_dumps(m, 0) : NULL;
	size_t size = 0, room = 0;
	ssize_t n = 1;

	json_decref(m);
	set_headers(y, headers, "application/json");
	snprintf(name, sizeof(name), "/filesystem.Filesystem/%s", method);
	int r = connection_request(y->c, &y->o->endpoint, "POST", name, headers, body,
				   body ? strlen(body) : 0, err);
	free(body);
	if (r == 0 && y->c->status != 200)
		r = answer_error(y->c, err);
	while (r == 0 && n > 0) {
		if (room - size < PIECE) {
			char *more = realloc(text, room += 4 * (size_t)PIECE);
			if (!more) {
				r = error_set(err, ENOMEM, "%s", path);
				break;
			}
			text = more;
		}
		n = connection_read(y->c, text + size, room - size);
		size += n > 0 ? (size_t)n : 0;
	}
	*ret = r == 0 && text ? json_loadb(text, size, 0, NULL) : NULL;
	free(text);
	return r == 0 && !*ret ? error_set(err, EBADMSG, "the answer") : r;
}

/* ---- out of the sandbox ---- */

static int fetch_file(struct copy *y, const char *remote, const char *local, struct error *err)
{
	static char path[PATH_MAX * 3 + 512];
	struct header headers[5];
	bool standard = strcmp(local, "-") == 0;
	ssize_t n = 0;

	set_headers(y, headers, "application/octet-stream");
	int r = files_path(y, remote, path, sizeof(path), err);
	if (r == 0)
		r = connection_request(y->c, &y->o->endpoint, "GET", path, headers, NULL, 0, err);
	if (r == 0 && y->c->status != 200)
		r = answer_error(y->c, err);
	if (r < 0)
		return r;
	AUTO_CLOSE int fd = standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
				     : open(local, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return error_set(err, errno, "%s", local);
	while (r == 0 && (n = connection_read(y->c, piece, sizeof(piece))) > 0)
		r = io_write_all(fd, piece, (size_t)n);
	y->files++;
	if (r < 0)
		return error_set(err, -r, "%s", local);
	return n < 0 ? error_set(err, (int)-n, "%s was cut", remote) : 0;
}

/* Names come from the sandbox: one that could lead out of the directory is refused. */
static bool safe_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int fetch_tree(struct copy *y, const char *remote, const char *local, unsigned int depth,
		      struct error *err)
{
	json_t *answer = NULL, *e;
	size_t i;

	if (depth > DEPTH_MAX)
		return error_set(err, ELOOP, "%s", remote);
	if (mkdir(local, 0777) < 0 && errno != EEXIST)
		return error_set(err, errno, "%s", local);
	int r = rpc(y, "ListDir", remote, &answer, err);
	json_array_foreach(json_object_get(answer, "entries"), i, e) {
		const char *name = json_string_value(json_object_get(e, "name"));
		const char *path = json_string_value(json_object_get(e, "path"));
		const char *type = json_string_value(json_object_get(e, "type"));
		bool link = json_object_get(e, "symlinkTarget") != NULL;
		char target[PATH_MAX];
		if (r < 0 || !name || !path || !type || !safe_name(name))
			continue;
		if ((size_t)snprintf(target, sizeof(target), "%s/%s", local, name) >= sizeof(target))
			r = error_set(err, ENAMETOOLONG, "%s", local);
		else if (strcmp(type, "FILE_TYPE_DIRECTORY") == 0 && !link)
			r = fetch_tree(y, path, target, depth + 1, err);
		else if (strcmp(type, "FILE_TYPE_FILE") == 0)
			r = fetch_file(y, path, target, err);
	}
	json_decref(answer);
	return r;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* Into an existing directory goes a file of the same name. */
static int local_target(const char *local, const char *name, char out[PATH_MAX], struct error *err)
{
	struct stat st;
	bool inside = strcmp(local, "-") != 0 && stat(local, &st) == 0 && S_ISDIR(st.st_mode);

	int n = snprintf(out, PATH_MAX, "%s%s%s", local, inside ? "/" : "", inside ? name : "");
	return n >= PATH_MAX ? error_set(err, ENAMETOOLONG, "%.100s", local) : 0;
}

static int fetch(struct copy *y, const char *remote, const char *local, struct error *err)
{
	json_t *answer = NULL;
	char target[PATH_MAX];
	int r = rpc(y, "Stat", remote, &answer, err);
	const json_t *entry = json_object_get(answer, "entry");
	const char *type = json_string_value(json_object_get(entry, "type"));

	if (r == 0)
		r = local_target(local, base_name(remote), target, err);
	if (r == 0 && type && strcmp(type, "FILE_TYPE_DIRECTORY") == 0)
		r = fetch_tree(y, remote, target, 0, err);
	else if (r == 0)
		r = fetch_file(y, remote, target, err);
	json_decref(answer);
	return r;
}

/* ---- into the sandbox ---- */

static int send_bytes(struct copy *y, int fd, uint64_t size, const char *local, struct error *err)
{
	int r = 0;

	while (size > 0 && r == 0) {
		ssize_t n = read(fd, piece, (size_t)MIN(size, sizeof(piece)));
		if (n <= 0)
			return error_set(err, n < 0 ? errno : ESTALE, "read %s", local);
		r = connection_write_raw(y->c, piece, (size_t)n);
		size -= (uint64_t)n;
	}
	/* The server may have refused in the middle: its answer says why. */
	return 0;
}

static int send_file(struct copy *y, const char *local, const char *remote, struct error *err)
{
	static char path[PATH_MAX * 3 + 512];
	char scratch[1024];
	struct header headers[5];
	struct stat st;
	AUTO_CLOSE int fd = open(local, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", local);
	set_headers(y, headers, "application/octet-stream");
	int r = files_path(y, remote, path, sizeof(path), err);
	connection_close(y->c);
	if (r == 0)
		r = connection_begin(y->c, &y->o->endpoint, "POST", path, headers,
				     (uint64_t)st.st_size, err);
	if (r == 0)
		r = send_bytes(y, fd, (uint64_t)st.st_size, local, err);
	if (r == 0)
		r = connection_answer(y->c, err);
	if (r == 0 && y->c->status != 200)
		r = answer_error(y->c, err);
	while (r == 0 && connection_read(y->c, scratch, sizeof(scratch)) > 0)
		;
	y->files++;
	return r;
}

static int send_tree(struct copy *y, const char *local, const char *remote, unsigned int depth,
		     struct error *err)
{
	DIR *dir = opendir(local);
	struct dirent *d;
	json_t *answer = NULL;
	int r = 0;

	if (!dir)
		return error_set(err, errno, "%s", local);
	if (depth > DEPTH_MAX)
		r = error_set(err, ELOOP, "%s", local);
	if (r == 0 && rpc(y, "MakeDir", remote, &answer, err) < 0 && err->code != 409)
		r = -1;
	json_decref(answer);
	while (r == 0 && (d = readdir(dir))) {
		char from[PATH_MAX / 2], to[PATH_MAX / 2];
		struct stat st;
		if (!safe_name(d->d_name))
			continue;
		if (snprintf(from, sizeof(from), "%s/%s", local, d->d_name) >= PATH_MAX / 2 ||
		    snprintf(to, sizeof(to), "%s/%s", remote, d->d_name) >= PATH_MAX / 2)
			r = error_set(err, ENAMETOOLONG, "%s", local);
		else if (lstat(from, &st) == 0 && S_ISDIR(st.st_mode))
			r = send_tree(y, from, to, depth + 1, err);
		else if (stat(from, &st) == 0 && S_ISREG(st.st_mode))
			r = send_file(y, from, to, err);
	}
	closedir(dir);
	return r;
}

static int send_input(struct copy *y, const char *remote, struct error *err)
{
	char name[] = "/tmp/hotcell-cp-XXXXXX";
	AUTO_CLOSE int fd = mkostemp(name, O_CLOEXEC);
	ssize_t n = 0;
	int r = fd < 0 ? -errno : 0;

	/* The length is announced, so it must be known first. */
	while (r == 0 && (n = read(STDIN_FILENO, piece, sizeof(piece))) > 0)
		r = io_write_all(fd, piece, (size_t)n);
	if (r == 0 && n < 0)
		r = -errno;
	if (r < 0)
		error_set(err, -r, "read standard input");
	else
		r = send_file(y, name, remote, err);
	if (fd >= 0)
		unlink(name);
	return r;
}

static int push(struct copy *y, const char *local, const char *remote, struct error *err)
{
	json_t *answer = NULL;
	struct error ignored;
	char target[PATH_MAX];
	struct stat st;

	if (strcmp(local, "-") == 0)
		return send_input(y, remote, err);
	if (stat(local, &st) < 0)
		return error_set(err, errno, "%s", local);
	int r = rpc(y, "Stat", *remote ? remote : ".", &answer, &ignored);
	const char *type =
		json_string_value(json_object_get(json_object_get(answer, "entry"), "type"));
	bool inside = r == 0 && type && strcmp(type, "FILE_TYPE_DIRECTORY") == 0;
	json_decref(answer);
	if (snprintf(target, sizeof(target), "%s%s%s", *remote ? remote : ".", inside ? "/" : "",
		     inside ? base_name(local) : "") >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "%.100s", remote);
	return S_ISDIR(st.st_mode) ? send_tree(y, local, target, 0, err)
				   : send_file(y, local, target, err);
}

/* ---- the verb ---- */

/* "ID:PATH": the path; NULL = a local one. A local name with a colon can be written "./a:b". */
static char *remote_part(char *argument)
{
	size_t id = strspn(argument, "abcdefghijklmnopqrstuvwxyz0123456789");
	return id > 0 && argument[id] == ':' ? argument + id : NULL;
}

static int run_cp(struct client_options *o)
{
	static struct copy y;
	char *from = o->arguments[0], *to = o->arguments[1];
	char *remote_from = remote_part(from), *remote_to = remote_part(to);
	struct error err;

	y.o = o;
	y.c = connection_new();
	if (!remote_from == !remote_to) {
		error_set(&err, 0, "one of the two must be SANDBOX:PATH, the other one here");
		return client_fail(&err);
	}
	char *colon = remote_from ? remote_from : remote_to;
	*colon = '\0';
	int r = client_find(o, remote_from ? from : to, y.id, &err);
	if (r == 0)
		r = client_token(o, y.id, y.token, &err);
	if (r == 0)
		r = remote_from ? fetch(&y, colon + 1, to, &err) : push(&y, from, colon + 1, &err);
	connection_free(y.c);
	if (r < 0)
		return client_fail(&err);
	if (o->json)
		printf("{\"files\": %u}\n", y.files);
	return 0;
}

static const struct option_spec cp_options[] = {
	CLIENT_COMMON,
	{ .name = "user",
	  .letter = 'u',
	  .kind = OPTION_TEXT,
	  .offset = offsetof(struct client_options, user),
	  .metavar = "NAME",
	  .shown = "user",
	  .help = "whose home relative paths start from, and who owns what is made" },
};

const struct client_verb verb_cp = {
	"cp", "[OPTIONS] SANDBOX:PATH LOCAL | LOCAL SANDBOX:PATH",
	"Copies files and directories to or from a running sandbox; LOCAL - is standard input or output.",
	cp_options, ARRAY_SIZE(cp_options), 2, 2, run_cp, false,
};
