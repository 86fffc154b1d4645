#include "kernel/host/jail_filter.h"

int jail_filter_install(void)
{
	return 0;
}
