#!/bin/sh
# Sums up the counters of a coverage build: a line per source file, into BUILD/coverage.txt.
set -eu
build=${1:-build-coverage}
cd "$build"
find . -name '*.gcda' ! -path './tests/*' -print0 | xargs -0 gcov -n -r -s "$(cd .. && pwd)" 2>/dev/null |
	awk -v RS= '
		/^File .src|^File .\.\.\/src/ {
			match($0, /File .[^\n]*/)
			file = substr($0, RSTART + 6, RLENGTH - 7)
			sub(/^\.\.\//, "", file)
			if (file ~ /_test\.c$/ || !match($0, /executed:[0-9.]+% of [0-9]+/)) next
			split(substr($0, RSTART + 9, RLENGTH - 9), part, "% of ")
			if (!(file in lines) || part[1] > share[file]) { share[file] = part[1]; lines[file] = part[2] }
		}
		END {
			for (file in lines) {
				printf "%6.2f%% of %5d  %s\n", share[file], lines[file], file
				all += lines[file]; hit += lines[file] * share[file] / 100
			}
			if (all) printf "%6.2f%% of %5d  total\n", 100 * hit / all, all
		}' | sort -k4 >coverage.txt
tail -n 1 coverage.txt | grep -q total || true
grep total coverage.txt
echo "by file: $build/coverage.txt"
