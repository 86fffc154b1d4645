/*
 * Interface ioctls of sockets (netdevice(7)): reading what lo is. Changing it is refused.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/user.h"
#include "kernel/net/loopback.h"
#include "kernel/net/socket.h"

static void put_address(struct ifreq *r, uint32_t host_order)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(host_order) };
	memset(&r->ifr_addr, 0, sizeof(r->ifr_addr));
	memcpy(&r->ifr_addr, &sin, sizeof(sin));
}

static long get_conf(struct call *c, uint64_t arg)
{
	struct ifconf conf;
	struct ifreq r = { .ifr_name = LO_NAME };

	if (user_read(c->task, &conf, uaddr(arg), sizeof(conf)))
		return -EFAULT;
	if (conf.ifc_buf && conf.ifc_len < (int)sizeof(r)) {
		conf.ifc_len = 0;
	} else {
		put_address(&r, INADDR_LOOPBACK);
		if (conf.ifc_buf &&
		    user_write(c->task, uaddr((uintptr_t)conf.ifc_buf), &r, sizeof(r)))
			return -EFAULT;
		conf.ifc_len = sizeof(r);
	}
	return user_write(c->task, uaddr(arg), &conf, sizeof(conf));
}

/* Fills in what `cmd` asks for about lo. */
static int get_one(uint32_t cmd, struct ifreq *r)
{
	switch (cmd) {
	case SIOCGIFFLAGS:
		r->ifr_flags = LO_FLAGS;
		return 0;
	case SIOCGIFADDR:
		put_address(r, INADDR_LOOPBACK);
		return 0;
	case SIOCGIFDSTADDR:
		put_address(r, INADDR_LOOPBACK);
		return 0;
	case SIOCGIFBRDADDR:
		put_address(r, INADDR_ANY);
		return 0;
	case SIOCGIFNETMASK:
		put_address(r, 0xff000000u);
		return 0;
	case SIOCGIFMETRIC:
		r->ifr_metric = 0;
		return 0;
	case SIOCGIFMTU:
		r->ifr_mtu = LO_MTU;
		return 0;
	case SIOCGIFHWADDR:
		memset(&r->ifr_hwaddr, 0, sizeof(r->ifr_hwaddr));
		r->ifr_hwaddr.sa_family = ARPHRD_LOOPBACK;
		return 0;
	case SIOCGIFINDEX:
		r->ifr_ifindex = LO_INDEX;
		return 0;
	case SIOCGIFTXQLEN:
		r->ifr_qlen = LO_TXQLEN;
		return 0;
	case SIOCGIFMAP:
		memset(&r->ifr_map, 0, sizeof(r->ifr_map));
		return 0;
	default:
		return -ENOTTY;
	}
}

static bool changes_interface(uint32_t cmd)
{
	switch (cmd) {
	case SIOCSIFFLAGS:
	case SIOCSIFADDR:
	case SIOCSIFDSTADDR:
	case SIOCSIFBRDADDR:
	case SIOCSIFNETMASK:
	case SIOCSIFMETRIC:
	case SIOCSIFMTU:
	case SIOCSIFHWADDR:
	case SIOCSIFNAME:
	case SIOCSIFTXQLEN:
	case SIOCADDRT:
	case SIOCDELRT:
	case SIOCSARP:
	case SIOCDARP:
		return true;
	default:
		return false;
	}
}

static long get_name(struct call *c, uint64_t arg)
{
	struct ifreq r;

	if (user_read(c->task, &r, uaddr(arg), sizeof(r)))
		return -EFAULT;
	if (r.ifr_ifindex != LO_INDEX)
		return -ENODEV;
	memset(r.ifr_name, 0, sizeof(r.ifr_name));
	memcpy(r.ifr_name, LO_NAME, sizeof(LO_NAME));
	return user_write(c->task, uaddr(arg), &r, sizeof(r));
}

long socket_if_ioctl(struct call *c, uint32_t cmd, uint64_t arg)
{
	struct ifreq r, probe = { 0 };

	if (changes_interface(cmd))
		return -EPERM;
	if (cmd == SIOCGIFCONF)
		return get_conf(c, arg);
	if (cmd == SIOCGIFNAME)
		return get_name(c, arg);
	if (cmd == SIOCETHTOOL)
		return -EOPNOTSUPP;
	if (get_one(cmd, &probe) == -ENOTTY)
		return -ENOTTY;
	if (user_read(c->task, &r, uaddr(arg), sizeof(r)))
		return -EFAULT;
	r.ifr_name[IFNAMSIZ - 1] = '\0';
	if (strcmp(r.ifr_name, LO_NAME) != 0)
		return -ENODEV;
	get_one(cmd, &r);
	return user_write(c->task, uaddr(arg), &r, sizeof(r));
}
