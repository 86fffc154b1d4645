#include "kernel/modules.h"

#include <stddef.h>

#include "base/util.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/host/host_ref.h"
#include "kernel/mm/names.h"
#include "kernel/mm/shm.h"

int modules_init(void)
{
	/* Others make their state at first use. */
	static int (*const table[])(void) = { host_ref_init, mm_names_init, shm_init, tty_init };

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int r = table[i]();
		if (r < 0)
			return r;
	}
	return 0;
}
