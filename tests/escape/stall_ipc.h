/* For helper_stall.c: System V messages, semaphores, shared memory. */
#pragma once

#include "stall.h"

static int queue = -1;
static void prepare_messages(void)
{
	struct {
		long type;
	} message = { 1 };
	queue = msgget(IPC_PRIVATE, 0600);
	for (int i = 0; i < 300000 && msgsnd(queue, &message, 0, IPC_NOWAIT) == 0; i++)
		;
}

static void attack_messages(void)
{
	struct {
		long type;
		char text[10];
	} message;
	for (int i = 0; i < 10; i++)
		IGNORE(msgrcv(queue, &message, 10, 2, IPC_NOWAIT));
	msgctl(queue, IPC_RMID, NULL);
}

static int sems = -1;
static void prepare_sems(void)
{
	sems = semget(IPC_PRIVATE, 32000, 0600);
	if (sems < 0)
		sems = semget(IPC_PRIVATE, 250, 0600);
	for (int i = 0; i < 100; i++)
		if (fork() == 0) {
			struct sembuf ops[500];
			for (int k = 0; k < 500; k++)
				ops[k] = (struct sembuf){ (unsigned short)(k % 200), k == 499 ? -1000 : 1, SEM_UNDO };
			semop(sems, ops, 500);
			_exit(0);
		}
	usleep(200000);
}

static void attack_sems(void)
{
	struct sembuf ops[500];
	for (int k = 0; k < 500; k++)
		ops[k] = (struct sembuf){ (unsigned short)(k % 200), 1, SEM_UNDO };
	semop(sems, ops, 500);
	semctl(sems, 0, IPC_RMID);
	while (wait(NULL) > 0)
		;
}

static void prepare_attachments(void)
{
	/* Attached as often as there may be mappings, and inherited. */
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	if (!in_child())
		return;
	for (int i = 0; i < 20000; i++)
		if (shmat(id, NULL, 0) == (void *)-1)
			break;
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			getuid();
			pause();
		}
	child_ready();
}

static void attack_attachments(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	kill(-getpgrp(), 0);
	end_child();
}
