/*
 * The contract between the application kernel and hotcell-stub, its only executable in the host
 * root of a guest. Included by both, freestanding: nothing but fixed-width types.
 *
 * The stub talks through one system call number that no Linux uses; the first argument is the
 * operation. Addresses of the stub image are fixed so that the seccomp filter can tell its text:
 * a few calls that take descriptors (close, mmap of an injected file) are native only from there.
 */
#pragma once

#include <stdint.h>

#define STUB_BASE 0x7a0000000000ull
#define STUB_SIZE 0x10000ull /* image with stack and buffers */
#define STUB_TEXT STUB_BASE
#define STUB_TEXT_SIZE 0x2000ull
#define STUB_CALL_NR 20000

/* A system call instruction at the very start of the text, for calls that the kernel process has a
 * thread make (ptrace) and that are native only from the stub. */
#define STUB_CALL_SITE STUB_TEXT

/*
 * The paths that every execve of the sandbox is turned to, at the start of the read-only data. Two
 * names of one file, used in turn: the name in /proc/PID/exe changes when an exec succeeded, and
 * nothing else that a guest does changes it.
 */
#define STUB_PATH_ADDR (STUB_BASE + STUB_TEXT_SIZE)
#define STUB_PATH_SIZE 4

enum stub_op {
	/* (plan*): first call after exec. STUB_BE_INIT (pid 1), or the last descriptor's number: load
	 * the plan. */
	STUB_PLAN = 1,
	/* pid 1: waits for an order. (order*): 0. */
	STUB_WAIT_ORDER = 2,
	/* child of pid 1: fetches its program. (buffer, size): address of struct stub_program. */
	STUB_FETCH = 3,
	/* pid 1: child `pid` ended with wait status `status`. */
	STUB_REAPED = 4,
	/* child of pid 1: execve failed with errno; the child exits after. */
	STUB_EXEC_FAILED = 5,
};

#define STUB_BE_INIT 1000

enum stub_order { STUB_ORDER_SPAWN = 1, STUB_ORDER_REAP = 2 };

struct stub_wait {
	uint64_t order;
	uint64_t size; /* SPAWN: bytes of the buffer to fetch into */
	uint64_t id;   /* SPAWN: passed back in STUB_FETCH */
};

/* At the start of the fetched buffer; pointers are guest addresses into the buffer. */
struct stub_program {
	uint64_t path, argv, envp;
};

struct stub_segment {
	uint64_t address;   /* page-aligned, final */
	uint64_t length;    /* bytes to map, page-aligned */
	uint64_t offset;    /* in the file, page-aligned */
	uint64_t zero_from; /* address where file data ends and zeroes begin; 0 = nowhere */
	uint64_t zero_to;
	uint32_t prot;
	int32_t fd; /* -1 = anonymous */
};

#define STUB_SEGMENTS_MAX 32
#define STUB_STRINGS_MAX 4096
#define STUB_INSERT_MAX 12

/* What the stub has to do to become the program. */
struct stub_plan {
	/* in: where the new stack begins (argc) */
	uint64_t stack;
	/* out */
	uint64_t entry; /* first instruction: of the interpreter if there is one */
	uint64_t at_phdr, at_phent, at_phnum, at_base, at_entry;
	uint64_t at_uid, at_euid, at_gid, at_egid, at_secure;
	uint32_t segment_count;
	uint32_t fd_count; /* injected descriptors 0..fd_count-1, to close */
	uint32_t stack_prot; /* 0 or PROT_EXEC added */
	/* Scripts: argv[0] is replaced by `insert_count` strings, back to back in `strings`. The name
	 * for AT_EXECFN comes first in `strings` always. */
	uint32_t insert_count;
	uint32_t strings_size;
	uint32_t forget_death_signal; /* a set-id program must not be killed by who started it */
	struct stub_segment segments[STUB_SEGMENTS_MAX];
	char comm[16];
	char strings[STUB_STRINGS_MAX];
};
