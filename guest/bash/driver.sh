#!/bin/bash
# The bash driver of the code interpreter (docs/interpreter.md): what is started. It keeps the shell
# that runs the code, and outlives it.
#
#   driver.sh ──── starts, waits ────► bash -i: session.sh once, then for each execution step.sh
#       │                                  │  ▲
#       └──── descriptor 0, a pipe ◄───────┘  └── the lines of that pipe are what the shell reads
#
# The shell is an interactive one (aliases, ~/.bashrc, a failed expansion ends a line and not the shell,
# an interrupt ends what runs and not the shell), fed by a pipe that it fills itself: when it begins an
# execution it writes the line that it will read behind it. So whatever way the code ends, by itself, by
# an interrupt that unwinds the shell, there is a next line.
#
# Code may end the shell (exit, set -e, exec, kill). The line is then still in the pipe, with the number
# of the execution: this script ends that execution with the shell's status, and itself. A new driver
# is a new context.
#
# Descriptors: 50 requests, 51 events, 52 and 53 the execution's output and errors, 54 a pipe in which the
# shell keeps text for a moment (as processes that it makes may come to read its input); code has none of
# them. Low numbers are left to the code: what it opens as 3 is there in the next execution. The shell's
# own standard error goes nowhere: it is where an interactive shell prompts, and tells of jobs.

exec 50<&3 51>&4 52>&1 53>&2 3<&- 4>&- 2>/dev/null

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
	text="bash $BASH_VERSION is too old: install bash 4.4 or newer"
	printf 'failed - %d\n%s' ${#text} "$text" >&51
	exit 1
fi

here=${BASH_SOURCE[0]%/*}
exec 0<> <(:) 54<> <(:)
printf '. %q\n' "$here/session.sh" >&0
trap : INT # what is started gets the default action back; ignored would stay ignored
SHLVL=0 HISTFILE='' bash --noprofile --norc --noediting +o history -O execfail -i
status=$?

# What the shell would have read next has "__hotcell_own ID", 0 between executions. There may be nothing:
# hence a zero byte, as the end.
printf '\0' >&0
IFS= read -r -d '' lines
[[ $lines =~ __hotcell_own\ ([1-9][0-9]*) ]] || exit 0
id=${BASH_REMATCH[1]}
if ((status)); then
	LC_ALL=C
	text="The shell has ended with status $status. The next execution starts a new one."
	printf 'error - 0\npart name 10\nExitStatuspart value %d\n%spart traceback %d\n%sclose - 0\n' \
		${#status} "$status" ${#text} "$text" >&51
fi
printf 'done %s 0\n' "$id" >&51
