/* What the files of execve share: an exec from its call until the new image runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/stub.h"
#include "kernel/task/elf.h"
#include "kernel/task/life.h"

struct exec {
	struct task *by; /* the thread that prepared; NULL when it is gone */
	struct file *program, *interp;
	struct elf_image image, interp_image;
	struct cred *cred; /* of the new image */
	bool secure;
	uint32_t insert_count;
	uint32_t strings_size;
	char comm[TASK_COMM_LEN];
	/* AT_EXECFN, then the strings that replace argv[0] of a script. */
	char strings[STUB_STRINGS_MAX];
};

void exec_free(struct exec *e);
/* Opens a program for the kernel's own reading, after the checks of execve. */
int exec_open(struct call *c, int dirfd, const char *name, unsigned flags, struct file **ret);

/* exec_script.c: sets AT_EXECFN, the first of the strings. */
int exec_set_name(struct exec *e, const char *name);
/* Follows scripts until there is an image. `name` is the path as AT_EXECFN shows it. */
int exec_follow_scripts(struct call *c, struct exec *e, const char *name);
