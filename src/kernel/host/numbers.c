/*
 * Linux 6.11 translates numbers between pid namespaces; asked about what every new task needs, that
 * takes a microsecond. Older hosts tell it in /proc/TID/status, among much else, in fifteen.
 */
#include "kernel/host/numbers.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kernel/host/nsfs.h"
#include "kernel/host/proc.h"

static int own = -EBADF, guests = -EBADF;

static int translate(int ns, bool group, int host_tid)
{
	int r = group ? ioctl(ns, NS_GET_TGID_IN_PIDNS, host_tid) :
			ioctl(ns, NS_GET_PID_IN_PIDNS, host_tid);
	return r < 0 ? -errno : r;
}

void host_numbers_init(int first_host_pid)
{
	own = host_proc_open_namespace(0, "ns/pid");
	guests = host_proc_open_namespace(first_host_pid, "ns/pid");
	if (guests >= 0 && translate(guests, false, first_host_pid) == 1)
		return;
	if (own >= 0)
		close(own);
	own = -EBADF;
}

static int from_status(int host_tid, struct host_numbers *ret)
{
	int host_ppid;
	return host_proc_ids(host_tid, &ret->host_pid, &host_ppid, &ret->tid, &ret->pid);
}

/* host-syscalls: ioctl */
int host_numbers(int host_tid, struct host_numbers *ret)
{
	if (own < 0)
		return from_status(host_tid, ret);
	int host_pid = translate(own, true, host_tid);
	int tid = translate(guests, false, host_tid);
	int pid = translate(guests, true, host_tid);
	if (host_pid <= 0 || tid <= 0 || pid <= 0)
		return -ESRCH;
	*ret = (struct host_numbers){ host_pid, tid, pid };
	return 0;
}
