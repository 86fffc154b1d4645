/*
 * Lines of /execute as `hotcell code` shows them: whatever a server sends, in pieces of any size, is
 * shown in the same way, and with --json in printable ASCII. What it writes comes here.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "client/client.h"
#include "client/code_present.h"

struct output {
	size_t size;
	uint64_t sum;
	bool printable;
};

static struct output now;

int io_write_all(int fd, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++) {
		now.sum = now.sum * 31 + bytes[i] + (unsigned int)fd;
		now.printable &= bytes[i] == '\n' || (bytes[i] >= ' ' && bytes[i] <= '~');
	}
	now.size += size;
	return 0;
}

int client_fail(const struct error *err)
{
	return io_write_all(2, err->message, strlen(err->message));
}

static struct output show(const uint8_t *data, size_t size, size_t piece, bool json)
{
	struct presenter p;

	presenter_init(&p);
	p.json = json;
	p.numbered = true;
	p.images.count = IMAGES_MAX; /* no file is made */
	presenter_begin(&p);
	now = (struct output){ .printable = true };
	for (size_t at = 0; at < size; at += piece)
		presenter_take(&p, (const char *)data + at, size - at < piece ? size - at : piece);
	presenter_fini(&p);
	return now;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int json = 0; json < 2; json++) {
		struct output whole = show(data, size, size + 1, json);
		struct output split = show(data, size, 3, json);
		FUZZ_CHECK(whole.size == split.size && whole.sum == split.sum);
		FUZZ_CHECK(!json || whole.printable);
	}
	return 0;
}
