#include "interpreter/part.h"

#include <string.h>

const struct part_kind part_kinds[PART_KINDS] = {
	{ "text/plain", "text", PART_TEXT, false },
	{ "text/html", "html", PART_TEXT, false },
	{ "text/markdown", "markdown", PART_TEXT, false },
	{ "image/svg+xml", "svg", PART_TEXT, false },
	{ "image/png", "png", PART_TEXT, false },
	{ "image/jpeg", "jpeg", PART_TEXT, false },
	{ "application/pdf", "pdf", PART_TEXT, false },
	{ "text/latex", "latex", PART_TEXT, false },
	{ "application/javascript", "javascript", PART_TEXT, false },
	{ "application/json", "json", PART_JSON, false },
	{ "e2b/data", "data", PART_JSON, false },
	{ "e2b/chart", "chart", PART_JSON, false },
	{ "name", "name", PART_TEXT, true },
	{ "value", "value", PART_TEXT, true },
	{ "traceback", "traceback", PART_TEXT, true },
};

int part_find(const char *type, bool of_error)
{
	for (int i = 0; i < PART_KINDS; i++) {
		if (part_kinds[i].of_error == of_error && strcmp(part_kinds[i].type, type) == 0)
			return i;
	}
	return -1;
}

enum part_form part_form_of(const char *type)
{
	static const char suffix[] = "+json";
	size_t size = strlen(type);

	return size >= sizeof(suffix) && strcmp(type + size - (sizeof(suffix) - 1), suffix) == 0
		       ? PART_JSON
		       : PART_TEXT;
}
