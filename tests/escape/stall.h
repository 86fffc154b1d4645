/* For helper_stall.c: the thread that is watched, a child that holds what it has until it is told to end. */
#pragma once

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IGNORE(call) ((void)!(call))

static char block[1 << 20];

static uint64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- the second thread ---- */

static _Atomic uint64_t longest_us;
static _Atomic bool watching;

static void *watch(void *unused)
{
	for (;;) {
		uint64_t began = now_us();
		getuid();
		uint64_t took = now_us() - began;
		if (watching && took > longest_us)
			longest_us = took;
		if (!watching)
			usleep(200);
	}
	return unused;
}

/* In a child: its end, with all that it holds, is part of the attack. */
static pid_t child;
static int to_child[2], from_child[2];

static bool in_child(void)
{
	IGNORE(pipe(to_child));
	IGNORE(pipe(from_child));
	child = fork();
	if (child == 0)
		return true;
	close(to_child[0]);
	close(from_child[1]);
	char byte;
	IGNORE(read(from_child[0], &byte, 1)); /* it is ready */
	return false;
}

static void child_ready(void)
{
	char byte;
	IGNORE(write(from_child[1], "x", 1));
	IGNORE(read(to_child[0], &byte, 1));
	_exit(0);
}

static void end_child(void)
{
	IGNORE(write(to_child[1], "x", 1));
	waitpid(child, NULL, 0);
	close(to_child[1]);
	close(from_child[0]);
}

static void many_files(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void many_descriptors(void)
{
	many_files();
	int fd = open("/dev/null", O_RDONLY);
	for (int i = 0; i < 200000 && dup(fd) >= 0; i++)
		;
}
