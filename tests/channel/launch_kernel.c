/*
 * launch-kernel DIRECTORY: starts DIRECTORY/hotcell-kernel as the command would, and gives its end
 * of the control channel to the socket on descriptor 3. Ends with the kernel process, which dies
 * with it.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "launch/identity.h"
#include "launch/launch.h"

static int give_away(int fd, int pid)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { &pid, sizeof(pid) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(int));
	return sendmsg(3, &msg, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	static char kernel[4096], stub[4096];
	const struct cgroup no_group = { .count = 0 };
	struct launched l;
	struct error err;
	int status;

	if (argc != 2)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(kernel, sizeof(kernel), "%s/hotcell-kernel", argv[1]);
	snprintf(stub, sizeof(stub), "%s/hotcell-stub", argv[1]);
	struct launch_options options = { .kernel_path = kernel, .stub_path = stub };
	identity_choose(&options.uid, &options.gid);
	if (launch(&options, &l, &err) < 0 || launch_release(&l, &no_group, &err) < 0 ||
	    launch_check(&l, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	if (give_away(l.control_fd, l.pid) < 0)
		return 1;
	close(l.control_fd);
	close(3);
	if (waitpid(l.pid, &status, 0) != l.pid)
		return 1;
	if (WIFSIGNALED(status))
		fprintf(stderr, "the kernel process was ended by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
