/*
 * The files of /proc/net that the network modules write. A module that is not linked leaves its
 * file with the heading only (the heading is written by fs/proc).
 */
#pragma once

#include "kernel/fs/seq.h"

#define PROC_NET_WEAK __attribute__((weak))

/* One line per socket, in the format of proc(5) and Documentation/networking/proc_net_tcp. */
void proc_net_tcp(struct seq *s) PROC_NET_WEAK;
void proc_net_tcp6(struct seq *s) PROC_NET_WEAK;
void proc_net_udp(struct seq *s) PROC_NET_WEAK;
void proc_net_udp6(struct seq *s) PROC_NET_WEAK;
void proc_net_unix(struct seq *s) PROC_NET_WEAK;

/* One line per interface "  name: rx bytes packets ... tx ..." of 16 numbers. */
void proc_net_dev(struct seq *s) PROC_NET_WEAK;
/* One line per address: "addr32hex index prefix scope flags name". */
void proc_net_if_inet6(struct seq *s) PROC_NET_WEAK;
/* One line per route, as `route -n` reads them. */
void proc_net_route(struct seq *s) PROC_NET_WEAK;
/* Lines "sockets: used N", "TCP: inuse N ...", "UDP: inuse N mem N". */
void proc_net_sockstat(struct seq *s) PROC_NET_WEAK;
