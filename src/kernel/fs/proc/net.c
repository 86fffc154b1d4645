/*
 * /proc/PID/net: headings here, lines from the network modules (net/proc_net.h). All processes of a
 * sandbox share one network.
 */
#include "kernel/net/proc_net.h"

#include "kernel/fs/proc/proc_internal.h"

#define TCP_HEAD                                                                                   \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
#define TCP6_HEAD                                                                                  \
	"  sl  local_address                         remote_address                        st "       \
	"tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
#define UDP_HEAD                                                                                   \
	"   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "\
	"inode ref pointer drops"

/* Lines of these two tables are padded to a fixed width; readers parse words. */
int proc_net_tcp_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%-149s\n", TCP_HEAD);
	proc_net_tcp(s);
	return 0;
}

int proc_net_tcp6_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, TCP6_HEAD);
	proc_net_tcp6(s);
	return 0;
}

int proc_net_udp_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%-127s\n", UDP_HEAD);
	proc_net_udp(s);
	return 0;
}

int proc_net_udp6_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, TCP6_HEAD);
	proc_net_udp6(s);
	return 0;
}

int proc_net_raw_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%-127s\n", UDP_HEAD);
	return 0;
}

int proc_net_unix_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "Num       RefCount Protocol Flags    Type St Inode Path\n");
	proc_net_unix(s);
	return 0;
}

int proc_net_dev_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "Inter-|   Receive                                                |  Transmit\n"
		    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    "
		    "packets errs drop fifo colls carrier compressed\n");
	proc_net_dev(s);
	return 0;
}

int proc_net_route_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%-127s\n", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU"
				   "\tWindow\tIRTT");
	/* Loopback has no route in this table. */
	return 0;
}

int proc_net_if_inet6_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	proc_net_if_inet6(s);
	return 0;
}

int proc_net_arp_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "IP address       HW type     Flags       HW address            Mask     Device\n");
	return 0;
}

/* Counters that nobody counts, in the shape that netstat -s and nstat parse. */
int proc_net_snmp_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams "
		    "InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes "
		    "ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates\n"
		    "Ip: 2 64 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
		    "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails "
		    "EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n"
		    "Tcp: 1 200 120000 -1 0 0 0 0 0 0 0 0 0 0 0\n"
		    "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors "
		    "InCsumErrors IgnoredMulti MemErrors\n"
		    "Udp: 0 0 0 0 0 0 0 0 0\n");
	return 0;
}

int proc_net_netstat_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "TcpExt: SyncookiesSent SyncookiesRecv SyncookiesFailed\nTcpExt: 0 0 0\n"
		    "IpExt: InNoRoutes InTruncatedPkts InMcastPkts\nIpExt: 0 0 0\n");
	return 0;
}

int proc_net_sockstat_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	proc_net_sockstat(s);
	return 0;
}

int proc_net_sockstat6_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "TCP6: inuse 0\nUDP6: inuse 0\nUDPLITE6: inuse 0\nRAW6: inuse 0\n"
		    "FRAG6: inuse 0 memory 0\n");
	return 0;
}

int proc_net_protocols_file(struct seq *s, const struct proc_ctx *x)
{
	static const char *const names[] = { "UNIX", "NETLINK", "UDPv6", "TCPv6", "UDP", "TCP" };

	(void)x;
	seq_text(s, "protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de "
		    "sh ss gs se re sp bi br ha uh gp em\n");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		seq_printf(s, "%-8s  1024      0      -1   NI       0   yes  kernel      n  n  n  n  n  "
			      "n  n  n  n  n  n  n  n  n  n  n  n  n  n\n", names[i]);
	return 0;
}

int proc_net_netlink_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    "
		    "Inode\n");
	return 0;
}

int proc_net_packet_file(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n");
	return 0;
}

int proc_net_empty_file(struct seq *s, const struct proc_ctx *x)
{
	(void)s;
	(void)x;
	return 0;
}
