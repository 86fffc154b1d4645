/* REBOOT: every process ends, the files stay. See reboot.c. */
#pragma once

#include <stdbool.h>

/* Nobody may make a process. */
bool reboot_active(void);
/* The event loop, every turn: true = ask again soon. */
bool reboot_tick(void);
