/* Requests of Linux 6.11 on pid namespaces, not in every linux/nsfs.h: see ioctl_nsfs(2). */
#pragma once

#include <linux/nsfs.h>
#include <sys/ioctl.h>

#ifndef NS_GET_PID_IN_PIDNS
#define NS_GET_PID_IN_PIDNS _IOR(NSIO, 0x8, int)
#define NS_GET_TGID_IN_PIDNS _IOR(NSIO, 0x9, int)
#endif
