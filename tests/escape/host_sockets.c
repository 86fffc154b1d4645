/* also as root */
/* Sockets that would reach the host's network or its kernel. */
#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <time.h>

TEST(families_that_reach_the_kernel_do_not_exist)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, 10 };
	for (int family = 0; family < 64; family++) {
		if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
			continue;
		for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
			for (int protocol = 0; protocol < 4; protocol++)
				CHECK(socket(family, types[t], protocol) < 0);
	}
}

TEST(raw_sockets_are_refused)
{
	for (int protocol = 0; protocol < 256; protocol += protocol < 20 ? 1 : 59) {
		CHECK(socket(AF_INET, SOCK_RAW, protocol) < 0);
		CHECK(socket(AF_INET6, SOCK_RAW, protocol) < 0);
	}
	CHECK(socket(AF_INET, SOCK_PACKET, 0x0300) < 0);
}

TEST(netlink_beyond_route_does_not_exist)
{
	for (int protocol = 1; protocol < 32; protocol++)
		CHECK(socket(AF_NETLINK, SOCK_RAW, protocol) < 0);
}

static void check_refused_quickly(const char *address, int port, int want)
{
	struct timespec before, after;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	inet_pton(AF_INET, address, &to.sin_addr);
	int s = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(s >= 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK_ERRNO(connect(s, (struct sockaddr *)&to, sizeof(to)), want);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK(after.tv_sec - before.tv_sec < 60);
	close(s);
}

TEST(the_hosts_loopback_is_not_ours)
{
	check_refused_quickly("127.0.0.1", hint_number("VICTIM_PORT"), ECONNREFUSED);
	check_refused_quickly("127.0.0.1", 22, ECONNREFUSED);
}

TEST(the_outside_is_unreachable_at_once)
{
	check_refused_quickly("169.254.169.254", 80, ENETUNREACH);
	check_refused_quickly("10.0.0.1", 80, ENETUNREACH);
	check_refused_quickly("8.8.8.8", 53, ENETUNREACH);
}

static int connect_unix(int type, const char *name, size_t length)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, type, 0);
	CHECK(s >= 0);
	memcpy(to.sun_path, name, length);
	int r = connect(s, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	int saved = errno;
	close(s);
	errno = saved;
	return r;
}

TEST(abstract_names_of_the_host_are_not_ours)
{
	char name[108] = "";
	const char *victim = hint("VICTIM_ABSTRACT");
	memcpy(name + 1, victim, strlen(victim));
	for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++)
		CHECK_ERRNO(connect_unix(type, name, strlen(victim) + 1), ECONNREFUSED);
}

TEST(socket_files_of_the_host_are_not_ours)
{
	const char *victim = hint("VICTIM_SOCKET");
	CHECK_ERRNO(connect_unix(SOCK_STREAM, victim, strlen(victim) + 1), ENOENT);
	static const char *const others[] = { "/run/dbus/system_bus_socket", "/var/run/docker.sock", "/run/systemd/private", "/run/nscd/socket" };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(connect_unix(SOCK_STREAM, others[i], strlen(others[i]) + 1) < 0);
}

static struct sockaddr_un flipped;
static volatile bool flipping;

static void *flip_address(void *other)
{
	char first[108];
	memcpy(first, flipped.sun_path, sizeof(first));
	while (flipping) {
		memcpy(flipped.sun_path, other, 108);
		memcpy(flipped.sun_path, first, 108);
	}
	return NULL;
}

TEST(an_address_that_changes_during_connect)
{
	char other[108] = "";
	pthread_t thread;
	strncpy(other, hint("VICTIM_SOCKET"), sizeof(other) - 1);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	flipped.sun_family = AF_UNIX;
	strcpy(flipped.sun_path, "inside");
	CHECK_EQ(bind(listener, (struct sockaddr *)&flipped, sizeof(flipped)), 0);
	CHECK_EQ(listen(listener, 128), 0);
	flipping = true;
	CHECK_EQ(pthread_create(&thread, NULL, flip_address, other), 0);
	for (int i = 0; i < 2000; i++) {
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		int r = connect(s, (struct sockaddr *)&flipped, sizeof(flipped));
		if (r == 0)
			close(accept(listener, NULL, NULL));
		else
			CHECK(errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR || errno == EACCES);
		close(s);
	}
	flipping = false;
	pthread_join(thread, NULL);
	check_alive();
}

TEST(addresses_with_lying_lengths)
{
	char big[4096];
	memset(big, 'a', sizeof(big));
	big[0] = AF_UNIX;
	big[1] = 0;
	for (int family = 0; family < 3; family++) {
		int s = socket((int[]){ AF_UNIX, AF_INET, AF_INET6 }[family], SOCK_DGRAM, 0);
		for (long length = -1; length < 200; length++) {
			CHECK(connect(s, (struct sockaddr *)big, (socklen_t)length) < 0 || length <= 2 || family == 0);
			bind(s, (struct sockaddr *)big, (socklen_t)length);
			sendto(s, big, 1, 0, (struct sockaddr *)big, (socklen_t)length);
		}
		CHECK(bind(s, (struct sockaddr *)big, 0x7fffffff) < 0);
		CHECK(connect(s, (struct sockaddr *)-1, 16) < 0);
		close(s);
	}
	check_alive();
}

CHECK_MAIN()
