/* Inside of setup. */
#pragma once

#include "kernel/fs/setup.h"

/* Content of /etc/hosts, with the machine's name. */
#define HOSTS_FORMAT                                                                               \
	"127.0.0.1\tlocalhost\n"                                                                   \
	"::1\tlocalhost ip6-localhost ip6-loopback\n"                                              \
	"127.0.1.1\t%s\n"

struct inode;

/* Everything below /etc that is not the host's. */
int setup_etc(struct inode *root, const struct fs_plan *plan);
/* The allowed pieces of the host's /etc, as host root number `host_root`. */
int setup_etc_lower(struct inode *root, unsigned host_root);
/* The package database, so that dpkg -l and dpkg -S answer. */
int setup_dpkg_lower(struct inode *root, unsigned host_root);
/* Home directory content for one user. */
int setup_dotfiles(struct inode *home, uint32_t uid, uint32_t gid);
