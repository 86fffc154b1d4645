/* What a program learns about interfaces: ioctls, getifaddrs, netlink, getaddrinfo. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "check.h"

TEST(loopback_by_ioctl)
{
	struct ifreq r = { .ifr_name = "lo" };
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK_EQ(ioctl(s, SIOCGIFFLAGS, &r), 0);
	CHECK((r.ifr_flags & (IFF_UP | IFF_LOOPBACK | IFF_RUNNING)) ==
	      (IFF_UP | IFF_LOOPBACK | IFF_RUNNING));
	CHECK_EQ(ioctl(s, SIOCGIFADDR, &r), 0);
	CHECK_EQ(((struct sockaddr_in *)&r.ifr_addr)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	CHECK_EQ(ioctl(s, SIOCGIFMTU, &r), 0);
	CHECK(r.ifr_mtu >= 1500);
	CHECK_EQ(ioctl(s, SIOCGIFINDEX, &r), 0);
	CHECK_EQ(r.ifr_ifindex, 1);
	memset(r.ifr_name, 0, sizeof(r.ifr_name));
	CHECK_EQ(ioctl(s, SIOCGIFNAME, &r), 0);
	CHECK_STR(r.ifr_name, "lo");
	strcpy(r.ifr_name, "nosuch0");
	CHECK_ERRNO(ioctl(s, SIOCGIFFLAGS, &r), ENODEV);
	char buf[4096];
	struct ifconf conf = { .ifc_len = sizeof(buf), .ifc_buf = buf };
	CHECK_EQ(ioctl(s, SIOCGIFCONF, &conf), 0);
	CHECK(conf.ifc_len >= (int)sizeof(struct ifreq));
	CHECK_EQ(if_nametoindex("lo"), 1);
}

TEST(getifaddrs_sees_loopback)
{
	struct ifaddrs *list, *i;
	int v4 = 0, link = 0;
	CHECK_EQ(getifaddrs(&list), 0);
	for (i = list; i; i = i->ifa_next) {
		if (strcmp(i->ifa_name, "lo") || !i->ifa_addr)
			continue;
		v4 += i->ifa_addr->sa_family == AF_INET;
		link += i->ifa_addr->sa_family == AF_PACKET;
	}
	CHECK(v4 >= 1);
	CHECK_EQ(link, 1);
	freeifaddrs(list);
}

TEST(netlink_dump_and_refusal)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg i;
	} q = { .h = { .nlmsg_len = sizeof(q), .nlmsg_type = RTM_GETLINK,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP, .nlmsg_seq = 77 } };
	char buf[16384];
	struct sockaddr_nl a = { .nl_family = AF_NETLINK };
	socklen_t size = sizeof(a);
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	CHECK(s >= 0);
	CHECK_EQ(bind(s, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(getsockname(s, (void *)&a, &size), 0);
	CHECK(a.nl_pid != 0);
	CHECK_EQ(send(s, &q, sizeof(q), 0), sizeof(q));
	bool done = false, seen = false;
	while (!done) {
		ssize_t n = recv(s, buf, sizeof(buf), 0);
		CHECK(n > 0);
		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			CHECK_EQ(h->nlmsg_seq, 77);
			CHECK_EQ(h->nlmsg_pid, a.nl_pid);
			if (h->nlmsg_type == NLMSG_DONE)
				done = true;
			else
				CHECK_EQ(h->nlmsg_type, RTM_NEWLINK);
			seen |= h->nlmsg_type == RTM_NEWLINK;
		}
	}
	CHECK(seen);
	q.h.nlmsg_type = RTM_GETLINK;
	q.h.nlmsg_flags = NLM_F_REQUEST;
	q.i.ifi_index = 12345;
	CHECK_EQ(send(s, &q, sizeof(q), 0), sizeof(q));
	CHECK(recv(s, buf, sizeof(buf), 0) > 0);
	struct nlmsghdr *h = (void *)buf;
	CHECK_EQ(h->nlmsg_type, NLMSG_ERROR);
	CHECK_EQ(((struct nlmsgerr *)NLMSG_DATA(h))->error, -ENODEV);
	CHECK_ERRNO(recv(s, buf, sizeof(buf), MSG_DONTWAIT), EAGAIN);
}

TEST(getaddrinfo_of_numbers)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *ai;
	CHECK_EQ(getaddrinfo("127.0.0.1", "80", &hints, &ai), 0);
	CHECK_EQ(ai->ai_family, AF_INET);
	freeaddrinfo(ai);
	hints.ai_flags = AI_PASSIVE;
	CHECK_EQ(getaddrinfo(NULL, "0", &hints, &ai), 0);
	freeaddrinfo(ai);
}

TEST(unknown_families)
{
	CHECK_ERRNO(socket(AF_NETLINK, SOCK_STREAM, NETLINK_ROUTE), ESOCKTNOSUPPORT);
	CHECK_ERRNO(socket(AF_NETLINK, SOCK_RAW, 31), EPROTONOSUPPORT);
	CHECK_ERRNO(socket(250, SOCK_STREAM, 0), EAFNOSUPPORT);
	CHECK_ERRNO(socket(-1, SOCK_STREAM, 0), EAFNOSUPPORT);
}

CHECK_MAIN()
