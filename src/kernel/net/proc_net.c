/*
 * Lines of /proc/net: formats as proc(5) and the tools that parse them (ss, netstat, lsof, psutil)
 * want. The headings are written by fs/proc.
 */
#include "kernel/net/proc_net.h"

#include <string.h>

#include "base/util.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/net/inet/inet.h"
#include "kernel/net/unix/unix.h"

static unsigned long long ino_of(const struct socket *s)
{
	return s->file && s->file->inode ? s->file->inode->ino : 0;
}

static uint32_t uid_of(const struct socket *s)
{
	return s->file && s->file->inode ? s->file->inode->uid : 0;
}

/* ---- inet ---- */

static void put_address(struct seq *o, const struct inet_name *name, bool v6)
{
	const uint32_t *w = name->ip.s6_addr32;

	if (v6)
		seq_printf(o, "%08X%08X%08X%08X:%04X", w[0], w[1], w[2], w[3], name->port);
	else
		seq_printf(o, "%08X:%04X", inet_is_v4(&name->ip) ? w[3] : 0, name->port);
}

static void put_socket(struct seq *o, const struct inet_sock *i, int slot, bool v6)
{
	uint32_t rx = inet_is_tcp(i) ? i->rx.size : i->sk.rxq_bytes;

	seq_printf(o, "%4d: ", slot);
	put_address(o, &i->local, v6);
	seq_printf(o, " ");
	put_address(o, &i->remote, v6);
	if (i->state == INET_LISTEN)
		rx = i->pending_count;
	seq_printf(o, " %02X %08X:%08X 00:00000000 00000000 %5u        0 %llu 2 0000000000000000",
	    (unsigned)tcp_state(i), 0, rx, uid_of(&i->sk), ino_of(&i->sk));
	seq_text(o, inet_is_tcp(i) ? " 100 0 0 10 0\n" : " 0\n");
}

static void put_inet(struct seq *o, bool tcp, bool v6)
{
	struct inet_root *root = inet_root();
	struct inet_sock *i;
	int slot = 0;

	if (!root)
		return;
	list_for_each(i, &root->all, all_link) {
		bool shown = inet_has_port(i) && !i->internal &&
			     (!tcp || tcp_state(i) != INET_CLOSE);
		if (shown && inet_is_tcp(i) == tcp && (i->sk.domain == AF_INET6) == v6)
			put_socket(o, i, slot++, v6);
	}
}

void proc_net_tcp(struct seq *s)
{
	put_inet(s, true, false);
}

void proc_net_tcp6(struct seq *s)
{
	put_inet(s, true, true);
}

void proc_net_udp(struct seq *s)
{
	put_inet(s, false, false);
}

void proc_net_udp6(struct seq *s)
{
	put_inet(s, false, true);
}

void proc_net_sockstat(struct seq *s)
{
	struct inet_root *root = inet_root();
	struct unix_state_root *local = unix_root();
	struct inet_sock *i;
	struct unix_sock *u;
	unsigned tcp = 0, udp = 0, used = 0;

	if (!root || !local)
		return;
	list_for_each(u, &local->all, all_link)
		used++;
	list_for_each(i, &root->all, all_link) {
		used++;
		if (i->sk.domain == AF_INET)
			(*(inet_is_tcp(i) ? &tcp : &udp))++;
	}
	seq_printf(s, "sockets: used %u\nTCP: inuse %u orphan 0 tw 0 alloc %u mem 0\n"
		      "UDP: inuse %u mem 0\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 0\n",
		   used, tcp, tcp, udp);
}

/* ---- unix ---- */

static void put_unix_name(struct seq *o, const struct unix_sock *u)
{
	char shown[UNIX_NAME_MAX + 2];
	size_t n = u->name_size;

	if (!n)
		return;
	bool abstract = !u->name[0];
	if (!abstract)
		n--; /* the NUL */
	for (size_t i = 0; i < n; i++)
		shown[i] = u->name[i] ? u->name[i] : '@';
	seq_printf(o, " %.*s", (int)n, shown);
}

void proc_net_unix(struct seq *s)
{
	struct unix_state_root *root = unix_root();
	struct unix_sock *u;

	if (!root)
		return;
	list_for_each(u, &root->all, all_link) {
		if (u->dead)
			continue;
		bool listening = u->state == UNIX_LISTENING;
		/* SS_UNCONNECTED 1, SS_CONNECTED 3; connections not accepted yet: SS_CONNECTING 2 */
		unsigned st = !u->sk.file ? 2 : u->state == UNIX_CONNECTED ? 3 : 1;
		seq_printf(s, "%016llx: %08X %08X %08X %04X %02X %5llu", 0ull, u->sk.refs + 1, 0,
			   listening ? 0x10000u : 0u, u->sk.type, st, ino_of(&u->sk));
		put_unix_name(s, u);
		seq_text(s, "\n");
	}
}

/* ---- what never changes ---- */

void proc_net_dev(struct seq *s)
{
	seq_text(s, "    lo:       0       0    0    0    0     0          0         0        0"
		    "       0    0    0    0     0       0          0\n");
}

void proc_net_if_inet6(struct seq *s)
{
	seq_text(s, "00000000000000000000000000000001 01 80 10 80       lo\n");
}
