/*
 * The one network interface of a sandbox, as every interface that shows it needs it.
 */
#pragma once

#define LO_NAME "lo"
#define LO_INDEX 1
#define LO_MTU 65536
#define LO_FLAGS (0x1 | 0x8 | 0x40) /* IFF_UP | IFF_LOOPBACK | IFF_RUNNING */
#define LO_LOWER_UP 0x10000
#define LO_TXQLEN 1000
#define LO_ARPHRD 772 /* ARPHRD_LOOPBACK */
#define LO_PREFIX_IN 8
