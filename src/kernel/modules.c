#include "kernel/modules.h"

#include <stddef.h>

#include "base/util.h"

/* Weak: a module that is not linked has nothing to start. */
#define MODULE(name) int name##_init(void) __attribute__((weak))

MODULE(host_ref);
MODULE(mm_names);
MODULE(treefs);
MODULE(pipe);
MODULE(epoll);
MODULE(inotify_state);
MODULE(signalfd);
MODULE(sysv);
MODULE(shm);
MODULE(tty);
MODULE(devfs);
MODULE(procfs);
MODULE(sysfs);
MODULE(locks);
MODULE(unix);
MODULE(inet);
MODULE(netlink);
MODULE(socket);
MODULE(passed);
MODULE(memfd);

int modules_init(void)
{
	int (*const table[])(void) = {
		host_ref_init, mm_names_init, treefs_init, pipe_init,	 epoll_init,
		inotify_state_init,  signalfd_init, sysv_init,   shm_init,	 tty_init,
		devfs_init,    procfs_init,   sysfs_init,  locks_init,	 unix_init,
		inet_init,     netlink_init,  socket_init, passed_init,	 memfd_init,
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int r = table[i] ? table[i]() : 0;
		if (r < 0)
			return r;
	}
	return 0;
}
