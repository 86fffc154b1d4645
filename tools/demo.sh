#!/bin/sh
# The demonstration of `make run`: a small program that looks around in its sandbox.
set -eu
hotcell=${1:-build/hotcell}
echo "\$ $hotcell run --summary -- python3 docs/demo.py"
exec "$hotcell" run --summary -- python3 docs/demo.py
