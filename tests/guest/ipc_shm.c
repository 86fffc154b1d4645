/* System V shared memory: shared with a child, kept while attached, statistics, errors. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(shared_with_a_child)
{
	int id = shmget(IPC_PRIVATE, 10000, IPC_CREAT | 0600);
	CHECK(id >= 0);
	volatile int *p = shmat(id, NULL, 0);
	CHECK(p != (void *)-1);
	CHECK_EQ(p[100], 0);
	pid_t pid = fork();
	if (pid == 0) {
		p[100] = 42;
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK_EQ(p[100], 42);
	struct shmid_ds ds;
	CHECK(shmctl(id, IPC_STAT, &ds) == 0);
	CHECK_EQ(ds.shm_nattch, 1);
	CHECK_EQ(ds.shm_segsz, 10000);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
	p[7] = 7; /* still there */
	CHECK_EQ(p[7], 7);
	CHECK(shmdt((void *)(uintptr_t)p) == 0);
	CHECK_ERRNO(shmdt((void *)(uintptr_t)p), EINVAL);
	CHECK_ERRNO(shmctl(id, IPC_STAT, &ds), EINVAL);
}

TEST(found_by_key)
{
	key_t key = 0x48430000 + (getpid() & 0xffff);
	CHECK_ERRNO(shmget(key, 4096, 0600), ENOENT);
	int id = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600);
	CHECK(id >= 0);
	CHECK_EQ(shmget(key, 100, 0600), id);
	CHECK_ERRNO(shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
	CHECK_ERRNO(shmget(key, 8192, 0600), EINVAL);
	char *a = shmat(id, NULL, 0);
	char *b = shmat(id, NULL, SHM_RDONLY);
	CHECK(a != (void *)-1 && b != (void *)-1 && a != b);
	strcpy(a, "seen twice");
	CHECK(strcmp(b, "seen twice") == 0);
	CHECK(shmdt(a) == 0);
	CHECK(shmdt(b) == 0);
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
}

static void *attach_often(void *number)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	volatile long *own = shmat(id, NULL, 0);
	CHECK(own != (void *)-1);
	*own = (long)number;
	for (int i = 0; i < 200; i++) {
		volatile long *again = shmat(id, NULL, i % 2 ? SHM_RDONLY : 0);
		CHECK(again != (void *)-1);
		CHECK_EQ(*again, (long)number);
		CHECK_EQ(shmdt((void *)again), 0);
	}
	CHECK_EQ(shmdt((void *)own), 0);
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	return NULL;
}

TEST(threads_attach_at_the_same_time)
{
	pthread_t threads[4];
	for (long i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, attach_often, (void *)i), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

TEST(bad_arguments)
{
	CHECK_ERRNO(shmget(IPC_PRIVATE, 0, IPC_CREAT | 0600), EINVAL);
	CHECK_ERRNO((long)shmat(123456, NULL, 0), EINVAL);
	CHECK_ERRNO(shmdt((void *)0x1000), EINVAL);
}

CHECK_MAIN()
