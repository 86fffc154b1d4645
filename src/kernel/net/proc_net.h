/*
 * The files of /proc/net that the network modules write; the headings are written by fs/proc.
 */
#pragma once

#include "kernel/fs/seq.h"

/* One line per socket, in the format of proc(5) and Documentation/networking/proc_net_tcp. */
void proc_net_tcp(struct seq *s);
void proc_net_tcp6(struct seq *s);
void proc_net_udp(struct seq *s);
void proc_net_udp6(struct seq *s);
void proc_net_unix(struct seq *s);

/* One line per interface "  name: rx bytes packets ... tx ..." of 16 numbers. */
void proc_net_dev(struct seq *s);
/* One line per address: "addr32hex index prefix scope flags name". */
void proc_net_if_inet6(struct seq *s);
/* Lines "sockets: used N", "TCP: inuse N ...", "UDP: inuse N mem N". */
void proc_net_sockstat(struct seq *s);
