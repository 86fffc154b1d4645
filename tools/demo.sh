#!/bin/sh
# The demonstration of `make run`: a small program that looks around in its sandbox.
set -eu
hotcell=${1:-build/hotcell}
echo "\$ $hotcell run --summary -- python3 docs/demo.py"
"$hotcell" run --summary -- python3 docs/demo.py
echo
echo "For programs that use the E2B SDKs: $hotcell serve (README.md has an example)"
