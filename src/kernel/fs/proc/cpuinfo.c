/*
 * /proc/cpuinfo: the host's processor as it is (programs choose their code by its flags), as many
 * of them as the sandbox may use. From the host's file when the jail shows one, else from the CPUID
 * instruction.
 */
#include <cpuid.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/fs/proc/proc_internal.h"
#include "kernel/mm/maps.h"
#include "kernel/task/uts.h"

static bool starts(const char *line, const char *word)
{
	size_t n = strlen(word);
	return !strncmp(line, word, n) && (line[n] == '\t' || line[n] == ' ' || line[n] == ':');
}

/* One line of the host's file, with the topology of the sandbox. */
static void show_line(struct seq *s, const char *line, uint32_t cpu)
{
	if (starts(line, "processor"))
		seq_printf(s, "processor\t: %u\n", cpu);
	else if (starts(line, "physical id"))
		seq_text(s, "physical id\t: 0\n");
	else if (starts(line, "siblings"))
		seq_printf(s, "siblings\t: %u\n", cpu_count());
	else if (starts(line, "core id"))
		seq_printf(s, "core id\t\t: %u\n", cpu);
	else if (starts(line, "cpu cores"))
		seq_printf(s, "cpu cores\t: %u\n", cpu_count());
	else if (starts(line, "apicid"))
		seq_printf(s, "apicid\t\t: %u\n", cpu);
	else if (starts(line, "initial apicid"))
		seq_printf(s, "initial apicid\t: %u\n", cpu);
	else {
		seq_text(s, line);
		seq_text(s, "\n");
	}
}

static bool from_host(struct seq *s)
{
	struct mm_maps_iter iter; /* reads lines of any file */
	uint32_t cpu = 0;
	char *line;

	if (mm_maps_begin(&iter, 0, "cpuinfo"))
		return false;
	while (cpu < cpu_count() && (line = mm_maps_line(&iter))) {
		show_line(s, line, cpu);
		if (!*line) /* an empty line ends a processor */
			cpu++;
	}
	mm_maps_end(&iter);
	return s->size > 0;
}

/* Feature bits that programs look for, by leaf and register. */
static const struct {
	const char *name;
	uint32_t leaf;
	uint8_t reg, bit; /* eax ebx ecx edx */
} flags[] = {
	{ "fpu", 1, 3, 0 },	  { "tsc", 1, 3, 4 },	     { "msr", 1, 3, 5 },
	{ "cx8", 1, 3, 8 },	  { "apic", 1, 3, 9 },	     { "cmov", 1, 3, 15 },
	{ "clflush", 1, 3, 19 },  { "mmx", 1, 3, 23 },	     { "fxsr", 1, 3, 24 },
	{ "sse", 1, 3, 25 },	  { "sse2", 1, 3, 26 },	     { "ht", 1, 3, 28 },
	{ "syscall", 0x80000001, 3, 11 }, { "nx", 0x80000001, 3, 20 },
	{ "pdpe1gb", 0x80000001, 3, 26 }, { "rdtscp", 0x80000001, 3, 27 },
	{ "lm", 0x80000001, 3, 29 }, { "pni", 1, 2, 0 },     { "pclmulqdq", 1, 2, 1 },
	{ "ssse3", 1, 2, 9 },	  { "fma", 1, 2, 12 },	     { "cx16", 1, 2, 13 },
	{ "sse4_1", 1, 2, 19 },	  { "sse4_2", 1, 2, 20 },    { "movbe", 1, 2, 22 },
	{ "popcnt", 1, 2, 23 },	  { "aes", 1, 2, 25 },	     { "xsave", 1, 2, 26 },
	{ "avx", 1, 2, 28 },	  { "f16c", 1, 2, 29 },	     { "rdrand", 1, 2, 30 },
	{ "hypervisor", 1, 2, 31 }, { "lahf_lm", 0x80000001, 2, 0 },
	{ "abm", 0x80000001, 2, 5 }, { "fsgsbase", 7, 1, 0 }, { "bmi1", 7, 1, 3 },
	{ "avx2", 7, 1, 5 },	  { "bmi2", 7, 1, 8 },	     { "erms", 7, 1, 9 },
	{ "avx512f", 7, 1, 16 },  { "avx512dq", 7, 1, 17 },  { "rdseed", 7, 1, 18 },
	{ "adx", 7, 1, 19 },	  { "avx512cd", 7, 1, 28 },  { "sha_ni", 7, 1, 29 },
	{ "avx512bw", 7, 1, 30 }, { "avx512vl", 7, 1, 31 },
};

static void show_flags(struct seq *s)
{
	uint32_t leaf = UINT32_MAX, regs[4] = { 0 };

	seq_text(s, "flags\t\t:");
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (flags[i].leaf != leaf) {
			leaf = flags[i].leaf;
			if (!__get_cpuid_count(leaf, 0, &regs[0], &regs[1], &regs[2], &regs[3]))
				memset(regs, 0, sizeof(regs));
		}
		if (regs[flags[i].reg] & (1u << flags[i].bit))
			seq_printf(s, " %s", flags[i].name);
	}
	seq_text(s, "\n");
}

static void brand_name(char *dst)
{
	uint32_t words[12] = { 0 };

	for (uint32_t i = 0; i < 3; i++)
		__get_cpuid(0x80000002 + i, &words[i * 4], &words[i * 4 + 1], &words[i * 4 + 2],
			    &words[i * 4 + 3]);
	memcpy(dst, words, sizeof(words));
	dst[sizeof(words)] = 0;
}

static void from_cpuid(struct seq *s)
{
	uint32_t a = 0, b = 0, c = 0, d = 0, vendor[4] = { 0 };
	char brand[49];

	__get_cpuid(0, &a, &vendor[0], &vendor[2], &vendor[1]);
	__get_cpuid(1, &a, &b, &c, &d);
	brand_name(brand);
	uint32_t family = (a >> 8) & 15, model = (a >> 4) & 15;
	if (family == 6 || family == 15)
		model |= (a >> 12) & 0xf0;
	if (family == 15)
		family += (a >> 20) & 0xff;
	for (uint32_t i = 0; i < cpu_count(); i++) {
		seq_printf(s, "processor\t: %u\nvendor_id\t: %.12s\ncpu family\t: %u\nmodel\t\t: %u\n"
			      "model name\t: %s\nstepping\t: %u\nphysical id\t: 0\nsiblings\t: %u\n"
			      "core id\t\t: %u\ncpu cores\t: %u\nfpu\t\t: yes\n",
			   i, (const char *)vendor, family, model, brand, a & 15, cpu_count(), i,
			   cpu_count());
		show_flags(s);
		seq_text(s, "bogomips\t: 4000.00\nclflush size\t: 64\ncache_alignment\t: 64\n\n");
	}
}

int proc_cpuinfo(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	if (!from_host(s))
		from_cpuid(s);
	return 0;
}
