/*
 * Functions that have a better replacement become errors; tools/lint compiles every source with
 * this header in front. The standard headers come first because they declare what is banned.
 */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Function-like macros: a member called ctime stays what it is. */

/* No bound. */
#undef strcpy
#define strcpy(...) strcpy_is_banned
#undef strcat
#define strcat(...) strcat_is_banned
#undef sprintf
#define sprintf(...) sprintf_is_banned
#undef vsprintf
#define vsprintf(...) vsprintf_is_banned
#undef gets
#define gets(...) gets_is_banned

/* Hidden state, or silent cutting. */
#undef strtok
#define strtok(...) strtok_is_banned
#undef strncpy
#define strncpy(...) strncpy_is_banned
#undef strncat
#define strncat(...) strncat_is_banned
#undef asctime
#define asctime(...) asctime_is_banned
#undef ctime
#define ctime(...) ctime_is_banned
#undef gmtime
#define gmtime(...) gmtime_is_banned
#undef localtime
#define localtime(...) localtime_is_banned
#undef tmpnam
#define tmpnam(...) tmpnam_is_banned
#undef mktemp
#define mktemp(...) mktemp_is_banned

/* No error report. */
#undef atoi
#define atoi(...) atoi_is_banned
#undef atol
#define atol(...) atol_is_banned
#undef atoll
#define atoll(...) atoll_is_banned
#undef atof
#define atof(...) atof_is_banned

/* Surprises with stack, signals and shells. */
#undef alloca
#define alloca(...) alloca_is_banned
#undef longjmp
#define longjmp(...) longjmp_is_banned
#undef system
#define system(...) system_is_banned
#undef popen
#define popen(...) popen_is_banned
