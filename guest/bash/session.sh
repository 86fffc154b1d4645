# The shell of the bash driver, prepared; sourced once, as the first line that it reads (driver.sh).
#
# One execution is one line (__hotcell_queue):
#
#   __hotcell_begin   reads requests until there is code, writes the next such line into the shell's
#                     own input, sends `count`
#   eval              the code (step.sh)
#   __hotcell_end     sends error and `done`
#
# An interrupt makes the shell drop the line, and read the next: __hotcell_begin then finds an execution
# that has not ended. Outside of the code SIGINT is ignored, so that no frame is cut. The code's traps
# for it, for errors and for every command are kept in a variable meanwhile. Their text gets there through
# a pipe: nothing else holds it without a process. It is not the shell's input, which a process that the
# shell was just making may read, too (__hotcell_own). And as functions do not see all traps, the line
# must write it. An interrupt, which drops the line only as long as there is no trap for it, leaves no text
# behind: SIGINT's trap is written first, and alone.
#
# The code shares the shell: it may have set any option, IFS, aliases, traps. Hence the names, `\builtin`
# (no alias, no function), that nothing here fails but where set -e does not look, and that the line's
# own standard output is silent: a trap for every command is run for its commands, too.

__hotcell_step=${BASH_SOURCE[0]%/*}/step.sh
__hotcell_id=
__hotcell_code=
__hotcell_traps= # the code's, as commands
__hotcell_count=0
__hotcell_status=0
declare -A __hotcell_before=() # variables of `with`: "" was not set; "=VALUE", "x=VALUE" when exported

# __hotcell_queue ID: the line that the shell reads next. The ID is for driver.sh, if there is no next.
# One line it must be: an interrupt drops no more than that.
__hotcell_line="{ \\builtin trap '' INT; \\builtin trap -p ERR DEBUG >&54; \\builtin trap - ERR DEBUG; } >&2; "
__hotcell_line+="\\builtin . ${__hotcell_step@Q}; { __hotcell_status=\$?; \\builtin trap -p INT >&54; "
__hotcell_line+="\\builtin trap '' INT; \\builtin trap -p ERR DEBUG >&54; \\builtin trap - ERR DEBUG; __hotcell_end; } >&2"
__hotcell_queue() {
	\builtin printf '__hotcell_own %d; %s\n' "$1" "$__hotcell_line" >&0
}

# A process that the shell is just making, and that an interrupt hits too early, unwinds as the shell
# does, and comes to read the shell's input. It gives back what it has read, and goes.
__hotcell_own() {
	if [[ $BASHPID != "$$" ]]; then
		__hotcell_queue "$1"
		\builtin kill -9 "$BASHPID"
	fi
}

# What traps the line has written, if any. $1: the next line has been written, too, and is to be another.
__hotcell_keep_traps() {
	local TMOUT __hotcell_next
	[[ $1 ]] && IFS= \builtin read -r __hotcell_next
	\builtin printf '\0' >&54
	IFS= \builtin read -r -u 54 -d '' __hotcell_traps
}

# __hotcell_read SIZE: the content of a frame, in __hotcell_text. Zero bytes cannot be in a variable:
# they are counted, and dropped.
__hotcell_read() {
	local LC_ALL=C TMOUT __hotcell_left=$1 __hotcell_piece
	__hotcell_text=
	while ((__hotcell_left > 0)); do
		IFS= \builtin read -r -u 50 -d '' -n "$__hotcell_left" __hotcell_piece || return 1
		__hotcell_text+=$__hotcell_piece
		((__hotcell_left -= ${#__hotcell_piece} + (${#__hotcell_piece} < __hotcell_left))) || :
	done
}

# The same for code. Bash reads pipes byte by byte; what is long is left to a program.
__hotcell_read_code() {
	if (($1 < 2048)) || ! \builtin type -P head >/dev/null; then
		__hotcell_read "$1"
		return
	fi
	__hotcell_text=$(\builtin command head -c "$1" <&50; \builtin printf .)
	__hotcell_text=${__hotcell_text%.}
}

# The next request's header.
__hotcell_read_header() {
	local TMOUT
	IFS=' ' \builtin read -r -u 50 __hotcell_name __hotcell_argument __hotcell_size
}

# __hotcell_set KEY=VALUE: exported. Names that bash cannot have are left out.
__hotcell_set() {
	[[ $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]] && \builtin declare -gx "$1"
}

# The same for one execution: what was before is noted.
__hotcell_set_once() {
	\builtin set -- "$1" "${1%%=*}" ''
	if [[ $2 =~ ^[A-Za-z_][A-Za-z0-9_]*$ && ! -v __hotcell_before[$2] ]]; then
		__hotcell_before[$2]=
		if [[ -v $2 ]]; then
			[[ ${!2@a} == *x* ]] && \builtin set -- "$1" "$2" x
			__hotcell_before[$2]=$3=${!2}
		fi
	fi
	__hotcell_set "$1"
}

__hotcell_restore() {
	\builtin set -- "${!__hotcell_before[@]}"
	while (($#)); do
		case ${__hotcell_before[$1]} in
		'') \builtin unset -v "$1" ;;
		=*) \builtin declare -g +x "$1${__hotcell_before[$1]}" ;;
		x=*) \builtin declare -gx "$1${__hotcell_before[$1]#x}" ;;
		esac
		\builtin shift
	done
	__hotcell_before=()
}

# __hotcell_error NAME VALUE
__hotcell_error() {
	local LC_ALL=C
	\builtin printf 'error - 0\npart name %d\n%spart value %d\n%spart traceback 0\nclose - 0\n' \
		${#1} "$1" ${#2} "$2" >&51
}

__hotcell_done() {
	__hotcell_restore
	\builtin printf 'done %s 0\n' "$__hotcell_id" >&51
	__hotcell_id=
}

__hotcell_start() {
	__hotcell_id=$1
	__hotcell_code=$__hotcell_text
	((++__hotcell_count))
	__hotcell_queue "$1"
	# In this order: an interrupt may come as soon as `count` has been read, and must not be lost.
	\builtin trap - INT
	\builtin printf 'count %d 0\n' "$__hotcell_count" >&51
}

# True when there is code. Ends the shell when there are no more requests.
__hotcell_begin() {
	local __hotcell_name __hotcell_argument __hotcell_size __hotcell_text
	if [[ $__hotcell_id ]]; then
		__hotcell_keep_traps ''
		__hotcell_error KeyboardInterrupt 'The execution was interrupted.'
		__hotcell_done
	fi
	while __hotcell_read_header; do
		case $__hotcell_name in
		execute)
			__hotcell_read_code "$__hotcell_size" || \builtin exit 1
			__hotcell_start "$__hotcell_argument"
			return 0
			;;
		*) __hotcell_read "$__hotcell_size" || \builtin exit 1 ;;&
		env) __hotcell_set "$__hotcell_text" ;;
		with) __hotcell_set_once "$__hotcell_text" ;;
		esac
	done
	\builtin exit 0
}

__hotcell_end() {
	__hotcell_keep_traps next || :
	__hotcell_queue 0
	[[ $__hotcell_status == 0 ]] || __hotcell_error ExitStatus "$__hotcell_status"
	__hotcell_done
}

# What people have in their shells: aliases, functions, PATH. Without its prompt.
if [[ -r ~/.bashrc ]]; then
	. ~/.bashrc </dev/null >/dev/null 2>&1 50<&- 51>&- 52>&- 53>&- 54>&-
fi
unset HISTFILE PROMPT_COMMAND
PS1= PS2=
set +o history
shopt -s execfail
trap '' INT
printf 'ready - 0\n' >&51
__hotcell_queue 0
