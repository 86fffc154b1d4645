/* Watchers of a sandbox outlive requests; they end with it. */
#pragma once

struct sandbox;

/* When the sandbox ends, or was rebooted. */
void watchers_free(struct sandbox *s);
