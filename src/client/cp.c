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
#include "client/target.h"
#include "codec/url.h"

#define PIECE	      (256u << 10)
#define DEPTH_MAX     64
#define TREE_PATH_MAX 3600 /* two of them on the stack at each depth */

struct copy {
	struct client_options *o;
	struct target target;
	unsigned int files, skipped;
};

static char piece[PIECE];

/* Said, and counted: the copy is not whole then. */
static void skip(struct copy *y, const char *name, const char *why)
{
	struct error err;

	error_set(&err, 0, "left out: %.300s: %s", name, why);
	client_fail(&err);
	y->skipped++;
}

static int files_path(const struct copy *y, const char *path, char *out, size_t size,
		      struct error *err)
{
	static char encoded[PATH_MAX * 3 + 1];
	char user[256] = "";

	if (strlen(path) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "%.100s", path);
	url_encode(path, strlen(path), encoded);
	if (y->o->user) /* checked by target_open() */
		url_encode(y->o->user, strlen(y->o->user), user);
	snprintf(out, size, "/files?path=%s%s%s", encoded, user[0] ? "&username=" : "", user);
	return 0;
}

/* A call of filesystem.Filesystem with a path. */
static int rpc(struct copy *y, const char *method, const char *path, json_t **ret,
	       struct error *err)
{
	char name[64];

	snprintf(name, sizeof(name), "filesystem.Filesystem/%s", method);
	int r = target_call(&y->target, name, json_pack("{s:s}", "path", path), ret, err);
	return r == 0 && !*ret ? error_set(err, EBADMSG, "the answer") : r;
}

/* ---- out of the sandbox ---- */

/* The bits for user, group and others; never more, whatever the sandbox says. */
static void set_mode(int fd, const json_t *entry)
{
	const json_t *mode = json_object_get(entry, "mode");

	if (json_is_integer(mode))
		(void)fchmod(fd, (mode_t)json_integer_value(mode) & 0777);
}

/* `flags`: how the local file is opened besides. What was cut does not stay. */
static int fetch_file(struct copy *y, const char *remote, const json_t *entry, const char *local,
		      int flags, struct error *err)
{
	static char path[PATH_MAX * 3 + 512];
	struct header headers[TARGET_HEADERS_MAX];
	bool standard = strcmp(local, "-") == 0;
	struct stat st;
	ssize_t n = 0;

	target_headers(&y->target, headers, TARGET_ENVD, "application/octet-stream");
	int r = files_path(y, remote, path, sizeof(path), err);
	if (r == 0)
		r = connection_request(y->target.c, &y->o->endpoint, "GET", path, headers, NULL, 0,
				       err);
	if (r == 0 && y->target.c->status != 200)
		r = answer_error(y->target.c, err);
	if (r < 0)
		return r;
	AUTO_CLOSE int fd =
		standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
			 : open(local, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0666);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", local);
	while (r == 0 && (n = connection_read(y->target.c, piece, sizeof(piece))) > 0)
		r = io_write_all(fd, piece, (size_t)n);
	y->files++;
	if (r == 0 && n == 0) {
		if (!standard && S_ISREG(st.st_mode))
			set_mode(fd, entry);
		return 0;
	}
	if (!standard && S_ISREG(st.st_mode))
		(void)unlink(local);
	return r < 0 ? error_set(err, -r, "write %s", standard ? "standard output" : local)
		     : error_set(err, 0, "%.300s was cut: the sandbox has ended, or the server has",
				 remote);
}

/* Names come from the sandbox: one that could lead out of the directory is refused. */
static bool safe_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int fetch_tree(struct copy *y, const char *remote, const char *local, unsigned int depth,
		      struct error *err);

/* Where the directory was there before, its own links are not followed out of it. */
static int fetch_entry(struct copy *y, const json_t *e, const char *local, unsigned int depth,
		       struct error *err)
{
	const char *name = json_string_value(json_object_get(e, "name"));
	const char *path = json_string_value(json_object_get(e, "path"));
	const char *type = json_string_value(json_object_get(e, "type"));
	bool link = json_object_get(e, "symlinkTarget") != NULL;
	char target[PATH_MAX];
	struct stat st;

	if (!name || !path || !type || !safe_name(name)) {
		skip(y, name ? name : local, "not a name that a file can have");
		return 0;
	}
	if ((size_t)snprintf(target, sizeof(target), "%s/%s", local, name) >= sizeof(target))
		return error_set(err, ENAMETOOLONG, "%.300s", local);
	if (strcmp(type, "FILE_TYPE_FILE") == 0)
		return fetch_file(y, path, e, target, O_NOFOLLOW, err);
	if (strcmp(type, "FILE_TYPE_DIRECTORY") != 0 || link) {
		skip(y, path, link ? "a link to a directory" : "neither a file nor a directory");
		return 0;
	}
	if (lstat(target, &st) == 0 && !S_ISDIR(st.st_mode))
		return error_set(err, ENOTDIR, "%s", target);
	return fetch_tree(y, path, target, depth + 1, err);
}

static int fetch_tree(struct copy *y, const char *remote, const char *local, unsigned int depth,
		      struct error *err)
{
	json_t *answer = NULL, *e;
	size_t i;

	if (depth > DEPTH_MAX)
		return error_set(err, ELOOP, "%.300s", remote);
	if (mkdir(local, 0777) < 0 && errno != EEXIST)
		return error_set(err, errno, "%s", local);
	int r = rpc(y, "ListDir", remote, &answer, err);
	json_array_foreach(json_object_get(answer, "entries"), i, e)
	{
		if (r == 0)
			r = fetch_entry(y, e, local, depth, err);
	}
	json_decref(answer);
	return r;
}

/* The last part of a path without '/' at its end; "" for "/", "." and "..": what lies in them. */
static void last_name(const char *path, char ret[NAME_MAX + 1])
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	snprintf(ret, NAME_MAX + 1, "%.*s", (int)MIN(end - start, NAME_MAX), path + start);
	if (!safe_name(ret))
		ret[0] = '\0';
}

/* Into an existing directory goes a file of the same name. */
static int inside(const char *directory, const char *path, char out[PATH_MAX], struct error *err)
{
	char name[NAME_MAX + 1];

	last_name(path, name);
	if ((size_t)snprintf(out, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
		return error_set(err, ENAMETOOLONG, "%.300s", directory);
	return 0;
}

static bool is_directory(const json_t *answer)
{
	const char *type =
		json_string_value(json_object_get(json_object_get(answer, "entry"), "type"));

	return type && strcmp(type, "FILE_TYPE_DIRECTORY") == 0;
}

static int fetch(struct copy *y, const char *remote, const char *local, struct error *err)
{
	json_t *answer = NULL;
	char target[PATH_MAX];
	struct stat st;
	int r = rpc(y, "Stat", remote, &answer, err);

	if (r == 0 && strcmp(local, "-") != 0 && stat(local, &st) == 0 && S_ISDIR(st.st_mode))
		r = inside(local, remote, target, err);
	else if ((size_t)snprintf(target, sizeof(target), "%s", local) >= sizeof(target))
		r = error_set(err, ENAMETOOLONG, "%.300s", local);
	if (r == 0 && is_directory(answer))
		r = strcmp(local, "-") == 0
			    ? error_set(err, EISDIR, "%.300s (tar it with hotcell exec)", remote)
			    : fetch_tree(y, remote, target, 0, err);
	else if (r == 0)
		r = fetch_file(y, remote, json_object_get(answer, "entry"), target, 0, err);
	json_decref(answer);
	return r;
}

/* ---- into the sandbox ---- */

static int send_piece(struct copy *y, size_t size, bool chunked)
{
	char line[24];
	int n = snprintf(line, sizeof(line), "%zx\r\n", size), r = 0;

	if (chunked)
		r = connection_write_raw(y->target.c, line, (size_t)n);
	if (r == 0)
		r = connection_write_raw(y->target.c, piece, size);
	return r == 0 && chunked ? connection_write_raw(y->target.c, "\r\n", 2) : r;
}

/* All of it; of a pipe, whose size nobody knows before its end, in chunks. */
static int send_bytes(struct copy *y, int fd, uint64_t size, const char *local, struct error *err)
{
	bool chunked = size == HTTP_CHUNKED;
	ssize_t n = 1;
	int r = 0;

	while (size > 0 && n > 0 && r == 0) {
		do {
			n = read(fd, piece, (size_t)MIN(size, sizeof(piece)));
		} while (n < 0 && errno == EINTR);
		if (n < 0 || (n == 0 && !chunked))
			return error_set(err, n < 0 ? errno : ESTALE, "read %s", local);
		if (n > 0)
			r = send_piece(y, (size_t)n, chunked);
		size -= chunked ? 0 : (uint64_t)n;
	}
	if (r == 0 && chunked)
		(void)connection_write_raw(y->target.c, "0\r\n\r\n", 5);
	/* The server may have refused in the middle: its answer says why. */
	return 0;
}

static int send_open(struct copy *y, int fd, const char *local, const char *remote,
		     struct error *err)
{
	static char path[PATH_MAX * 3 + 512];
	struct header headers[TARGET_HEADERS_MAX];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "%s", local);
	uint64_t size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : HTTP_CHUNKED;
	off_t at = size != HTTP_CHUNKED ? lseek(fd, 0, SEEK_CUR) : 0;
	size -= size != HTTP_CHUNKED ? (uint64_t)MIN(at, st.st_size) : 0;
	target_headers(&y->target, headers, TARGET_ENVD, "application/octet-stream");
	int r = files_path(y, remote, path, sizeof(path), err);
	if (r == 0)
		r = connection_begin(y->target.c, &y->o->endpoint, "POST", path, headers, size,
				     err);
	if (r == 0)
		r = send_bytes(y, fd, size, local, err);
	if (r == 0)
		r = connection_answer(y->target.c, err);
	if (r == 0)
		r = connection_json(y->target.c, NULL, err);
	y->files++;
	return r;
}

static int send_file(struct copy *y, const char *local, const char *remote, struct error *err)
{
	AUTO_CLOSE int fd = open(local, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? error_set(err, errno, "%s", local) : send_open(y, fd, local, remote, err);
}

static int send_tree(struct copy *y, const char *local, const char *remote, unsigned int depth,
		     struct error *err);

static int send_entry(struct copy *y, const char *local, const char *remote, const char *name,
		      unsigned int depth, struct error *err)
{
	char from[TREE_PATH_MAX], to[TREE_PATH_MAX];
	struct stat st = { 0 };

	if ((size_t)snprintf(from, sizeof(from), "%s/%s", local, name) >= sizeof(from) ||
	    (size_t)snprintf(to, sizeof(to), "%s/%s", remote, name) >= sizeof(to))
		return error_set(err, ENAMETOOLONG, "%.300s", local);
	if (lstat(from, &st) == 0 && S_ISDIR(st.st_mode))
		return send_tree(y, from, to, depth + 1, err);
	if (stat(from, &st) == 0 && S_ISREG(st.st_mode))
		return send_file(y, from, to, err);
	skip(y, from, S_ISDIR(st.st_mode) ? "a link to a directory" : "not a regular file");
	return 0;
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
		r = error_set(err, ELOOP, "%.300s", local);
	if (r == 0 && rpc(y, "MakeDir", remote, &answer, err) < 0 && err->code != 409)
		r = -1;
	json_decref(answer);
	while (r == 0 && (d = readdir(dir))) {
		if (safe_name(d->d_name))
			r = send_entry(y, local, remote, d->d_name, depth, err);
	}
	closedir(dir);
	return r;
}

static int push(struct copy *y, const char *local, const char *remote, struct error *err)
{
	json_t *answer = NULL;
	struct error ignored;
	char target[PATH_MAX];
	struct stat st;
	int r = 0;

	remote = *remote ? remote : ".";
	if (strcmp(local, "-") == 0)
		return send_open(y, STDIN_FILENO, "standard input", remote, err);
	if (stat(local, &st) < 0)
		return error_set(err, errno, "%s", local);
	if (rpc(y, "Stat", remote, &answer, &ignored) == 0 && is_directory(answer))
		r = inside(remote, local, target, err);
	else if ((size_t)snprintf(target, sizeof(target), "%s", remote) >= sizeof(target))
		r = error_set(err, ENAMETOOLONG, "%.300s", remote);
	json_decref(answer);
	if (r < 0)
		return r;
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
	if (!remote_from == !remote_to) {
		error_set(&err, 0,
			  "one of the two must be SANDBOX:PATH, the other one here (where a "
			  "local name begins like that, write ./NAME)");
		return client_fail(&err);
	}
	char *colon = remote_from ? remote_from : remote_to;
	*colon = '\0';
	int r = target_open(&y.target, o, remote_from ? from : to, &err);
	if (r == 0)
		r = remote_from ? fetch(&y, *(colon + 1) ? colon + 1 : ".", to, &err)
				: push(&y, from, colon + 1, &err);
	target_close(&y.target);
	if (r < 0)
		return client_fail(&err);
	if (o->json)
		printf("{\"files\": %u, \"left_out\": %u}\n", y.files, y.skipped);
	return y.skipped ? 1 : 0;
}

static const struct option_spec cp_options[] = {
	CLIENT_COMMON,
	CLIENT_JSON,
	CLIENT_USER("whose home relative paths start from, and who owns what is made"),
};

const struct client_verb verb_cp = {
	"cp",
	"[OPTIONS] SANDBOX:PATH LOCAL | LOCAL SANDBOX:PATH",
	"Copies files and directories to or from a running sandbox; LOCAL - is standard input or output.\n"
	"Into a directory that is there a file goes under its own name. Links to files are copied as files.\n"
	"From a sandbox files keep their mode; in a sandbox they get 0644 (hotcell exec ... chmod).",
	cp_options,
	ARRAY_SIZE(cp_options),
	2,
	2,
	run_cp,
	false,
	0,
	false,
};
