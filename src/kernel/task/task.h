/*
 * Tasks (threads) and processes of the guest, as the application kernel sees them.
 *
 * The host kernel is the authority on pids, parents, zombies, wait, process groups and sessions:
 * guests live in their own pid namespace. What is kept here is what the host cannot know:
 * descriptor tables, working directory, credentials, limits, names, terminals. Process group and
 * session are mirrored because terminals and kill permissions need them.
 *
 *   struct process --threads--> struct task --files--> struct fdtable (shared by CLONE_FILES)
 *                                           --fs-----> struct fs_context (root, cwd, umask)
 *                                           --cred---> struct cred
 *                                           --call---> the blocked call, if any
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/list.h"
#include "kernel/core/call.h"
#include "kernel/core/wait.h"
#include "kernel/fs/path.h"
#include "kernel/task/cred.h"
#include "kernel/task/past.h"

struct fdtable;
struct fs_context;
struct tty;
struct exec;

#define TASK_COMM_LEN 16

/*
 * Calls of a thread that a signal interrupted: what is to become of them when the handler returns;
 * see task/sigreturn.c. The last one lost is the first to be met again.
 */
enum lost_kind {
	LOST_RESULT,	  /* done, but the thread never got `result` */
	LOST_RESUME,	  /* yielded after `result` bytes: goes on after the handler */
	LOST_AGAIN,	  /* not done: has to be run again, whatever the handler's flags */
	LOST_INTERRUPTED, /* was waiting: EINTR, or restarted with SA_RESTART */
	LOST_NO_RESTART,  /* was waiting in a call that is never restarted, like poll */
	LOST_EARLY,	  /* not seen: has to be run again, but a signal has come: it must not wait */
	LOST_EARLY_RESTART, /* the same with SA_RESTART: it must not wait if it is never restarted */
};

struct lost_call {
	uint8_t kind; /* enum lost_kind */
	int nr;
	uint64_t ip;
	uint64_t args[6];
	long result;
	const struct file *file; /* of LOST_RESUME: to compare, no reference */
};
#define LOST_MAX 4

/*
 * The thread was made to repeat its call as another one (exec, shmat): that one, when it arrives,
 * is let through to the host. A signal may come in between; after its handler the thread makes the
 * call that it made first.
 */
struct become {
	bool armed;
	int nr;
	uint64_t args[6];
	int first_nr; /* 0: nothing to go back to */
	uint64_t first_args[6];
	uint64_t ip;
};

enum leaving { LEAVING_NOT, LEAVING_THREAD, LEAVING_PROCESS };

struct task {
	struct list sibling;   /* process.threads */
	struct list hash_link; /* by host tid */
	struct process *proc;
	int host_tid; /* in the kernel process's pid namespace: for host calls only */
	int tid;      /* what the guest sees */
	struct fdtable *files;
	struct fs_context *fs;
	struct cred *cred;
	struct call *slot; /* storage of the thread's one call */
	struct call *call; /* the same while it is blocked, else NULL */
	struct become become;
	struct lost_call lost[LOST_MAX];
	uint8_t lost_count;
	bool lost_fresh;	  /* nothing else was called since the last one was lost */
	struct past past;	  /* its last calls */
	uint64_t interrupted_ip;  /* the last call was answered with EINTR, from here */
	uint64_t hit_ns;	  /* clock_mono: see crossfire.c; 0: never */
	uint8_t leaving; /* enum leaving: what its current call is */
	char comm[TASK_COMM_LEN];
	uint64_t start_ns;   /* clock_boot */
	uint64_t call_count; /* served */
};

enum process_state { PROCESS_ALIVE, PROCESS_ZOMBIE };

struct process {
	struct list all_link;  /* every live process */
	struct list hash_link; /* by host pid */
	struct list threads;
	uint32_t refs;
	uint8_t state; /* enum process_state */
	int host_pid;
	int pid; /* guest pid = tgid */
	int ppid; /* 1 when that one is dead */
	int pgid, sid; /* guest numbers, mirrored */
	bool session_leader;
	bool did_exec; /* since fork: setpgid by the parent is then EACCES */
	uint32_t tag;	/* says whose clone an unknown process is: see birth.h */
	bool by_init;	/* cloned by pid 1 */
	bool cloned;	/* may have children, which somebody else has to wait for when it is dead */
	bool host_image; /* which of the stub's two names it runs: see exec.c */
	uint32_t execs;	 /* how often it became another program */
	bool dumpable;
	bool child_subreaper;
	int pdeath_signal;
	int exit_signal;
	struct tty *ctty; /* controlling terminal, holds a reference */
	int tty_old_pgrp; /* session leader: the foreground group when its terminal hung up */

	struct path exe;	/* the program, holds references; exe.dentry NULL in a new pid 1 */
	uint64_t arg_start, arg_end, env_start, env_end; /* guest addresses */
	struct rlimit rlimits[RLIM_NLIMITS];
	uint64_t start_ns; /* clock_boot */
	uint32_t personality;
	/* Kept for /proc when the last thread is gone. */
	char end_comm[TASK_COMM_LEN];
	uint32_t end_uid, end_gid;
	int16_t oom_score_adj; /* remembered for /proc only */
	uint32_t thread_count;
	uint32_t thread_charges; /* of LIMIT_PIDS, besides the one of the process */
	bool exited;		 /* process_exit() has run */
	int pidfd;		 /* host descriptor watching its death, -EBADF */
	uint32_t spawn_id;	 /* child of pid 1 made by a SPAWN message: its request, else 0 */
	struct waitq exit_waitq; /* woken when the process becomes a zombie: guest pidfds poll it */
	struct exec *exec;	 /* an execve under way */
	/* A script's replacement of argv[0], NUL-separated, for /proc/PID/cmdline; NULL = none. */
	char *script_args;
	uint32_t script_args_size;
	struct list pending_clones;
	struct list attachments; /* of System V shared memory: mm/shm.c */
	uint64_t aux[2]; /* AT_BASE, AT_ENTRY of the loaded image, for /proc/self/auxv and debuggers */
};

struct task *task_find(int guest_tid);	     /* NULL = absent */
struct process *process_find(int guest_pid); /* NULL = absent; zombies are found */
struct process *process_get(struct process *p);
void process_put(struct process *p);

/* Tells this program of this process from every other one that there was, whatever its pid. */
static inline uint64_t process_image(const struct process *p)
{
	return (uint64_t)p->tag << 32 | p->execs;
}

/* Any live thread of the process, the leader when it still exists. NULL for zombies. */
struct task *process_leader(struct process *p);

/* Iterates over all processes in no particular order. */
struct list *process_list(void);
uint32_t process_count(void);
uint32_t thread_count(void);

/* ---- signals made by the kernel (sender = the kernel, si_code SI_KERNEL as far as possible) --- */
int signal_task(struct task *t, int sig);
int signal_process(struct process *p, int sig);
/* Every member of the guest process group; -ESRCH when there is none. */
int signal_pgrp(int pgid, int sig);

/* What the thread blocks/ignores right now, read from the host (costly: tty job control only). */
bool task_signal_blocked_or_ignored(struct task *t, int sig);
/* True if no member of the group has a parent in the same session but another group. */
bool pgrp_is_orphaned(int pgid, int sid);
bool pgrp_exists(int pgid, int sid);

/* May `c` act on `p` (kill(2) rule: uids match or CAP_KILL)? And the ptrace rule for /proc. */
bool process_may_signal(const struct cred *c, struct process *p);
bool process_may_inspect(const struct cred *c, struct process *p);

/* Current soft limit. RLIM_INFINITY is UINT64_MAX. */
static inline uint64_t task_rlimit(const struct task *t, int resource)
{
	return t->proc->rlimits[resource].rlim_cur;
}
