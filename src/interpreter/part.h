/* What results and errors consist of: the types of parts and their fields in the lines of /execute. */
#pragma once

#include <stdbool.h>

enum part_form {
	PART_TEXT, /* a JSON string, passed on as it comes */
	PART_JSON, /* JSON, held until it is complete */
};

struct part_kind {
	const char *type;  /* as in "part TYPE SIZE" */
	const char *field; /* of the line */
	enum part_form form;
	bool of_error; /* else of a result */
};

/* The rows' numbers are bits of a set: at most 32. */
#define PART_KINDS 15

extern const struct part_kind part_kinds[PART_KINDS];
/* The row's number, -1 = none of a result (a field of `extra`), or none of an error. */
int part_find(const char *type, bool of_error);
/* Of a type without a row. */
enum part_form part_form_of(const char *type);
