/* System V semaphores and message queues. */
/* also as root */
#include "check.h"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <time.h>

static struct sembuf *volatile bad_address = (void *)8;
static int sem_id = -1, msg_id = -1;

static int sem_new(int count)
{
	sem_id = semget(IPC_PRIVATE, count, 0600);
	CHECK(sem_id >= 0);
	return sem_id;
}

static int op(int id, int num, int value, int flags)
{
	struct sembuf b = { .sem_num = (unsigned short)num, .sem_op = (short)value,
			    .sem_flg = (short)flags };

	return semop(id, &b, 1);
}

static void done(void)
{
	if (sem_id >= 0)
		CHECK_EQ(semctl(sem_id, 0, IPC_RMID), 0);
	if (msg_id >= 0)
		CHECK_EQ(msgctl(msg_id, IPC_RMID, NULL), 0);
}

TEST(sem_values)
{
	unsigned short all[3] = { 5, 6, 7 }, got[3];
	int id = sem_new(3);

	CHECK_EQ(semctl(id, 1, GETVAL), 0);
	CHECK_EQ(semctl(id, 1, SETVAL, 4), 0);
	CHECK_EQ(semctl(id, 1, GETVAL), 4);
	CHECK_EQ(semctl(id, 1, GETPID), getpid());
	CHECK_EQ(semctl(id, 0, SETALL, all), 0);
	CHECK_EQ(semctl(id, 0, GETALL, got), 0);
	CHECK_EQ(memcmp(all, got, sizeof(all)), 0);
	CHECK_ERRNO(semctl(id, 3, GETVAL), EINVAL);
	CHECK_ERRNO(semctl(id, 0, SETVAL, 32768), ERANGE);
	CHECK_ERRNO(semctl(id, 0, SETVAL, -1), ERANGE);
	done();
}

TEST(sem_operations)
{
	struct sembuf two[2] = { { 0, -1, IPC_NOWAIT }, { 1, -1, IPC_NOWAIT } };
	int id = sem_new(2);

	CHECK_EQ(op(id, 0, 2, 0), 0);
	CHECK_EQ(op(id, 0, -1, 0), 0);
	CHECK_EQ(semctl(id, 0, GETVAL), 1);
	CHECK_ERRNO(op(id, 0, -2, IPC_NOWAIT), EAGAIN);
	CHECK_ERRNO(op(id, 0, 0, IPC_NOWAIT), EAGAIN);
	CHECK_ERRNO(semop(id, two, 2), EAGAIN); /* all or nothing */
	CHECK_EQ(semctl(id, 0, GETVAL), 1);
	CHECK_EQ(op(id, 1, 1, 0), 0);
	CHECK_EQ(semop(id, two, 2), 0);
	CHECK_EQ(op(id, 0, 0, 0), 0);
	CHECK_EQ(op(id, 0, 32767, 0), 0);
	CHECK_ERRNO(op(id, 0, 1, 0), ERANGE);
	CHECK_ERRNO(op(id, 2, 1, 0), EFBIG);
	CHECK_ERRNO(semop(id, two, 0), EINVAL);
	CHECK_ERRNO(semop(id, two, 501), E2BIG);
	CHECK_ERRNO(semop(id, bad_address, 1), EFAULT);
	CHECK_ERRNO(semop(-1, two, 1), EINVAL);
	done();
}

TEST(sem_keys)
{
	key_t key = 0x5e0000 + (getpid() & 0xffff);
	struct semid_ds ds;

	CHECK_ERRNO(semget(key, 1, 0600), ENOENT);
	sem_id = semget(key, 2, IPC_CREAT | 0640);
	CHECK(sem_id >= 0);
	CHECK_EQ(semget(key, 0, 0), sem_id);
	CHECK_EQ(semget(key, 2, IPC_CREAT | 0640), sem_id);
	CHECK_ERRNO(semget(key, 2, IPC_CREAT | IPC_EXCL), EEXIST);
	CHECK_ERRNO(semget(key, 3, 0), EINVAL);
	CHECK_ERRNO(semget(IPC_PRIVATE, 0, 0600), EINVAL);
	CHECK_EQ(semctl(sem_id, 0, IPC_STAT, &ds), 0);
	CHECK_EQ(ds.sem_nsems, 2);
	CHECK_EQ(ds.sem_perm.mode & 0777, 0640);
	CHECK_EQ(ds.sem_perm.uid, geteuid());
	CHECK_EQ(ds.sem_perm.cgid, getegid());
	CHECK(ds.sem_ctime > 0);
	ds.sem_perm.mode = 0600;
	CHECK_EQ(semctl(sem_id, 0, IPC_SET, &ds), 0);
	int old = sem_id;
	done();
	CHECK_ERRNO(semctl(old, 0, GETVAL), EINVAL);
	CHECK_ERRNO(semget(key, 1, 0600), ENOENT);
}

TEST(sem_blocks_and_wakes)
{
	int id = sem_new(1);
	pid_t pid = fork();

	if (!pid) {
		CHECK_EQ(op(id, 0, -2, 0), 0);
		_exit(0);
	}
	while (semctl(id, 0, GETNCNT) != 1)
		usleep(1000);
	CHECK_EQ(semctl(id, 0, GETZCNT), 0);
	CHECK_EQ(op(id, 0, 1, 0), 0);
	CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
	CHECK_EQ(op(id, 0, 1, 0), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(semctl(id, 0, GETVAL), 0);
	CHECK_EQ(semctl(id, 0, GETPID), pid);
	done();
}

TEST(sem_wait_for_zero)
{
	int id = sem_new(1), status;

	CHECK_EQ(semctl(id, 0, SETVAL, 1), 0);
	pid_t pid = fork();
	if (!pid)
		_exit(op(id, 0, 0, 0) != 0);
	while (semctl(id, 0, GETZCNT) != 1)
		usleep(1000);
	CHECK_EQ(op(id, 0, -1, 0), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	done();
}

TEST(sem_removal_ends_waiting)
{
	int id = sem_new(1), status;
	pid_t pid = fork();

	if (!pid) {
		CHECK_ERRNO(op(id, 0, -1, 0), EIDRM);
		_exit(0);
	}
	while (semctl(id, 0, GETNCNT) != 1)
		usleep(1000);
	done();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(sem_timeout_and_signal)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct itimerval it = { { 0, 20000 }, { 0, 20000 } };
	struct timespec brief = { 0, 20000000 }, bad = { 0, -1 };
	struct sembuf take = { 0, -1, 0 };
	int id = sem_new(1);

	CHECK_ERRNO(semtimedop(id, &take, 1, &brief), EAGAIN);
	CHECK_ERRNO(semtimedop(id, &take, 1, &bad), EINVAL);
	CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	CHECK_ERRNO(semop(id, &take, 1), EINTR); /* in spite of SA_RESTART */
	CHECK_EQ(semctl(id, 0, GETNCNT), 0);
	done();
}

TEST(sem_undo)
{
	int id = sem_new(1);

	CHECK_EQ(semctl(id, 0, SETVAL, 5), 0);
	for (int how = 0; how < 2; how++) {
		pid_t pid = fork();
		if (!pid) {
			CHECK_EQ(op(id, 0, -3, SEM_UNDO), 0);
			CHECK_EQ(op(id, 0, 1, SEM_UNDO), 0);
			if (how)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		/* The adjustment is made when the process ends; a waiter sees it at the latest. */
		struct timespec limit = { 1000, 0 };
		struct sembuf all = { 0, -5, 0 };
		CHECK_EQ(semtimedop(id, &all, 1, &limit), 0);
		CHECK_EQ(semctl(id, 0, SETVAL, 5), 0);
	}
	done();
}

TEST(sem_as_a_lock)
{
	enum { PROCESSES = 4, ROUNDS = 200 };
	volatile int *counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int id = sem_new(1), status;

	CHECK_EQ(semctl(id, 0, SETVAL, 1), 0);
	for (int i = 0; i < PROCESSES; i++) {
		if (fork())
			continue;
		for (int r = 0; r < ROUNDS; r++) {
			CHECK_EQ(op(id, 0, -1, SEM_UNDO), 0);
			int v = *counter;
			if (r % 16 == 0)
				usleep(10);
			*counter = v + 1;
			CHECK_EQ(op(id, 0, 1, SEM_UNDO), 0);
		}
		_exit(0);
	}
	while (wait(&status) > 0)
		CHECK_EQ(status, 0);
	CHECK_EQ(*counter, PROCESSES * ROUNDS);
	done();
}

/* ---- messages ---- */

struct text {
	long type;
	char data[9000];
};

static int queue_new(void)
{
	msg_id = msgget(IPC_PRIVATE, 0600);
	CHECK(msg_id >= 0);
	return msg_id;
}

static int put(int id, long type, const char *data)
{
	struct text m = { .type = type };

	strcpy(m.data, data);
	return msgsnd(id, &m, strlen(data) + 1, IPC_NOWAIT);
}

static void expect(int id, long type, int flags, long got_type, const char *data)
{
	struct text m;

	CHECK_EQ(msgrcv(id, &m, sizeof(m.data), type, flags | IPC_NOWAIT), strlen(data) + 1);
	CHECK_EQ(m.type, got_type);
	CHECK_STR(m.data, data);
}

TEST(msg_order_and_types)
{
	struct text m;
	int id = queue_new();

	CHECK_EQ(put(id, 3, "three"), 0);
	CHECK_EQ(put(id, 1, "one"), 0);
	CHECK_EQ(put(id, 2, "two"), 0);
	CHECK_EQ(put(id, 1, "uno"), 0);
	expect(id, 0, 0, 3, "three");
	expect(id, 2, 0, 2, "two");
	CHECK_EQ(put(id, 5, "five"), 0);
	expect(id, 1, MSG_EXCEPT, 5, "five");
	CHECK_EQ(put(id, 4, "four"), 0);
	expect(id, -4, 0, 1, "one");
	expect(id, -4, 0, 1, "uno");
	expect(id, -4, 0, 4, "four");
	CHECK_ERRNO(msgrcv(id, &m, 10, 0, IPC_NOWAIT), ENOMSG);
	done();
}

TEST(msg_sizes)
{
	struct text m = { .type = 1 };
	int id = queue_new();

	CHECK_EQ(put(id, 1, "0123456789"), 0);
	CHECK_ERRNO(msgrcv(id, &m, 5, 0, 0), E2BIG);
	CHECK_EQ(msgrcv(id, &m, 5, 0, MSG_NOERROR), 5);
	CHECK_EQ(memcmp(m.data, "01234", 5), 0);
	CHECK_EQ(msgsnd(id, &m, 0, 0), 0);
	CHECK_EQ(msgrcv(id, &m, 0, 0, 0), 0);
	CHECK_ERRNO(msgsnd(id, &m, 8193, 0), EINVAL);
	CHECK_EQ(msgsnd(id, &m, 8192, IPC_NOWAIT), 0);
	CHECK_EQ(msgsnd(id, &m, 8192, IPC_NOWAIT), 0);
	CHECK_ERRNO(msgsnd(id, &m, 1, IPC_NOWAIT), EAGAIN);
	m.type = 0;
	CHECK_ERRNO(msgsnd(id, &m, 1, 0), EINVAL);
	done();
}

TEST(msg_stat_and_keys)
{
	key_t key = 0x6e0000 + (getpid() & 0xffff);
	struct msqid_ds ds;

	CHECK_ERRNO(msgget(key, 0600), ENOENT);
	msg_id = msgget(key, IPC_CREAT | 0600);
	CHECK_EQ(msgget(key, 0), msg_id);
	CHECK_ERRNO(msgget(key, IPC_CREAT | IPC_EXCL), EEXIST);
	CHECK_EQ(put(msg_id, 1, "abc"), 0);
	CHECK_EQ(msgctl(msg_id, IPC_STAT, &ds), 0);
	CHECK_EQ(ds.msg_qnum, 1);
	CHECK_EQ(ds.__msg_cbytes, 4);
	CHECK_EQ(ds.msg_lspid, getpid());
	CHECK_EQ(ds.msg_perm.mode & 0777, 0600);
	ds.msg_qbytes = 100;
	CHECK_EQ(msgctl(msg_id, IPC_SET, &ds), 0);
	CHECK_EQ(msgctl(msg_id, IPC_STAT, &ds), 0);
	CHECK_EQ(ds.msg_qbytes, 100);
	int old = msg_id;
	done();
	CHECK_ERRNO(msgctl(old, IPC_STAT, &ds), EINVAL);
}

TEST(msg_blocking_both_ways)
{
	enum { COUNT = 500 };
	struct {
		long type;
		int n;
		char pad[500];
	} m = { .type = 1 };
	int id = queue_new(), status;
	pid_t pid = fork();

	if (!pid) {
		for (m.n = 0; m.n < COUNT; m.n++) /* fills the queue: has to wait */
			CHECK_EQ(msgsnd(id, &m, sizeof(m) - sizeof(long), 0), 0);
		_exit(0);
	}
	for (int i = 0; i < COUNT; i++) {
		if (i == 100)
			usleep(10000);
		CHECK_EQ(msgrcv(id, &m, sizeof(m) - sizeof(long), 0, 0), sizeof(m) - sizeof(long));
		CHECK_EQ(m.n, i);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	done();
}

TEST(msg_removal_ends_waiting)
{
	struct text m;
	int id = queue_new(), status;
	pid_t pid = fork();

	if (!pid) {
		CHECK_ERRNO(msgrcv(id, &m, 10, 0, 0), EIDRM);
		_exit(0);
	}
	check_until_asleep(pid);
	done();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

CHECK_MAIN()
