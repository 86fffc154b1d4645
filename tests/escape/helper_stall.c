/*
 * Calls that could keep the kernel process busy for long: each is prepared, then made, while a second thread makes a
 * cheap call over and over. Prints TAP and the longest time that the cheap call took. A kernel process serves one call
 * at a time, so what is measured is how long one of them may take: linear in what the sandbox's limits allow is fine,
 * more is not. The bound is far above what a good implementation needs and far below what a bad one takes.
 * helper_stall [NAME]
 */
/* cflags: -pthread */
#include "stall_events.h"
#include "stall_files.h"
#include "stall_ipc.h"
#include "stall_net.h"

/* ---- the attacks: prepare() may take its time, attack() is watched ---- */

static void prepare_exit_descriptors(void)
{
	if (!in_child())
		return;
	many_descriptors();
	child_ready();
}

static void prepare_exit_pages(void)
{
	/* Holes all over the kernel's memory, made when it ends: large and small pieces in turns. */
	if (!in_child())
		return;
	many_files();
	for (int i = 0; i < 4000; i++) {
		int p[2];
		if (pipe2(p, O_NONBLOCK) < 0)
			break;
		fcntl(p[1], F_SETPIPE_SZ, 1 << 17);
		if (write(p[1], block, i & 1 ? 4096 : 70000) < 0) { /* room for a word to the parent */
			close(p[0]);
			close(p[1] - 2);
			close(p[0] - 2);
			break;
		}
	}
	child_ready();
}

static void prepare_maps(void)
{
	for (int i = 0; i < 60000; i++)
		if (mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
}

static void attack_maps(void)
{
	static const char *const files[] = { "/proc/self/maps", "/proc/self/smaps", "/proc/self/status" };
	for (size_t f = 0; f < 3; f++) {
		int fd = open(files[f], O_RDONLY);
		for (int i = 0; i < 20; i++)
			IGNORE(read(fd, block, 1));
		while (f == 0 && read(fd, block, 65536) > 0)
			;
		close(fd);
	}
}

static void prepare_nothing(void)
{
}

static void run_with(const char *program, char **arguments)
{
	pid_t pid = fork();
	if (pid == 0) {
		execve(program, arguments, arguments);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void attack_arguments(void)
{
	static char *arguments[60000];
	static char text[] = "an argument of a program";
	for (int i = 0; i < 59999; i++)
		arguments[i] = text;
	for (int i = 0; i < 3; i++)
		run_with(i ? "./absent" : "/usr/bin/true", arguments);
	int fd = open("/proc/self/cmdline", O_RDONLY);
	close(fd);
}

static void attack_fork(void)
{
	/* Forks of a process with as many descriptors as it may have. */
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	syscall(SYS_close_range, 10, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
	syscall(SYS_close_range, 10, ~0u, 0);
}

static const struct {
	const char *name;
	void (*prepare)(void);
	void (*attack)(void);
} attacks[] = {
	{ "exit_with_many_descriptors", prepare_exit_descriptors, end_child },
	{ "exit_with_sockets_in_flight", prepare_exit_sockets, end_child },
	{ "exit_with_scattered_buffers", prepare_exit_pages, end_child },
	{ "exit_with_pending_connections", prepare_pending, end_child },
	{ "fork_with_many_descriptors", many_descriptors, attack_fork },
	{ "record_locks", prepare_locks, attack_locks },
	{ "read_zero", prepare_vectors, attack_read_zero },
	{ "read_random", prepare_vectors, attack_read_random },
	{ "read_sparse_file", prepare_sparse, attack_read_sparse },
	{ "copy_sparse_file", prepare_sparse, attack_copy_sparse },
	{ "write_file", prepare_vectors, attack_write_file },
	{ "fallocate", prepare_vectors, attack_fallocate },
	{ "directory_of_many_names", prepare_names, attack_getdents },
	{ "deep_directory", prepare_deep, attack_deep },
	{ "symbolic_links", prepare_links, attack_links },
	{ "poll_of_many", prepare_poll, attack_poll },
	{ "poll_of_many_by_many", prepare_poll_many, attack_poll_many },
	{ "epoll_items_of_one_file", prepare_epoll, attack_epoll },
	{ "epoll_nested", prepare_nest, attack_nest },
	{ "inotify_watches_of_one_file", prepare_inotify, attack_inotify },
	{ "multicast", prepare_multicast, attack_multicast },
	{ "ephemeral_ports", prepare_ports, attack_ports },
	{ "connections_of_one_port", prepare_listeners, attack_listeners },
	{ "abstract_names", prepare_names_unix, attack_names_unix },
	{ "credentials_of_single_bytes", prepare_marks, attack_marks },
	{ "messages", prepare_messages, attack_messages },
	{ "semaphores", prepare_sems, attack_sems },
	{ "shared_memory_attachments", prepare_attachments, attack_attachments },
	{ "maps", prepare_maps, attack_maps },
	{ "arguments", prepare_nothing, attack_arguments },
};

int main(int argc, char **argv)
{
	pthread_t thread;
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (argc > 1 && strcmp(argv[1], attacks[i].name) != 0)
			continue;
		if (argc == 1) {
			printf("%s\n", attacks[i].name);
			continue;
		}
		attacks[i].prepare();
		pthread_create(&thread, NULL, watch, NULL);
		usleep(10000);
		watching = true;
		uint64_t began = now_us();
		attacks[i].attack();
		getuid(); /* what the attack left to do comes first */
		uint64_t took = now_us() - began;
		watching = false;
		printf("%lu %lu\n", (unsigned long)longest_us, (unsigned long)took);
		fflush(stdout);
		_exit(0);
	}
	return argc > 1 ? 2 : 0;
}
