/* Bytes that are held until they are complete, counted in a budget. Internal to the interpreter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_budget;

struct hold {
	uint8_t *data;
	size_t size, capacity;
	struct stream_budget *budget;
};

void hold_init(struct hold *h, struct stream_budget *budget);
void hold_clear(struct hold *h);
/* -EMSGSIZE: more than `max` in all; -ENOMEM: no memory, or none left in the budget. Then unchanged. */
int hold_add(struct hold *h, const uint8_t *data, size_t size, size_t max);
/*
 * One more member of the object whose inside is in h: a comma if it is not the first, "type": and the
 * value, JSON as it is or text as a string. Same errors.
 */
int hold_add_extra(struct hold *h, const char *type, bool is_json, const struct hold *value,
		   size_t max);
