#include "codec/authority.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "codec/token.h"

/* "[...]": bytes up to behind the bracket; 0 = no IPv6 address. */
static size_t literal_size(const char *s, size_t size)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr ignored;
	const char *end = memchr(s, ']', size);
	size_t inner = end ? (size_t)(end - s) - 1 : 0;
	if (inner == 0 || inner >= sizeof(address))
		return 0;
	memcpy(address, s + 1, inner);
	address[inner] = '\0';
	return inet_pton(AF_INET6, address, &ignored) == 1 ? inner + 2 : 0;
}

size_t authority_name_size(const char *s, size_t size)
{
	if (size && s[0] == '[')
		return literal_size(s, size);
	const char *colon = memchr(s, ':', size);
	return colon ? (size_t)(colon - s) : size;
}

int authority_check(const char *s, size_t size)
{
	size_t name = authority_name_size(s, size);
	uint64_t port;
	if (name == 0 || name > 255)
		return -EINVAL;
	if (s[0] != '[' && !text_is(s, name, CHAR_HOST))
		return -EINVAL;
	if (name == size)
		return 0;
	if (s[name] != ':' || size - name - 1 > 5)
		return -EINVAL;
	return text_number(s + name + 1, size - name - 1, UINT16_MAX, &port) < 0 ? -EINVAL : 0;
}

static bool is_id(const char *s, size_t size)
{
	if (size == 0 || size > SANDBOX_ID_MAX)
		return false;
	for (size_t i = 0; i < size; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !char_is(s[i], CHAR_DIGIT))
			return false;
	return true;
}

bool port_host_parse(const char *host, struct port_host *ret)
{
	size_t label = strcspn(host, ".:");
	size_t digits = strspn(host, "0123456789");
	uint64_t port;
	if (digits == 0 || digits > 5 || digits >= label || host[digits] != '-')
		return false;
	if (text_number(host, digits, UINT16_MAX, &port) < 0 || port == 0)
		return false;
	const char *id = host + digits + 1;
	size_t size = label - digits - 1;
	if (!is_id(id, size))
		return false;
	ret->port = (uint16_t)port;
	memcpy(ret->id, id, size);
	ret->id[size] = '\0';
	ret->domain = host[label] == '.' ? host + label + 1 : "";
	return true;
}
