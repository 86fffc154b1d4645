/*
 * Inside fs/proc: what an inode stands for, and the tables of files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/util.h"
#include "kernel/fs/path.h"
#include "kernel/fs/seq.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

/*
 * An inode of /proc has no object behind it: its number says all (see proc_key_pack() in inode.c).
 * `row` counts through the system table and then, from PROC_PID_ROWS, the per-process table.
 */
struct proc_key {
	uint32_t row;
	uint32_t pid; /* guest pid, or guest tid when `thread`; 0 = not about a process */
	uint32_t fd;  /* rows of single descriptors */
	bool thread;  /* below /proc/PID/task/TID */
};

#define PROC_PID_ROWS 512u
enum { /* rows of objects that are no table entries */
	PROC_ROW_FD = 1000, /* /proc/PID/fd/N */
	PROC_ROW_FDINFO,    /* /proc/PID/fdinfo/N */
	PROC_ROW_NS,	    /* what /proc/PID/ns/X leads to; fd says which */
	PROC_ROW_MAX = 1023,
};

/* What an operation works on, found afresh each time. */
struct proc_ctx {
	struct proc_key key;
	const struct proc_row *row;
	struct task *reader;  /* who looks; NULL = the kernel */
	struct process *proc; /* the process looked at; NULL in system files */
	struct task *task;    /* its leader, or the thread; NULL for a zombie */
};

enum proc_row_flags {
	PROC_INSPECT = 1 << 0,	    /* only for those who may ptrace the process */
	PROC_PROCESS_ONLY = 1 << 1, /* not below task/TID */
	PROC_THREAD_ONLY = 1 << 2,
	PROC_NEEDS_CAP = 1 << 3,    /* opening for writing takes CAP_SYS_ADMIN, else EROFS */
	PROC_MEMORY = 1 << 4,	    /* read and write act on the process's memory */
};

struct proc_row {
	const char *path; /* below /proc or below the process's directory; "" = that directory */
	uint32_t mode;	  /* type and permissions */
	uint32_t flags;	  /* enum proc_row_flags */
	int (*show)(struct seq *s, const struct proc_ctx *x);
	int (*write)(const struct proc_ctx *x, const char *text, size_t size);
	ssize_t (*readlink)(const struct proc_ctx *x, char *dst, size_t capacity);
	int (*follow)(const struct proc_ctx *x, struct path *ret);
	struct path (*target)(const struct proc_ctx *x); /* of proc_magic_*(); no references taken */
};

extern const struct proc_row proc_system_rows[];
extern const size_t proc_system_row_count;
extern const struct proc_row proc_pid_rows[];
extern const size_t proc_pid_row_count;
extern const struct proc_row proc_fd_row, proc_fdinfo_row, proc_ns_row;

#define PROC_NS_FIRST_NUMBER 4026531834u /* as the host's initial namespaces */

uint64_t proc_key_pack(struct proc_key k); /* the inode number */
/* Fills *x. -ESRCH when the process is gone, -ENOENT when the descriptor is. */
int proc_resolve(const struct inode *inode, struct task *reader, struct proc_ctx *x);
/* file.c: inode_ops.open. */
int proc_open(struct call *c, struct inode *inode, struct file *file);
/* May the reader look into the process? 0 or -EACCES. */
int proc_may_inspect(const struct proc_ctx *x);

/* ---- generators; one file each family ---- */
#define PROC_SHOW(name) int name(struct seq *s, const struct proc_ctx *x)
#define PROC_WRITE(name) int name(const struct proc_ctx *x, const char *text, size_t size)

/* pid_stat.c */
PROC_SHOW(proc_pid_stat);
PROC_SHOW(proc_pid_statm);
PROC_SHOW(proc_pid_status);
PROC_SHOW(proc_pid_schedstat);
PROC_SHOW(proc_pid_sched);

/* pid_maps.c */
PROC_SHOW(proc_pid_maps);
PROC_SHOW(proc_pid_smaps);
PROC_SHOW(proc_pid_smaps_rollup);
PROC_SHOW(proc_pid_auxv);

/* pid_args.c */
PROC_SHOW(proc_pid_cmdline);
PROC_SHOW(proc_pid_environ);
PROC_SHOW(proc_pid_comm);
PROC_WRITE(proc_pid_comm_write);

/* pid_misc.c */
PROC_SHOW(proc_pid_limits);
PROC_SHOW(proc_pid_io);
PROC_SHOW(proc_pid_cgroup);
PROC_SHOW(proc_pid_unset_id);
PROC_SHOW(proc_pid_zero);
PROC_SHOW(proc_pid_wchan);
PROC_SHOW(proc_pid_oom_score_adj);
PROC_SHOW(proc_pid_oom_adj);
PROC_WRITE(proc_pid_oom_score_adj_write);
PROC_WRITE(proc_pid_oom_adj_write);
PROC_SHOW(proc_pid_id_map);
PROC_SHOW(proc_pid_setgroups);
PROC_SHOW(proc_pid_personality);
PROC_SHOW(proc_pid_coredump_filter);
PROC_SHOW(proc_pid_timerslack);
PROC_SHOW(proc_pid_attr);
PROC_WRITE(proc_write_ignored);
PROC_WRITE(proc_write_refused);

/* pid_link.c */
ssize_t proc_magic_readlink(const struct proc_ctx *x, char *dst, size_t capacity);
int proc_magic_follow(const struct proc_ctx *x, struct path *ret);
struct path proc_exe_target(const struct proc_ctx *x);
struct path proc_cwd_target(const struct proc_ctx *x);
struct path proc_root_target(const struct proc_ctx *x);
ssize_t proc_ns_readlink(const struct proc_ctx *x, char *dst, size_t capacity);
int proc_ns_follow(const struct proc_ctx *x, struct path *ret);
ssize_t proc_self_readlink(const struct proc_ctx *x, char *dst, size_t capacity);
ssize_t proc_thread_self_readlink(const struct proc_ctx *x, char *dst, size_t capacity);
ssize_t proc_mounts_readlink(const struct proc_ctx *x, char *dst, size_t capacity);
ssize_t proc_net_readlink(const struct proc_ctx *x, char *dst, size_t capacity);
PROC_SHOW(proc_fdinfo);

/* mounts.c */
PROC_SHOW(proc_pid_mounts);
PROC_SHOW(proc_pid_mountinfo);
PROC_SHOW(proc_pid_mountstats);
PROC_SHOW(proc_filesystems);

/* net.c */
PROC_SHOW(proc_net_tcp_file);
PROC_SHOW(proc_net_tcp6_file);
PROC_SHOW(proc_net_udp_file);
PROC_SHOW(proc_net_udp6_file);
PROC_SHOW(proc_net_raw_file);
PROC_SHOW(proc_net_unix_file);
PROC_SHOW(proc_net_dev_file);
PROC_SHOW(proc_net_route_file);
PROC_SHOW(proc_net_if_inet6_file);
PROC_SHOW(proc_net_arp_file);
PROC_SHOW(proc_net_snmp_file);
PROC_SHOW(proc_net_netstat_file);
PROC_SHOW(proc_net_sockstat_file);
PROC_SHOW(proc_net_sockstat6_file);
PROC_SHOW(proc_net_protocols_file);
PROC_SHOW(proc_net_netlink_file);
PROC_SHOW(proc_net_packet_file);
PROC_SHOW(proc_net_empty_file);

/* system.c */
PROC_SHOW(proc_meminfo);
PROC_SHOW(proc_stat);
PROC_SHOW(proc_loadavg);
PROC_SHOW(proc_uptime);
PROC_SHOW(proc_version);
PROC_SHOW(proc_vmstat);
PROC_SHOW(proc_swaps);
PROC_SHOW(proc_devices);
PROC_SHOW(proc_misc);
PROC_SHOW(proc_partitions);
PROC_SHOW(proc_cgroups);
PROC_SHOW(proc_interrupts);
PROC_SHOW(proc_cmdline);
PROC_SHOW(proc_locks);
PROC_SHOW(proc_empty);
PROC_SHOW(proc_sysvipc_shm);
PROC_SHOW(proc_sysvipc_sem);
PROC_SHOW(proc_sysvipc_msg);

/* cpuinfo.c */
PROC_SHOW(proc_cpuinfo);

/* sysctl.c: most values are constants of its own table */
PROC_SHOW(proc_sysctl);
PROC_SHOW(proc_hostname);
PROC_WRITE(proc_hostname_write);
PROC_SHOW(proc_domainname);
PROC_SHOW(proc_osrelease);
PROC_SHOW(proc_uts_version);
PROC_SHOW(proc_uuid);
PROC_SHOW(proc_boot_id);
PROC_SHOW(proc_file_nr);
PROC_SHOW(proc_threads_max);
