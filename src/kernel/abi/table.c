/* The system call table, built from syscalls.def. */
#include <errno.h>
#include <stddef.h>

#include "kernel/abi/syscalls.h"

#define SYSCALL(call_name, number, class_name, fn, check_name, err, trace_words, text)              \
	[number] = { .name = #call_name,                                                           \
		     .handler = fn,                                                                \
		     .class = SYSCALL_##class_name,                                                \
		     .check = check_name,                                                          \
		     .refuse_errno = err,                                                          \
		     .trace = trace_words,                                                         \
		     .note = text },

const struct syscall_row syscall_table[SYSCALL_TABLE_SIZE] = {
#include "kernel/abi/syscalls.def"
};
