/*
 * /proc/PID/{maps,smaps,smaps_rollup,auxv}.
 *
 * The host's file is copied line by line with guest names in place of host files: the table in
 * mm/names.h knows which guest file a host file is. What it does not know is shown without a name;
 * the loader stub's own mappings are left out.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "kernel/abi/stub.h"
#include "kernel/core/arena.h"
#include "kernel/fs/proc/proc_internal.h"
#include "kernel/host/proc.h"
#include "kernel/mm/maps.h"
#include "kernel/mm/names.h"

/* A mapping in Linux's layout: the name starts in column 73. */
static void show_mapping(struct seq *s, const struct mm_map *m, uint64_t dev, uint64_t ino,
			 const char *name)
{
	char head[128];
	int n = snprintf(head, sizeof(head), "%08" PRIx64 "-%08" PRIx64 " %s %08" PRIx64 " %02x:%02x %" PRIu64 " ",
			 m->start, m->end, m->perms, m->offset, (unsigned)major(dev),
			 (unsigned)minor(dev), ino);

	seq_bytes(s, head, (size_t)n);
	if (*name) {
		for (; n < 73; n++)
			seq_bytes(s, " ", 1);
		seq_text(s, name);
	}
	seq_bytes(s, "\n", 1);
}

/* True when the mapping is shown. */
static bool show_one(struct seq *s, const struct mm_map *m)
{
	struct mm_name known;

	if (m->start >= STUB_BASE && m->end <= STUB_BASE + STUB_SIZE)
		return false;
	if (!m->ino) {
		bool special = m->name[0] == '[';
		show_mapping(s, m, 0, 0, special ? m->name : "");
	} else if (mm_find_mapping(m->dev, m->ino, &known)) {
		show_mapping(s, m, known.guest_dev, known.guest_ino, known.path ? known.path : "");
	} else if (!strcmp(m->name, "/dev/zero (deleted)")) { /* shared anonymous memory */
		show_mapping(s, m, makedev(0, 1), m->ino, m->name);
	} else {
		show_mapping(s, m, 0, 0, "");
	}
	return true;
}

static int show_maps(struct seq *s, const struct proc_ctx *x, const char *name)
{
	struct mm_maps_iter iter;
	struct mm_map map;
	bool shown = false;
	char *line;

	if (!x->task)
		return 0;
	int error = mm_maps_begin(&iter, x->task->host_tid, name);
	if (error)
		return error == -EACCES || error == -EPERM ? error : 0;
	while (!s->error && (line = mm_maps_line(&iter))) {
		/* Lines of detail start with a capital letter, mappings with a hex digit. */
		bool detail = line[0] >= 'A' && line[0] <= 'Z';
		if (!detail && mm_maps_parse(line, &map))
			shown = show_one(s, &map);
		else if (shown) {
			seq_text(s, line);
			seq_bytes(s, "\n", 1);
		}
	}
	mm_maps_end(&iter);
	return 0;
}

int proc_pid_maps(struct seq *s, const struct proc_ctx *x)
{
	return show_maps(s, x, "maps");
}

int proc_pid_smaps(struct seq *s, const struct proc_ctx *x)
{
	return show_maps(s, x, "smaps");
}

int proc_pid_smaps_rollup(struct seq *s, const struct proc_ctx *x)
{
	char text[3072];

	if (!x->task)
		return -ESRCH;
	ssize_t n = host_proc_read(x->task->host_tid, "smaps_rollup", text, sizeof(text));
	if (n > 0)
		seq_bytes(s, text, (size_t)n);
	return 0;
}

/*
 * The vector as the program got it: the loader stub patched it on the new stack. The host's copy
 * differs in the entries that describe the stub.
 */
int proc_pid_auxv(struct seq *s, const struct proc_ctx *x)
{
	uint64_t words[128];

	if (!x->task)
		return 0;
	ssize_t n = host_proc_read(x->task->host_tid, "auxv", (char *)words, sizeof(words));
	if (n <= 0)
		return 0;
	for (size_t i = 0; i + 1 < (size_t)n / sizeof(words[0]); i += 2) {
		if (words[i] == AT_BASE)
			words[i + 1] = x->proc->aux[0];
		else if (words[i] == AT_ENTRY)
			words[i + 1] = x->proc->aux[1];
	}
	seq_bytes(s, words, (size_t)n);
	return 0;
}
