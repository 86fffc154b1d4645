# timeout: 60
export TERM=xterm SHELL=/bin/bash
wait_for() { for _ in $(seq 2000); do eval "$1" && return 0; sleep 0.05; done; echo "never: $1"; return 1; }
## tmux
# needs: tmux
t() { tmux -S $PWD/s -f /dev/null "$@"; }
shown() { t capture-pane -p -t "${1:-0}" | grep -v '^$'; }
t new-session -d -x 80 -y 24 'PS1="$ " bash --norc --noprofile'; wait_for 'shown | grep -q "^\\$"'; t send-keys 'echo typed $((2+3))' Enter; wait_for 'shown | grep -q "^typed 5"'; shown | grep '^typed'; t send-keys 'stty size; tty | cut -c1-9' Enter; wait_for 'shown | grep -q ^/dev'; shown | grep -E '^[0-9]|^/dev'; t send-keys 'sh -c "echo fo""re; exec sleep 5000"' Enter; wait_for 'shown | grep -q ^fore'; t send-keys C-c; sleep 0.2; t send-keys 'echo rc $?' Enter; wait_for 'shown | grep -q "^rc"'; shown | grep '^rc'; t split-window -h 'PS1="% " bash --norc --noprofile'; t list-panes | wc -l; t display -p '#{pane_width} #{window_panes} #{session_name}'; wait_for 'shown 0.1 | grep -q "^%"'; t send-keys 'cat' Enter; wait_for 'shown 0.1 | grep -q "^% cat"'; sleep 0.2; t send-keys hello Enter; wait_for '[ $(shown 0.1 | grep -c "^hello") = 2 ]'; t send-keys C-d; wait_for '[ "$(shown 0.1 | tail -1)" = "%" ]'; shown 0.1 | tail -3; t resize-pane -x 20; t new-window -n second top; sleep 0.5; t list-windows -F '#{window_index} #{window_name}'; shown | grep -c PID; t send-keys q; t set-buffer pasted; t show-buffer; t send-keys -t 0.0 'sleep 50' Enter; sleep 0.2; t send-keys -t 0.0 C-z; wait_for 'shown 0.0 | grep -q Stopped'; t send-keys -t 0.0 'clear; jobs; kill %1; fg' Enter; sleep 0.4; shown 0.0 | grep -c Stopped; t kill-server; echo $?; sleep 0.2; t ls 2>/dev/null; echo $?
## vim
# needs: vim tmux
t() { tmux -S $PWD/s -f /dev/null "$@"; }
printf 'one\ntwo\nthree\n' > f; vim -u NONE -es -c '%s/two/2/' -c 'wq' f; cat f; vim -u NONE -es -c 'normal ggdd' -c 'r !echo shell' -c 'w g' -c 'q!' f; cat g
t new-session -d -x 60 -y 10 "vim -u NONE -N f"; wait_for 't capture-pane -p | grep -q three'; t send-keys 'GoTYPED in vim' Escape; t send-keys 'gg0iX' Escape ':set number' Enter; sleep 0.3; t capture-pane -p | head -4; t send-keys ':!echo from shell' Enter; wait_for 't capture-pane -p | grep -q "Press ENTER"'; t capture-pane -p | grep -c '^from shell'; t send-keys Enter ':w' Enter ':split' Enter; sleep 0.3; t send-keys ':qa' Enter; wait_for '! t ls 2>/dev/null >&2'; cat f; ls -a | grep -c swp
## script and terminal modes
# needs: script
script -qec 'tty > /dev/null && echo is terminal; stty -a | grep -o "isig icanon"; stty size' /dev/null < /dev/null | tr -d '\r' | grep -v '^$' | head -2; script -qec 'exit 5' /dev/null < /dev/null; echo $?; (sleep 0.3; echo input; sleep 0.2) | script -qec 'read x; echo "<$x>"' /dev/null | tr -d '\r'; script -qec 'stty -echo; stty -a | grep -o -- -echo\ ' /dev/null </dev/null | tr -d '\r'; script -qec 'bash -c "trap \"echo winch\" WINCH; stty rows 40 cols 100; stty size; :"' /dev/null </dev/null | tr -d '\r' | sort; script -qec 'setsid sh -c "tty; echo \$?" < /dev/null' /dev/null </dev/null | tr -d '\r'; script -qec 'ps -o stat= -p $$ | grep -c +' /dev/null </dev/null | tr -d '\r'
## interactive bash
# needs: script
printf 'echo one\nsleep 20 &\njobs\nkill %%1\nwait\nfalse\necho $?\nexit 3\n' | PS1= script -qec 'bash --norc --noprofile -i' /dev/null | tr -d '\r' | grep -E '^(one|0|1|\[1\]\+ )' | sed 's/\[1\] [0-9]*/[1] N/'; echo ${PIPESTATUS[1]}
