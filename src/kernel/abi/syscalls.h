/* The system call table as C: see syscalls.def. */
#pragma once

#include <stdint.h>

#include "kernel/core/call.h"

enum syscall_class { SYSCALL_NONE, SYSCALL_NATIVE, SYSCALL_CHECKED, SYSCALL_EMULATED, SYSCALL_REFUSED };

/*
 * Checks of the filter. For native calls, and execve: what passes is executed by the host. The last three are for
 * other classes, and say what the filter refuses itself, whatever the kernel process may want.
 */
enum syscall_check {
	CHECK_NONE,
	CHECK_ANY,	  /* every argument is fine */
	CHECK_MMAP,	  /* MAP_ANONYMOUS, or from the stub's text */
	CHECK_MADVISE,	  /* known, harmless advice */
	CHECK_FUTEX,	  /* no priority inheritance */
	CHECK_ARCH_PRCTL, /* segment bases and reading CPU features */
	CHECK_WAITID,	  /* not P_PIDFD */
	CHECK_EXECVE,	  /* of the stub, by its own name */
	CHECK_FILTER,	  /* refused: always, with the row's errno */
	CHECK_CLONE,	  /* refused: new namespaces */
	CHECK_SOCKET,	  /* refused: families that are not emulated */
};

struct syscall_row {
	const char *name;
	long (*handler)(struct call *c);
	uint8_t class; /* enum syscall_class */
	uint8_t check; /* enum syscall_check */
	uint16_t refuse_errno;
	const char *trace;
	const char *note;
};

#define SYSCALL_TABLE_SIZE 512
extern const struct syscall_row syscall_table[SYSCALL_TABLE_SIZE];

/* Some libcs make macros of the names with 64 in them; here they are just names. */
#undef pread64
#undef pwrite64
#undef prlimit64
#undef getdents64
#undef fadvise64

/* Handlers, by name. */
#define SYS_HANDLER_EMULATED(name) long sys_##name(struct call *c);
#define SYS_HANDLER_CHECKED(name) long sys_##name(struct call *c);
#define SYS_HANDLER_NATIVE(name)
#define SYS_HANDLER_REFUSED(name)
#define SYSCALL(name, number, class, handler, check, err, trace, note) SYS_HANDLER_##class(name)
#include "kernel/abi/syscalls.def"
#undef SYSCALL
long sys_mmap(struct call *c);
long sys_waitid(struct call *c);
