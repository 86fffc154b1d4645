__hotcell_begin && \builtin eval "\\builtin eval \"\$__hotcell_traps\"; $__hotcell_code" </dev/null >&52 2>&53 50<&- 51>&- 52>&- 53>&- 54>&-
# Sourced for each execution (session.sh). The code must be evaluated here and not in a function, where
# its declarations would be local, and in the first line, to which bash adds the lines of the code
# in messages. What ends the file early, `return` or an interrupt, leaves the rest to the line behind it.
