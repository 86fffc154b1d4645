/* Small texts of requests: URLs, queries, hosts, dates, base64, ranges, lists. */
#include "fuzz.h"

#include <string.h>
#include <sys/types.h>

#include "codec/authority.h"
#include "codec/base64.h"
#include "codec/httpdate.h"
#include "codec/mime.h"
#include "codec/range.h"
#include "codec/token.h"
#include "codec/url.h"

static char text[4096], out[3 * 4096 + 8], back[3 * 4096 + 8];

static void url(size_t size)
{
	ssize_t n = url_decode(text, size, true, out);
	FUZZ_CHECK(n <= (ssize_t)size);
	FUZZ_CHECK(n < 0 || !memchr(out, '\0', (size_t)n));
	size_t encoded = url_encode(text, size, out);
	FUZZ_CHECK(encoded <= 3 * size && strlen(out) == encoded);
	FUZZ_CHECK(url_decode(out, encoded, false, back) == (ssize_t)size);
	FUZZ_CHECK(!memcmp(back, text, size));
	struct query_field f;
	size_t at = 0, count = 0;
	while (query_next(text, size, &at, &f)) {
		FUZZ_CHECK(f.name >= text && f.value + f.value_size <= text + size);
		count++;
	}
	FUZZ_CHECK(count <= size);
	(void)query_find(text, "name", &f);
}

static void host(size_t size)
{
	struct port_host h;
	if (authority_check(text, size) == 0)
		FUZZ_CHECK(authority_name_size(text, size) > 0 &&
			   authority_name_size(text, size) <= size);
	if (!port_host_parse(text, &h))
		return;
	FUZZ_CHECK(h.port > 0 && h.id[0] && strlen(h.id) <= SANDBOX_ID_MAX);
	FUZZ_CHECK(strspn(h.id, "abcdefghijklmnopqrstuvwxyz0123456789") == strlen(h.id));
}

static void base64(size_t size)
{
	ssize_t n = base64_decode(text, size, out);
	FUZZ_CHECK(n <= (ssize_t)(size / 4 * 3 + 3));
	size_t encoded = base64_encode(text, size, out);
	FUZZ_CHECK(encoded == (size + 2) / 3 * 4);
	FUZZ_CHECK(base64_decode(out, encoded, back) == (ssize_t)size && !memcmp(back, text, size));
}

static void others(size_t size)
{
	int64_t time;
	char date[HTTP_DATE_SIZE];
	if (http_date_parse(text, &time) == 0) {
		http_date_format(time, date);
		FUZZ_CHECK(strcmp(date, text) == 0);
	}
	const char *element;
	size_t at = 0, element_size;
	while (text_list_next(text, size, &at, &element, &element_size))
		FUZZ_CHECK(element_size > 0 && element >= text &&
			   element + element_size <= text + size);
	uint64_t v;
	if (text_number(text, size, 1000000, &v) == 0)
		FUZZ_CHECK(v <= 1000000);
	FUZZ_CHECK(mime_type(text) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	fuzz_text(in, text, sizeof(text));
	size = strlen(text);
	url(size);
	host(size);
	base64(size);
	others(size);
	return 0;
}
