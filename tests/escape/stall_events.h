/* For helper_stall.c: poll, epoll and inotify with many items. */
#pragma once

#include "stall.h"

static struct pollfd *polled;
static int poll_count;
static void prepare_poll(void)
{
	struct rlimit limit;
	int p[2];
	many_files();
	getrlimit(RLIMIT_NOFILE, &limit);
	IGNORE(pipe(p));
	poll_count = (int)limit.rlim_cur;
	polled = malloc(sizeof(*polled) * limit.rlim_cur);
	for (int i = 0; i < poll_count; i++)
		polled[i] = (struct pollfd){ p[0], POLLIN, 0 };
}

static void attack_poll(void)
{
	poll(polled, (nfds_t)poll_count, 0);
	poll(polled, (nfds_t)poll_count, 20);
}

static void *poller(void *unused)
{
	poll(polled, (nfds_t)poll_count, 3000);
	return unused;
}

static int poll_wake;
static pthread_t pollers[12];
static void prepare_poll_many(void)
{
	/* Many threads that all wait for the same descriptor, many times each: one write wakes them all. */
	int p[2];
	prepare_poll();
	IGNORE(pipe(p));
	poll_wake = p[1];
	for (int i = 0; i < poll_count; i++)
		polled[i].fd = p[0];
	poll_count = poll_count > 250000 ? 250000 : poll_count;
	for (int i = 0; i < 12; i++)
		pthread_create(&pollers[i], NULL, poller, NULL);
	usleep(1500000);
}

static void attack_poll_many(void)
{
	IGNORE(write(poll_wake, "x", 1));
	for (int i = 0; i < 12; i++)
		pthread_join(pollers[i], NULL);
}

static int counter = -1;
static void prepare_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	many_files();
	counter = eventfd(0, EFD_NONBLOCK);
	for (int i = 0; i < 8; i++) {
		int set = epoll_create1(0);
		for (int k = 0; k < 3000; k++) {
			int copy = i ? 1000 + k : fcntl(counter, F_DUPFD, 1000 + k);
			if (copy < 0 || epoll_ctl(set, EPOLL_CTL_ADD, copy, &event) < 0)
				break;
		}
	}
}

static void attack_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t one = 1;
	int set = epoll_create1(0);
	IGNORE(write(counter, &one, 8));
	epoll_ctl(set, EPOLL_CTL_ADD, counter, &event);
	close(counter);
}

static int nest_top = -1, nest_event = -1;
static void prepare_nest(void)
{
	/* Five levels, everything watches everything below: the number of ways is 60^4. */
	int level[5][60];
	struct epoll_event event = { .events = EPOLLIN };
	nest_event = eventfd(0, EFD_NONBLOCK);
	many_files();
	for (int l = 0; l < 5; l++)
		for (int i = 0; i < 60; i++) {
			level[l][i] = epoll_create1(0);
			if (l == 0)
				epoll_ctl(level[l][i], EPOLL_CTL_ADD, nest_event, &event);
			for (int k = 0; l && k < 60; k++)
				epoll_ctl(level[l][i], EPOLL_CTL_ADD, level[l - 1][k], &event);
		}
	nest_top = level[4][0];
}

static void attack_nest(void)
{
	struct epoll_event got[64];
	uint64_t one = 1;
	for (int i = 0; i < 3; i++) {
		IGNORE(write(nest_event, &one, 8));
		epoll_wait(nest_top, got, 64, 0);
		IGNORE(read(nest_event, &one, 8));
		epoll_wait(nest_top, got, 64, 0);
	}
	close(epoll_create1(0));
	struct epoll_event event = { .events = EPOLLIN };
	epoll_ctl(nest_top, EPOLL_CTL_ADD, epoll_create1(0), &event);
}

static void prepare_inotify(void)
{
	many_files();
	close(open("watched", O_CREAT | O_WRONLY, 0600));
	for (int i = 0; i < 20000; i++) {
		int in = inotify_init1(IN_NONBLOCK);
		if (in < 0 || inotify_add_watch(in, "watched", IN_ALL_EVENTS) < 0)
			break;
	}
}

static void attack_inotify(void)
{
	int fd = open("watched", O_WRONLY);
	IGNORE(write(fd, "x", 1));
	close(fd);
	unlink("watched");
}
