/*
 * /proc/sys: constants from sysctl.def, and the few values that live.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/core/limits.h"
#include "kernel/fs/proc/proc_internal.h"
#include "kernel/host/random.h"
#include "kernel/task/uts.h"

static const struct {
	const char *path, *value;
} values[] = {
#define SYSCTL(path, value) { "sys/" path, value },
#include "kernel/fs/proc/sysctl.def"
#undef SYSCTL
};

int proc_sysctl(struct seq *s, const struct proc_ctx *x)
{
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (!strcmp(values[i].path, x->row->path)) {
			seq_printf(s, "%s\n", values[i].value);
			return 0;
		}
	return -EINVAL;
}

int proc_hostname(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%s\n", uts()->nodename);
	return 0;
}

int proc_hostname_write(const struct proc_ctx *x, const char *text, size_t size)
{
	size_t length = strcspn(text, "\n");

	(void)x;
	(void)size;
	length = MIN(length, (size_t)UTS_LENGTH - 1);
	memset(uts()->nodename, 0, UTS_LENGTH);
	memcpy(uts()->nodename, text, length);
	return 0;
}

int proc_domainname(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%s\n", uts()->domainname);
	return 0;
}

int proc_osrelease(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%s\n", uts()->release);
	return 0;
}

int proc_uts_version(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%s\n", uts()->version);
	return 0;
}

/* RFC 9562 version 4. */
static void make_uuid(char *dst)
{
	uint8_t b[16];
	int at = 0;

	host_random(b, sizeof(b));
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			dst[at++] = '-';
		at += snprintf(dst + at, 3, "%02x", b[i]);
	}
}

int proc_uuid(struct seq *s, const struct proc_ctx *x)
{
	char uuid[37];

	(void)x;
	make_uuid(uuid);
	seq_printf(s, "%s\n", uuid);
	return 0;
}

int proc_boot_id(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	if (!uts()->boot_id[0])
		make_uuid(uts()->boot_id);
	seq_printf(s, "%s\n", uts()->boot_id);
	return 0;
}

int proc_file_nr(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%" PRIu64 "\t0\t%" PRIu64 "\n", limit_used(LIMIT_FILES),
		   limit_value(LIMIT_FILES));
	return 0;
}

int proc_threads_max(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%" PRIu64 "\n", limit_value(LIMIT_PIDS));
	return 0;
}
