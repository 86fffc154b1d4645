/* Symbolic names of error and signal numbers (x86-64 Linux); not every libc has them. */
#pragma once

const char *errno_name(int error);     /* "ENOENT"; "E?" when unknown */
const char *signal_short_name(int sig); /* "TERM"; NULL when unknown */
