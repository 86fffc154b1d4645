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

/* Lines about the topology: they tell of the sandbox's. */
enum topology { NUMBER, COUNT, ZERO };
static const struct {
	const char *word, *label;
	enum topology value;
} topology[] = {
	{ "processor", "processor\t", NUMBER }, { "physical id", "physical id\t", ZERO },
	{ "siblings", "siblings\t", COUNT },	{ "core id", "core id\t\t", NUMBER },
	{ "cpu cores", "cpu cores\t", COUNT },	{ "apicid", "apicid\t\t", NUMBER },
	{ "initial apicid", "initial apicid\t", NUMBER },
};

/* One line of the host's file, with the topology of the sandbox. */
static void show_line(struct seq *s, const char *line, uint32_t cpu)
{
	for (size_t i = 0; i < ARRAY_SIZE(topology); i++) {
		if (!starts(line, topology[i].word))
			continue;
		uint32_t value = topology[i].value == NUMBER ? cpu :
				 topology[i].value == COUNT  ? cpu_count() : 0;
		seq_printf(s, "%s: %u\n", topology[i].label, value);
		return;
	}
	seq_text(s, line);
	seq_text(s, "\n");
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
	{ "fpu", 1, 3, 0 }, { "vme", 1, 3, 1 }, { "de", 1, 3, 2 }, { "pse", 1, 3, 3 },
	{ "tsc", 1, 3, 4 }, { "msr", 1, 3, 5 }, { "pae", 1, 3, 6 }, { "mce", 1, 3, 7 },
	{ "cx8", 1, 3, 8 }, { "apic", 1, 3, 9 }, { "sep", 1, 3, 11 }, { "mtrr", 1, 3, 12 },
	{ "pge", 1, 3, 13 }, { "mca", 1, 3, 14 }, { "cmov", 1, 3, 15 }, { "pat", 1, 3, 16 },
	{ "pse36", 1, 3, 17 }, { "clflush", 1, 3, 19 }, { "mmx", 1, 3, 23 },
	{ "fxsr", 1, 3, 24 }, { "sse", 1, 3, 25 }, { "sse2", 1, 3, 26 }, { "ss", 1, 3, 27 },
	{ "ht", 1, 3, 28 }, { "syscall", 0x80000001, 3, 11 }, { "nx", 0x80000001, 3, 20 },
	{ "mmxext", 0x80000001, 3, 22 }, { "fxsr_opt", 0x80000001, 3, 25 },
	{ "pdpe1gb", 0x80000001, 3, 26 }, { "rdtscp", 0x80000001, 3, 27 },
	{ "lm", 0x80000001, 3, 29 }, { "pni", 1, 2, 0 }, { "pclmulqdq", 1, 2, 1 },
	{ "ssse3", 1, 2, 9 }, { "fma", 1, 2, 12 }, { "cx16", 1, 2, 13 }, { "pcid", 1, 2, 17 },
	{ "sse4_1", 1, 2, 19 }, { "sse4_2", 1, 2, 20 }, { "x2apic", 1, 2, 21 },
	{ "movbe", 1, 2, 22 }, { "popcnt", 1, 2, 23 }, { "aes", 1, 2, 25 },
	{ "xsave", 1, 2, 26 }, { "avx", 1, 2, 28 }, { "f16c", 1, 2, 29 }, { "rdrand", 1, 2, 30 },
	{ "hypervisor", 1, 2, 31 }, { "lahf_lm", 0x80000001, 2, 0 },
	{ "cr8_legacy", 0x80000001, 2, 4 }, { "abm", 0x80000001, 2, 5 },
	{ "sse4a", 0x80000001, 2, 6 }, { "misalignsse", 0x80000001, 2, 7 },
	{ "3dnowprefetch", 0x80000001, 2, 8 }, { "xop", 0x80000001, 2, 11 },
	{ "fma4", 0x80000001, 2, 16 }, { "tbm", 0x80000001, 2, 21 },
	{ "topoext", 0x80000001, 2, 22 }, { "fsgsbase", 7, 1, 0 }, { "bmi1", 7, 1, 3 },
	{ "avx2", 7, 1, 5 }, { "smep", 7, 1, 7 }, { "bmi2", 7, 1, 8 }, { "erms", 7, 1, 9 },
	{ "invpcid", 7, 1, 10 }, { "avx512f", 7, 1, 16 }, { "avx512dq", 7, 1, 17 },
	{ "rdseed", 7, 1, 18 }, { "adx", 7, 1, 19 }, { "smap", 7, 1, 20 },
	{ "avx512ifma", 7, 1, 21 }, { "clflushopt", 7, 1, 23 }, { "clwb", 7, 1, 24 },
	{ "avx512cd", 7, 1, 28 }, { "sha_ni", 7, 1, 29 }, { "avx512bw", 7, 1, 30 },
	{ "avx512vl", 7, 1, 31 }, { "avx512vbmi", 7, 2, 1 }, { "umip", 7, 2, 2 },
	{ "avx512_vbmi2", 7, 2, 6 }, { "gfni", 7, 2, 8 }, { "vaes", 7, 2, 9 },
	{ "vpclmulqdq", 7, 2, 10 }, { "avx512_vnni", 7, 2, 11 }, { "avx512_bitalg", 7, 2, 12 },
	{ "avx512_vpopcntdq", 7, 2, 14 }, { "la57", 7, 2, 16 }, { "rdpid", 7, 2, 22 },
	{ "cldemote", 7, 2, 25 }, { "movdiri", 7, 2, 27 }, { "movdir64b", 7, 2, 28 },
	{ "fsrm", 7, 3, 4 }, { "avx512_vp2intersect", 7, 3, 8 }, { "md_clear", 7, 3, 10 },
	{ "serialize", 7, 3, 14 }, { "tsxldtrk", 7, 3, 16 }, { "amx_bf16", 7, 3, 22 },
	{ "avx512_fp16", 7, 3, 23 }, { "amx_tile", 7, 3, 24 }, { "amx_int8", 7, 3, 25 },
	{ "spec_ctrl", 7, 3, 26 }, { "flush_l1d", 7, 3, 28 }, { "arch_capabilities", 7, 3, 29 },
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
	uint32_t a = 0, b = 0, c = 0, d = 0, vendor[4] = { 0 }, levels = 0, sizes, mhz;
	char brand[49];

	sizes = __get_cpuid(0x80000008, &a, &b, &c, &d) ? a : 46 | 48 << 8;
	mhz = __get_cpuid(0x16, &a, &b, &c, &d) && (a & 0xffff) ? a & 0xffff : 2000;
	__get_cpuid(0, &levels, &vendor[0], &vendor[2], &vendor[1]);
	__get_cpuid(1, &a, &b, &c, &d);
	brand_name(brand);
	uint32_t family = (a >> 8) & 15, model = (a >> 4) & 15;
	if (family == 6 || family == 15)
		model |= (a >> 12) & 0xf0;
	if (family == 15)
		family += (a >> 20) & 0xff;
	for (uint32_t i = 0; i < cpu_count(); i++) {
		seq_printf(s, "processor\t: %u\nvendor_id\t: %.12s\ncpu family\t: %u\nmodel\t\t: %u\n"
			      "model name\t: %s\nstepping\t: %u\ncpu MHz\t\t: %u.000\n"
			      "physical id\t: 0\nsiblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n"
			      "apicid\t\t: %u\ninitial apicid\t: %u\nfpu\t\t: yes\n"
			      "fpu_exception\t: yes\ncpuid level\t: %u\nwp\t\t: yes\n",
			   i, (const char *)vendor, family, model, brand, a & 15, mhz, cpu_count(), i,
			   cpu_count(), i, i, levels);
		show_flags(s);
		seq_printf(s, "bugs\t\t:\nbogomips\t: %u.00\nclflush size\t: %u\ncache_alignment\t: %u\n"
			      "address sizes\t: %u bits physical, %u bits virtual\n"
			      "power management:\n\n",
			   2 * mhz, (b >> 8 & 0xff) * 8, (b >> 8 & 0xff) * 8, sizes & 0xff,
			   sizes >> 8 & 0xff);
	}
}

int proc_cpuinfo(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	if (!from_host(s))
		from_cpuid(s);
	return 0;
}
