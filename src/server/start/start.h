/* What happens before the loop runs: directories, identity, descriptors, words to the person. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct config;
struct store;

/*
 * Makes the data directory with mode 0700 for `owner` (and, as root, gives it to it), and the directory
 * for stores, which stays the caller's.
 */
struct start_owner {
	uid_t uid;
	gid_t gid;
};
/* Who the server is to be: the caller, or for root somebody without rights. */
int start_choose_owner(const struct config *c, struct start_owner *ret, struct error *err);
int start_make_directories(const struct config *c, const struct start_owner *owner,
			   char *ret_store_dir, size_t size, struct error *err);
/* Gives up root's rights for good. Nothing happens for other callers. */
int start_drop_rights(const struct start_owner *owner, struct error *err);
/* One server per data directory: held until the process ends. */
int start_lock(const struct config *c, struct error *err);
/* As many descriptors as the host allows. */
void start_raise_descriptors(void);

/* Makes the first key when there is none; "" = there are some. */
int start_first_key(struct store *s, char *ret_key, size_t size, struct error *err);
/* Says on standard output where the server is, as lines to paste. port: of the first address. */
void start_announce(const struct config *c, uint16_t port, const char *key);

/* sd_notify(3): to the service manager, if there is one. */
void start_notify(const char *state);
