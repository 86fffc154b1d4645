/* The kernel process's own system call list. */
#pragma once

int jail_filter_install(void); /* 0 or -errno */
