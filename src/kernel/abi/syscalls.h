/* Every handler of the system call table, declared. */
#pragma once

struct call;

#define SYSCALL(name, ...) long sys_##name(struct call *c);
#include "kernel/abi/syscalls.def"
#undef SYSCALL
