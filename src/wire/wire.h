/*
 * The control channel: how anything outside talks to a sandbox.
 *
 * A SOCK_STREAM unix socket made by the parent before the kernel process starts. Messages are a
 * fixed 16-byte header {type, flags, length, request} and a packed little-endian body; descriptors
 * travel by SCM_RIGHTS with the first byte of their message. Both ends distrust each other: every
 * length is checked, an unknown type or a malformed body ends the connection (and so the sandbox),
 * nothing recurses. The one table of types is WIRE_MESSAGES.
 *
 * Body notation: u32 u64 = little-endian integers; str = u32 length + bytes, no NUL inside;
 * list of X = u32 count + X...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_BODY_MAX (4u << 20)
#define WIRE_FDS_MAX 32

/* WIRE(number, NAME, direction, body) : direction > to the sandbox, < from it, = answers a request */
#define WIRE_MESSAGES(WIRE)                                                                        \
	/* First message, once. Body: see wire_config. fds: one per mount that has one, in order,  \
	 * then the trace file if WIRE_CONFIG_TRACE. */                                             \
	WIRE(1, CONFIG, '>', "wire_config")                                                         \
	/* The sandbox is ready for SPAWN. */                                                       \
	WIRE(2, READY, '<', "u64 start_ns")                                                         \
	/* Starts a process. fds: its descriptors from 0 on, 3 to WIRE_SPAWN_FDS_MAX; with           \
	 * WIRE_SPAWN_TTY those from 3 on. `request` names the process in every later message. */   \
	WIRE(3, SPAWN, '>', "wire_spawn")                                                           \
	WIRE(4, SPAWNED, '<', "u32 guest_pid")                                                      \
	/* Terminal processes (WIRE_SPAWN_TTY): bytes from and to the terminal. */                  \
	WIRE(5, INPUT, '>', "bytes")                                                                \
	WIRE(6, OUTPUT, '<', "bytes")                                                               \
	/* The reader has taken this many OUTPUT bytes: back pressure, window 256 KiB. */           \
	WIRE(7, OUTPUT_ACK, '>', "u32 bytes")                                                       \
	WIRE(8, RESIZE, '>', "u32 rows, u32 cols")                                                  \
	WIRE(9, SIGNAL, '>', "u32 signal, u32 whole_group")                                         \
	/* status as of wait(2). */                                                                 \
	WIRE(10, EXITED, '<', "u32 status")                                                         \
	/* Ends the sandbox: str reason is repeated in DIED. */                                     \
	WIRE(11, SHUTDOWN, '>', "str reason")                                                       \
	/* Last message. reason "" = all spawned processes ended / SHUTDOWN without a reason. */    \
	WIRE(12, DIED, '<', "u32 wire_death, str reason, wire_stats")                               \
	WIRE(13, STATS, '>', "")                                                                    \
	WIRE(14, STATS_REPLY, '=', "wire_stats")                                                    \
	/* The request could not be done. about: enum wire_about. Ends the request. */              \
	WIRE(15, ERROR, '=', "u32 errno, u32 about, str message")                                   \
	/* A line for the log of the parent: already escaped. */                                    \
	WIRE(16, LOG, '<', "u32 level, str text")                                                   \
	/* The request is done, and that is all there is to say. */                                 \
	WIRE(17, DONE, '=', "")                                                                     \
	/* `request` is to stop: a transfer, a watch, a dial, a listener. It gets no answer any more. */        \
	WIRE(18, CANCEL, '>', "")                                                                   \
	/* Files. `user` "" = the default user; it decides the home that relative paths and "~"     \
	 * start from and who owns what is made; the access itself is root's. */                    \
	WIRE(20, FS_STAT, '>', "str user, str path")                                                \
	WIRE(21, FS_ENTRY, '=', "wire_entry")                                                       \
	/* depth levels below path, lexical order, depth first; then DONE. */                       \
	WIRE(22, FS_LIST, '>', "str user, str path, u32 depth")                                     \
	WIRE(23, FS_ENTRIES, '=', "list of wire_entry")                                             \
	/* With parents, 0755. Answer FS_ENTRY. */                                                  \
	WIRE(24, FS_MAKE_DIR, '>', "str user, str path")                                            \
	WIRE(25, FS_MOVE, '>', "str user, str source, str destination")                             \
	/* Recursive; nothing there is fine. Answer DONE. */                                        \
	WIRE(26, FS_REMOVE, '>', "str user, str path")                                              \
	/* fd: a stream socket or pipe that gets the bytes. FS_ENTRY first (the whole file's size),  \
	 * then the bytes, the end of the stream, then DONE or ERROR. length UINT64_MAX = all. */   \
	WIRE(27, FS_READ, '>', "str user, str path, u64 offset, u64 length")                        \
	/* fd: a stream that gives the bytes until its end. Parents are made (0755), the file is made \
	 * (0644) or truncated; metadata replaces its user.e2b.* attributes. Answer FS_ENTRY. */    \
	WIRE(28, FS_WRITE, '>', "str user, str path, list of (str key, str value)")                 \
	/* flags: enum wire_watch_flags. DONE when armed, then FS_EVENTs until CANCEL. */           \
	WIRE(29, FS_WATCH, '>', "str user, str path, u32 flags")                                    \
	WIRE(30, FS_EVENT, '<', "u32 wire_watch_event, str name, u32 has_entry, wire_entry if so")  \
	/* fd: a stream socket that becomes the client's end of a TCP connection to the guest's port. \
	 * DONE = connected; then bytes both ways until both are shut down. */                      \
	WIRE(31, DIAL, '>', "u32 port")                                                             \
	/* All processes stop where they are, memory stays; THAW lets them go on. Answer DONE. */   \
	WIRE(32, FREEZE, '>', "")                                                                   \
	WIRE(33, THAW, '>', "")                                                                     \
	/* Ends every process, keeps the files: a restart of the sandbox, with a new boot id. */    \
	WIRE(34, REBOOT, '>', "")                                                                   \
	/* In the order of enum limit, 0 = leave as it is. Answer DONE. */                          \
	WIRE(35, SET_LIMITS, '>', "u64 x WIRE_LIMITS")                                              \
	WIRE(36, SET_HOSTNAME, '>', "str hostname")                                                 \
	/* What runs. Answer: PROCESS_LIST. */                                                      \
	WIRE(37, LIST_PROCESSES, '>', "")                                                           \
	WIRE(38, PROCESS_LIST, '=', "list of wire_process")                                         \
	/* The opposite of DIAL: this port is ours, on every address inside, and no guest can bind it. \
	 * DONE = from now on; then KNOCKs until CANCEL. */                                         \
	WIRE(39, LISTEN, '>', "u32 port")                                                           \
	/* Of a LISTEN: somebody inside has connected and waits. Said once, until ACCEPT is answered. */ \
	WIRE(40, KNOCK, '<', "")                                                                    \
	/* `listen`: request of the LISTEN. fd: as that of DIAL, for whoever waits longest; without  \
	 * one his connection is reset. DONE = connected (or reset). EAGAIN: nobody waits, or there   \
	 * are too many connections; then another KNOCK comes when there are fewer. */              \
	WIRE(41, ACCEPT, '>', "u32 listen")                                                         \
	/* fd: a stream socket or pipe that gets the sandbox's files as an image                    \
	 * (kernel/checkpoint/image.h), then its end; then DONE. All processes stand meanwhile, and   \
	 * no other message is read. After an ERROR the image is not complete. */                   \
	WIRE(42, SAVE, '>', "")                                                                     \
	/* fd: a stream that gives an image of a sandbox with the same mounts. Before anything runs   \
	 * inside. DONE; or ERROR, and the sandbox ends unless that is EBUSY. */                     \
	WIRE(43, LOAD, '>', "")

enum wire_type {
#define WIRE(number, name, direction, body) WIRE_##name = number,
	WIRE_MESSAGES(WIRE)
#undef WIRE
};

/* Name of a type for errors and logs; NULL = unknown. */
const char *wire_type_name(uint32_t type);

struct wire_header {
	uint32_t type;
	uint32_t flags;
	uint32_t length; /* of the body */
	uint32_t request;
};

/* What an ERROR is about. */
enum wire_about {
	WIRE_ABOUT_REQUEST = 0,
	WIRE_ABOUT_PROGRAM = 1, /* the program to execute */
	WIRE_ABOUT_USER = 2,	/* no such user */
	WIRE_ABOUT_CWD = 3,	/* the working directory */
	WIRE_ABOUT_PATH = 4,	/* the path of a file operation */
};

enum wire_death {
	WIRE_DEATH_NORMAL = 0,	 /* nothing left to run */
	WIRE_DEATH_SHUTDOWN = 1, /* asked to */
	WIRE_DEATH_LIMIT = 2,	 /* a limit: reason names it and its option */
	WIRE_DEATH_FAULT = 3,	 /* the kernel's own failure */
};

/* ---- CONFIG ---- */
enum wire_mount_kind {
	WIRE_MOUNT_TEMPLATE = 1, /* read-only source below the private layer (copy-on-write) */
	WIRE_MOUNT_COW = 2,	 /* the same, owned by the sandbox user: --cow and the working directory */
	WIRE_MOUNT_RO = 3,
	WIRE_MOUNT_RW = 4,
	WIRE_MOUNT_TMPFS = 5,
	WIRE_MOUNT_SYMLINK = 6, /* `guest` is a symlink to `target` (/bin -> usr/bin) */
	WIRE_MOUNT_ETC = 7,	/* source of the allowed pieces of /etc */
	WIRE_MOUNT_VAR_LIB_DPKG = 8,
	WIRE_MOUNT_STORE = 9, /* no mount: a private directory for what the sandbox writes */
	WIRE_MOUNT_SYSTEM = 10, /* like TEMPLATE, but nobody changes it: read-only, root's */
};

struct wire_mount {
	uint32_t kind;
	bool has_fd;	   /* an O_PATH directory (or file) descriptor accompanies the message */
	bool detached;	   /* that descriptor is a detached mount tree already (idmapped by root) */
	const char *guest; /* absolute guest path */
	const char *target;
};

enum wire_config_flags {
	WIRE_CONFIG_TRACE = 1,	      /* a trace descriptor is the last one */
	WIRE_CONFIG_EXIT_WITH_LAST = 2, /* end the sandbox when the last SPAWNed process ended */
	WIRE_CONFIG_NO_CGROUP = 4,    /* the kernel must account memory itself */
};

#define WIRE_LIMITS 9 /* in the order of enum limit in kernel/core/limits.h; 0 = default */

struct wire_config {
	uint32_t flags;
	const char *hostname;
	const char *user; /* name of the unprivileged user, its home is /home/<user> */
	uint32_t user_uid, user_gid;
	uint64_t limits[WIRE_LIMITS];
	uint32_t mount_count;
	struct wire_mount mounts[64];
};

/* ---- SPAWN ---- */
enum wire_spawn_flags {
	WIRE_SPAWN_TTY = 1, /* new terminal: INPUT/OUTPUT; it is descriptors 0 to 2 */
	WIRE_SPAWN_MAIN = 2, /* SIGNALs without a request go here; its end ends the sandbox */
	/* HOME, USER and LOGNAME of the user are put in front of the environment. cwd may be relative to
	 * the home, or start with "~". */
	WIRE_SPAWN_LOGIN = 4,
};

#define WIRE_ARGS_MAX (1u << 20)
/* Descriptors that a process may start with: standard input, output, error, and 13 more. */
#define WIRE_SPAWN_FDS_MAX 16

struct wire_spawn {
	uint32_t flags;
	uint32_t rows, cols; /* terminal */
	const char *user;    /* "name", "uid" or "uid:gid"; "" = the default user */
	const char *cwd;     /* "" = the user's home */
	const char *path;    /* program: with a slash a path, else looked up in PATH of env */
	uint32_t argc, envc;
	const char *args; /* argc then envc NUL-terminated strings, back to back */
	uint32_t args_size;
};

/* ---- files ---- */
enum wire_entry_type {
	WIRE_ENTRY_OTHER = 0,
	WIRE_ENTRY_FILE = 1,
	WIRE_ENTRY_DIRECTORY = 2,
	WIRE_ENTRY_SYMLINK = 3, /* reserved: a link has the type of what it points to */
};

#define WIRE_METADATA_MAX 64

struct wire_pair {
	const char *key, *value;
};

/*
 * A file as lstat(2) sees it, except that `type` and `mode` of a symbolic link are those of what it
 * points to (WIRE_ENTRY_OTHER when that is missing).
 */
struct wire_entry {
	uint32_t type;
	uint32_t mode; /* st_mode of lstat(2): S_IFMT says whether this is a link */
	uint32_t target_mode; /* st_mode of stat(2), 0 = dangling */
	uint32_t uid, gid;
	uint64_t size;
	int64_t mtime_ns; /* since the epoch */
	const char *name, *path; /* path is absolute */
	const char *owner, *group; /* names, or numbers as text */
	const char *target; /* of a link: fully resolved, or its own path when dangling; else "" */
	uint32_t metadata_count; /* extended attributes user.e2b.*, prefix taken off */
	struct wire_pair metadata[WIRE_METADATA_MAX];
};

/* Body of the FS_ requests: which fields there are, is the message's row in wire/fs.c. */
struct wire_fs {
	const char *user, *path;
	const char *destination; /* FS_MOVE; `path` is the source */
	uint32_t depth, flags;
	uint64_t offset, length;
	uint32_t metadata_count;
	struct wire_pair metadata[WIRE_METADATA_MAX];
};

struct wire_fs_event {
	uint32_t event; /* enum wire_watch_event */
	const char *name; /* relative to what is watched; "." = that itself */
	bool has_entry;
	struct wire_entry entry;
};

enum wire_watch_flags { WIRE_WATCH_RECURSIVE = 1, WIRE_WATCH_ENTRY = 2 };

enum wire_watch_event {
	WIRE_EVENT_CREATE = 1,
	WIRE_EVENT_WRITE = 2,
	WIRE_EVENT_REMOVE = 3,
	WIRE_EVENT_RENAME = 4,
	WIRE_EVENT_CHMOD = 5,
};

/* ---- processes ---- */
struct wire_process {
	uint32_t pid, parent, uid, threads;
	uint64_t cpu_ns, memory_bytes, started_ms; /* started: since the sandbox's boot */
	const char *state; /* one letter as in /proc/PID/stat */
	const char *command; /* argv joined by spaces, at most 256 bytes */
};

/* ---- statistics ---- */
struct wire_stats {
	uint64_t calls_served, calls_refused;
	uint64_t cpu_user_ns, cpu_system_ns; /* guests */
	uint64_t kernel_cpu_ns;		     /* the kernel process itself */
	uint64_t memory_bytes, memory_peak_bytes;
	uint64_t memory_cache_bytes;		 /* of memory_bytes: can be given back */
	uint64_t memory_limit_bytes, disk_limit_bytes; /* UINT64_MAX = none */
	uint64_t cpu_count;
	uint64_t arena_bytes;
	uint64_t disk_bytes, disk_inodes;
	uint64_t disk_refused; /* times that file data did not fit the limit */
	uint64_t processes, processes_total;
	uint64_t start_ns; /* kernel process start to READY */
	/* Names of refused calls with counts, "name=count" separated by spaces, at most 1 KiB. */
	char refused[1024];
};

/*
 * ---- encoding: a buffer with a sticky error ----
 * wire_get_X() decodes one X where `in` stands; it is false, and `in` failed, when that is short or
 * malformed. A whole body must end there: wire_in_end(). (CONFIG and SPAWN are always whole bodies.)
 */
struct wire_out {
	uint8_t *data;
	uint32_t length, capacity;
	bool failed; /* did not fit */
};
struct wire_in {
	const uint8_t *data;
	uint32_t length, offset;
	bool failed; /* short or malformed */
};
void wire_put_u32(struct wire_out *o, uint32_t v);
void wire_put_u64(struct wire_out *o, uint64_t v);
void wire_put_bytes(struct wire_out *o, const void *p, uint32_t size);
void wire_put_str(struct wire_out *o, const char *s);
uint32_t wire_get_u32(struct wire_in *in);
uint64_t wire_get_u64(struct wire_in *in);
/* Points into the message; NUL-terminated there: encoders add a NUL that the length excludes. */
const char *wire_get_str(struct wire_in *in);
const void *wire_get_bytes(struct wire_in *in, uint32_t size); /* NULL = not that many */
static inline bool wire_in_end(const struct wire_in *in)
{
	return !in->failed && in->offset == in->length;
}

void wire_put_config(struct wire_out *o, const struct wire_config *c);
bool wire_get_config(struct wire_in *in, struct wire_config *ret); /* strings point into `in` */
void wire_put_spawn(struct wire_out *o, const struct wire_spawn *s);
bool wire_get_spawn(struct wire_in *in, struct wire_spawn *ret);
void wire_put_stats(struct wire_out *o, const struct wire_stats *s);
bool wire_get_stats(struct wire_in *in, struct wire_stats *ret);
void wire_put_entry(struct wire_out *o, const struct wire_entry *e);
bool wire_get_entry(struct wire_in *in, struct wire_entry *ret); /* strings point into `in` */
void wire_put_process(struct wire_out *o, const struct wire_process *p);
bool wire_get_process(struct wire_in *in, struct wire_process *ret);
/* `type`: one of the FS_ requests. */
void wire_put_fs(struct wire_out *o, uint32_t type, const struct wire_fs *f);
bool wire_get_fs(struct wire_in *in, uint32_t type, struct wire_fs *ret);
void wire_put_fs_event(struct wire_out *o, const struct wire_fs_event *e);
bool wire_get_fs_event(struct wire_in *in, struct wire_fs_event *ret);
void wire_put_error(struct wire_out *o, int error, uint32_t about, const char *message);
bool wire_get_error(struct wire_in *in, int *ret_error, uint32_t *ret_about, const char **ret_message);
