/*
 * rtnetlink(7) requests: what lo is, its addresses, the local routes. Changes are refused (EPERM).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>

#include "base/util.h"
#include "kernel/net/loopback.h"
#include "kernel/net/netlink/netlink.h"

/* ---- links ---- */

static int put_link(struct netlink_reply *r, uint16_t flags)
{
	static const uint8_t no_address[6];
	struct rtnl_link_stats64 stats64 = { 0 };
	struct rtnl_link_stats stats = { 0 };
	uint8_t up = 0 /* IF_OPER_UNKNOWN, as lo has it */, mode = 0;

	struct ifinfomsg *i = netlink_begin(r, RTM_NEWLINK, flags, sizeof(*i));
	if (!i)
		return -ENOBUFS;
	i->ifi_family = AF_UNSPEC;
	i->ifi_type = LO_ARPHRD;
	i->ifi_index = LO_INDEX;
	i->ifi_flags = LO_FLAGS | LO_LOWER_UP;
	netlink_attr(r, IFLA_IFNAME, LO_NAME, sizeof(LO_NAME));
	netlink_attr_u32(r, IFLA_TXQLEN, LO_TXQLEN);
	netlink_attr(r, IFLA_OPERSTATE, &up, sizeof(up));
	netlink_attr(r, IFLA_LINKMODE, &mode, sizeof(mode));
	netlink_attr_u32(r, IFLA_MTU, LO_MTU);
	netlink_attr_u32(r, IFLA_GROUP, 0);
	netlink_attr_u32(r, IFLA_PROMISCUITY, 0);
	netlink_attr_u32(r, IFLA_NUM_TX_QUEUES, 1);
	netlink_attr_u32(r, IFLA_NUM_RX_QUEUES, 1);
	netlink_attr(r, IFLA_ADDRESS, no_address, sizeof(no_address));
	netlink_attr(r, IFLA_BROADCAST, no_address, sizeof(no_address));
	netlink_attr(r, IFLA_QDISC, "noqueue", sizeof("noqueue"));
	netlink_attr(r, IFLA_STATS64, &stats64, sizeof(stats64));
	netlink_attr(r, IFLA_STATS, &stats, sizeof(stats));
	return r->overflow ? -ENOBUFS : 0;
}

/* Name asked for in a link request; empty = none. */
static void wanted_name(const uint8_t *payload, size_t size, char name[IFNAMSIZ])
{
	size_t at = NLMSG_ALIGN(sizeof(struct ifinfomsg));

	name[0] = '\0';
	while (size >= at && size - at >= sizeof(struct rtattr)) {
		struct rtattr a;
		memcpy(&a, payload + at, sizeof(a));
		if (a.rta_len < sizeof(a) || a.rta_len > size - at)
			return;
		if (a.rta_type == IFLA_IFNAME || a.rta_type == IFLA_ALT_IFNAME) {
			size_t n = MIN(a.rta_len - sizeof(a), (size_t)IFNAMSIZ - 1);
			memcpy(name, payload + at + sizeof(a), n);
			name[n] = '\0';
			return;
		}
		at += RTA_ALIGN(a.rta_len);
	}
}

static int get_link(struct netlink_reply *r, const uint8_t *payload, size_t size, bool dump)
{
	struct ifinfomsg want = { 0 };
	char name[IFNAMSIZ];

	if (dump)
		return put_link(r, NLM_F_MULTI);
	if (size < sizeof(want))
		return -EINVAL;
	memcpy(&want, payload, sizeof(want));
	wanted_name(payload, size, name);
	if (!want.ifi_index && !name[0])
		return -EINVAL;
	if (want.ifi_index ? want.ifi_index != LO_INDEX : strcmp(name, LO_NAME) != 0)
		return -ENODEV;
	return put_link(r, 0);
}

/* ---- addresses ---- */

static int put_address(struct netlink_reply *r, uint8_t family, uint16_t flags)
{
	struct ifa_cacheinfo forever = { .ifa_prefered = UINT32_MAX, .ifa_valid = UINT32_MAX };
	uint32_t v4 = htonl(INADDR_LOOPBACK);

	struct ifaddrmsg *a = netlink_begin(r, RTM_NEWADDR, flags, sizeof(*a));
	if (!a)
		return -ENOBUFS;
	a->ifa_family = family;
	a->ifa_prefixlen = family == AF_INET ? LO_PREFIX_IN : 128;
	a->ifa_flags = IFA_F_PERMANENT;
	a->ifa_scope = RT_SCOPE_HOST;
	a->ifa_index = LO_INDEX;
	if (family == AF_INET) {
		netlink_attr(r, IFA_ADDRESS, &v4, sizeof(v4));
		netlink_attr(r, IFA_LOCAL, &v4, sizeof(v4));
		netlink_attr(r, IFA_LABEL, LO_NAME, sizeof(LO_NAME));
	} else {
		netlink_attr(r, IFA_ADDRESS, &in6addr_loopback, sizeof(in6addr_loopback));
	}
	netlink_attr_u32(r, IFA_FLAGS, IFA_F_PERMANENT);
	netlink_attr(r, IFA_CACHEINFO, &forever, sizeof(forever));
	return r->overflow ? -ENOBUFS : 0;
}

static int get_address(struct netlink_reply *r, const uint8_t *payload, size_t size)
{
	struct ifaddrmsg want = { 0 };
	int err = 0;

	memcpy(&want, payload, MIN(size, sizeof(want)));
	if (want.ifa_index && want.ifa_index != LO_INDEX && size >= sizeof(want))
		return r->to->flags & (1u << NETLINK_GET_STRICT_CHK) ? -ENODEV : 0;
	if (want.ifa_family == AF_UNSPEC || want.ifa_family == AF_INET)
		err = put_address(r, AF_INET, NLM_F_MULTI);
	if (!err && (want.ifa_family == AF_UNSPEC || want.ifa_family == AF_INET6))
		err = put_address(r, AF_INET6, NLM_F_MULTI);
	return err;
}

/* ---- routes ---- */

static int put_route(struct netlink_reply *r, uint8_t family, uint8_t prefix, const void *dst,
		     uint16_t flags)
{
	uint32_t source = htonl(INADDR_LOOPBACK);
	size_t size = family == AF_INET ? 4 : 16;

	struct rtmsg *m = netlink_begin(r, RTM_NEWROUTE, flags, sizeof(*m));
	if (!m)
		return -ENOBUFS;
	m->rtm_family = family;
	m->rtm_dst_len = prefix;
	m->rtm_table = RT_TABLE_LOCAL;
	m->rtm_protocol = RTPROT_KERNEL;
	m->rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
	m->rtm_type = RTN_LOCAL;
	netlink_attr_u32(r, RTA_TABLE, RT_TABLE_LOCAL);
	netlink_attr(r, RTA_DST, dst, size);
	netlink_attr_u32(r, RTA_OIF, LO_INDEX);
	if (family == AF_INET)
		netlink_attr(r, RTA_PREFSRC, &source, sizeof(source));
	return r->overflow ? -ENOBUFS : 0;
}

/* A single question ("ip route get"): the destination attribute; -EINVAL when there is none. */
static int get_one_route(struct netlink_reply *r, const uint8_t *payload, size_t size)
{
	struct rtmsg want;
	struct rtattr a;
	struct in6_addr dst = { 0 };
	size_t at = NLMSG_ALIGN(sizeof(want));

	if (size < at)
		return -EINVAL;
	memcpy(&want, payload, sizeof(want));
	size_t need = want.rtm_family == AF_INET ? 4 : 16;
	for (;;) {
		if (size < at || size - at < sizeof(a))
			return -EINVAL;
		memcpy(&a, payload + at, sizeof(a));
		if (a.rta_len < sizeof(a) || a.rta_len > size - at)
			return -EINVAL;
		if (a.rta_type == RTA_DST && a.rta_len >= RTA_LENGTH(need))
			break;
		at += RTA_ALIGN(a.rta_len);
	}
	memcpy(&dst, payload + at + RTA_LENGTH(0), need);
	bool ours = want.rtm_family == AF_INET ? dst.s6_addr[0] == 127 :
						 IN6_IS_ADDR_LOOPBACK(&dst);
	if (!ours)
		return -ENETUNREACH;
	return put_route(r, want.rtm_family, (uint8_t)(need * 8), &dst, 0);
}

static int get_route(struct netlink_reply *r, const uint8_t *payload, size_t size, bool dump)
{
	struct rtmsg want = { 0 };
	uint32_t net = htonl(INADDR_LOOPBACK & 0xff000000u), host = htonl(INADDR_LOOPBACK);
	int err = 0;

	if (!dump)
		return get_one_route(r, payload, size);
	memcpy(&want, payload, MIN(size, sizeof(want)));
	if (want.rtm_table && want.rtm_table != RT_TABLE_LOCAL)
		return 0;
	if (want.rtm_family == AF_UNSPEC || want.rtm_family == AF_INET) {
		err = put_route(r, AF_INET, 8, &net, NLM_F_MULTI);
		if (!err)
			err = put_route(r, AF_INET, 32, &host, NLM_F_MULTI);
	}
	if (!err && (want.rtm_family == AF_UNSPEC || want.rtm_family == AF_INET6))
		err = put_route(r, AF_INET6, 128, &in6addr_loopback, NLM_F_MULTI);
	return err;
}

/* ---- requests ---- */

int rtnetlink_request(struct netlink_reply *r, const uint8_t *payload, size_t size,
		      bool *ret_dump)
{
	uint16_t type = r->request->nlmsg_type;
	bool dump = (r->request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;

	*ret_dump = dump;
	if (type < RTM_BASE || type > RTM_MAX)
		return -EOPNOTSUPP;
	if ((type & 3) != 2) /* RTM_NEW*, RTM_DEL*, RTM_SET* */
		return -EPERM;
	if (size < sizeof(struct rtgenmsg))
		return -EINVAL;
	switch (type) {
	case RTM_GETLINK:
		return get_link(r, payload, size, dump);
	case RTM_GETADDR:
		return dump ? get_address(r, payload, size) : -EOPNOTSUPP;
	case RTM_GETROUTE:
		return get_route(r, payload, size, dump);
	case RTM_GETNEIGH:
	case RTM_GETRULE:
	case RTM_GETQDISC:
	case RTM_GETTCLASS:
	case RTM_GETTFILTER:
	case RTM_GETNEIGHTBL:
	case RTM_GETADDRLABEL:
	case RTM_GETNETCONF:
	case RTM_GETMULTICAST:
	case RTM_GETANYCAST:
	case RTM_GETMDB:
	case RTM_GETNSID:
	case RTM_GETNEXTHOP:
		return dump ? 0 : -EOPNOTSUPP; /* empty lists */
	default:
		return -EOPNOTSUPP;
	}
}
