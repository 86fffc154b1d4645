/*
 * Runs a fuzz target without libFuzzer: DRIVER CORPUS [ROUNDS]. Every file of the directory, then
 * ROUNDS changed ones, always the same: TAP on standard output. A failure prints the input.
 */
#include "fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 512
#define SIZE_MAX_BYTES 65536u

static struct {
	uint8_t *data;
	size_t size;
} files[FILES_MAX];
static unsigned int file_count;

static uint8_t *current;
static size_t current_size;

static uint64_t state = 88172645463325252u;

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % below;
}

/* The input that broke it, in hexadecimal. */
static void on_crash(int number)
{
	static const char digits[] = "0123456789abcdef";
	(void)!write(STDERR_FILENO, "input: ", 7);
	for (size_t i = 0; i < current_size; i++) {
		const char hex[2] = { digits[current[i] >> 4], digits[current[i] & 15] };
		(void)!write(STDERR_FILENO, hex, 2);
	}
	(void)!write(STDERR_FILENO, "\n", 1);
	signal(number, SIG_DFL);
	raise(number);
}

/* In a block of its exact size, so that a sanitizer sees one byte too far. */
static void run(const uint8_t *data, size_t size)
{
	current = malloc(size ? size : 1);
	if (!current)
		abort();
	memcpy(current, data, size);
	current_size = size;
	(void)LLVMFuzzerTestOneInput(current, size);
	free(current);
}

static void read_corpus(const char *directory)
{
	DIR *d = opendir(directory);
	struct dirent *e;
	char path[4096];
	while (d && (e = readdir(d)) && file_count < FILES_MAX) {
		snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
		FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "rb");
		if (!f)
			continue;
		uint8_t *data = malloc(SIZE_MAX_BYTES);
		if (!data)
			abort();
		files[file_count].size = fread(data, 1, SIZE_MAX_BYTES, f);
		files[file_count++].data = data;
		fclose(f);
	}
	if (d)
		closedir(d);
}

static void change(uint8_t *data, size_t *size)
{
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff, '/', ':', '\n', ' ' };
	size_t at = *size ? rnd((uint32_t)*size) : 0, other, n;
	switch (*size ? rnd(6) : 3) {
	case 0:
		data[at] ^= (uint8_t)(1u << rnd(8));
		break;
	case 1:
		data[at] = edges[rnd(sizeof(edges))];
		break;
	case 2:
		*size = at;
		break;
	case 3: /* one more byte */
		if (*size < SIZE_MAX_BYTES) {
			memmove(data + at + 1, data + at, *size - at);
			data[at] = (uint8_t)rnd(256);
			++*size;
		}
		break;
	case 4: /* a piece from elsewhere */
		other = rnd((uint32_t)*size);
		n = rnd(16) + 1;
		n = n < *size - other ? n : *size - other;
		n = n < *size - at ? n : *size - at;
		memmove(data + at, data + other, n);
		break;
	default: /* a number of four bytes */
		n = *size - at < 4 ? *size - at : 4;
		memset(data + at, rnd(2) ? 0xff : 0, n);
		data[at] = (uint8_t)rnd(256);
		break;
	}
}

int main(int argc, char **argv)
{
	static uint8_t changed[SIZE_MAX_BYTES];
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
	static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGALRM };
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], on_crash);
	if (argc < 2)
		return 2;
	alarm(100);
	read_corpus(argv[1]);
	for (unsigned int i = 0; i < file_count; i++)
		run(files[i].data, files[i].size);
	printf("%s 1 corpus of %u\n", file_count ? "ok" : "not ok", file_count);
	for (unsigned long i = 0; file_count && i < rounds; i++) {
		unsigned int base = rnd(file_count);
		size_t size = files[base].size;
		memcpy(changed, files[base].data, size);
		for (uint32_t times = rnd(4) + 1; times; times--)
			change(changed, &size);
		run(changed, size);
	}
	printf("ok 2 changed\n");
	return file_count ? 0 : 1;
}
