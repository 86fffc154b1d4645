/* The first line of a script, as execve(2) reads it. */
#pragma once

struct file;

#define SCRIPT_LINE_MAX 256

/*
 * "#! interpreter [argument]": 1 = a script, its line cut into parts that point into `line` (no
 * argument: NULL); 0 = no script; -ENOEXEC without an interpreter, or the error of reading.
 */
int script_parse(struct file *f, char line[SCRIPT_LINE_MAX + 1], char **ret_interp, char **ret_arg);
