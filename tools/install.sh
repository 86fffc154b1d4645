#!/bin/sh
# Installs the Debian packages that Hotcell needs, each with its reason. Does nothing, and says
# nothing, when all are there. No service is started by it.
#
#   tools/install.sh build    what is needed to build and run (make, make run)
#   tools/install.sh test     that and everything that the tests run (make check, make bench)
set -eu

build_packages() {
	cat <<-'LIST'
	gcc              compiles everything
	musl-tools       the libc of kernel and command: they start in a tenth of a millisecond
	libc6-dev        C library headers, and the static library for the command
	make             entry points: make, make run, make check
	meson            the build itself
	ninja-build      runs the build
	pkgconf          tells the build where the libraries are
	libuv1-dev       the server's loop: sockets, timers, signals
	libssl-dev       TLS of server and client, and hashes
	libnghttp2-dev   the server's HTTP/2: frames, header compression, flow control
	libjansson-dev   server and client read and write JSON
	libsqlite3-dev   the server's records outlive it
	libedit-dev      hotcell code edits lines of a terminal
	zlib1g-dev       uploads that clients have compressed
	python3          the demonstration of make run; the test runner
	python3-ipython  the Python of the code interpreter: state, magics, rich display
	python3-matplotlib-inline  its figures, as images among the results
	LIST
}

test_packages() {
	cat <<-'LIST'
	bash                     scripts with pipes, traps, job control
	busybox-static           the smallest static system, first thing to run
	coreutils                the everyday commands
	findutils                find, xargs
	grep                     everyday command
	sed                      everyday command
	gawk                     awk programs
	tar                      archives
	gzip                     archives
	bzip2                    archives
	xz-utils                 archives
	zstd                     archives, with threads
	diffutils                diff, cmp
	patch                    applies what diff made
	procps                   ps, top, free read /proc
	file                     reads magic numbers through mmap
	less                     a pager on a terminal
	git                      version control: many small files, hard links, renames
	python3-venv             virtual environments
	python3-numpy            number crunching, threads of OpenBLAS
	python3-pandas           tables
	python3-matplotlib       writes a PNG
	python3-seaborn          its figures' data in the code interpreter
	python3-pil              images as results of the code interpreter
	libpython3.11-testsuite  CPython's own regression tests
	g++                      compiles and runs C++
	perl                     scripts
	ruby                     scripts
	default-jdk-headless     compiles and runs Java: many threads, large reservations; JShell for the code interpreter
	r-base-core              R for the code interpreter
	python3-jupyter-client   the code interpreter's bridge to Jupyter kernels
	python3-ipykernel        a Jupyter kernel for that
	xpython                  a second one, that shares no code with it
	redis-server             a server with persistence by fork
	redis-tools              its client
	postgresql               a server with many processes and shared memory
	nginx-light              a web server with workers
	openssl                  makes certificates for the server's tests
	curl                     its client, on loopback; HTTP/2 against the server
	nghttp2-client           a second HTTP/2 client, and load on the server
	sqlite3                  a database with file locks
	tmux                     terminals in a terminal
	vim                      a full-screen program
	sudo                     a set-uid program
	iproute2                 network listing by netlink
	strace                   shows what a test that differs does
	bubblewrap               comparison in the benchmark
	runsc                    comparison in the benchmark
	util-linux               script, flock and friends
	clang                    second compiler, for the lint
	clang-14                 builds the fuzz targets
	libclang-rt-14-dev       libFuzzer and the sanitizers of clang
	LIST
	# An installed Node.js is used as it is.
	if ! command -v node >/dev/null 2>&1; then
		cat <<-'LIST'
		nodejs                   JavaScript programs, worker threads, file watches; JavaScript of the code interpreter
		LIST
	fi
	if ! command -v npm >/dev/null 2>&1; then
		cat <<-'LIST'
		npm                      runs package scripts; installs SDKs for the tests, and what JavaScript of the code interpreter needs
		LIST
	fi
}

# Names of a list that dpkg does not know as installed; asked once, because dpkg-query is slow.
missing() {
	names=$(awk '{ print $1 }')
	# shellcheck disable=SC2086 -- a list of words is meant
	installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $names 2>/dev/null |
		awk '$2 == "installed" { print $1 }')
	for name in $names; do
		case "
$installed
" in
		*"
$name
"*) ;;
		*) printf '%s\n' "$name" ;;
		esac
	done
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		echo "install.sh: these packages are missing, and there is neither root nor sudo: $list" >&2
		exit 1
	fi
}

# Debian's own way to say "install, but start nothing".
forbid_services() {
	[ -e /usr/sbin/policy-rc.d ] && return
	printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
	as_root chmod 755 /usr/sbin/policy-rc.d
	trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
}

case "${1:-build}" in
build) list=$(build_packages | missing | tr '\n' ' ') ;;
test) list=$({ build_packages; test_packages; } | missing | tr '\n' ' ') ;;
*)
	echo "usage: tools/install.sh build|test" >&2
	exit 2
	;;
esac

[ -n "${list% }" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	echo "install.sh: not a Debian system; please install: $list" >&2
	exit 1
fi
echo "installing: $list"
forbid_services
export DEBIAN_FRONTEND=noninteractive
as_root apt-get update -qq
# shellcheck disable=SC2086 -- a list of words is meant
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $list
