/* The kernel process's own system call list. */
#pragma once

/* The address sanitizer's runtime is not ours; a build with it is for tests, not for guests. */
#if defined(__SANITIZE_ADDRESS__)
#define JAIL_INSTRUMENTED 1
#else
#define JAIL_INSTRUMENTED 0
#endif

int jail_filter_install(void); /* 0 or -errno */
