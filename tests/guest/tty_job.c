/*
 * Sessions and job control. Every test has its own session on a new pseudo-terminal: the test's
 * process plays the terminal emulator, a child is the session leader ("the shell"), grandchildren
 * are jobs.
 */
#include <sys/wait.h>

#include "tty_pair.h"

static struct pair tty;
static int events[2]; /* one byte per event, from the children to the test */

static void event(char c)
{
	CHECK_EQ(write(events[1], &c, 1), 1);
}

static void expect_event(char want)
{
	char c = 0;

	CHECK_EQ(read(events[0], &c, 1), 1);
	CHECK_EQ(c, want);
}

static volatile sig_atomic_t signals_seen;

static void on_signal(int sig)
{
	signals_seen++;
	char c = sig == SIGINT ? 'I' : sig == SIGQUIT ? 'Q' : sig == SIGWINCH ? 'W' :
		 sig == SIGHUP ? 'H' : sig == SIGCONT ? 'C' : sig == SIGTTOU ? 'O' : 'T';

	(void)!write(events[1], &c, 1);
}

static void wait_signals(int count)
{
	while (signals_seen < count)
		usleep(1000);
}

static void catch(int sig)
{
	struct sigaction sa = { .sa_handler = on_signal };

	CHECK_EQ(sigaction(sig, &sa, NULL), 0);
}

/* Starts the session leader: returns 0 in it. It has the terminal as controlling terminal. */
static pid_t start_session(void)
{
	tty.master = open_master(tty.name, sizeof(tty.name));
	CHECK_EQ(pipe(events), 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	close(tty.master);
	CHECK(setsid() > 0);
	tty.slave = open(tty.name, O_RDWR);
	CHECK(tty.slave >= 0);
	alarm(CHECK_TIMEOUT_S);
	return 0;
}

static void finish(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* A job in its own group; in the child returns 0 after the group is set. */
static pid_t start_job(bool foreground)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	setpgid(pid, pid);
	if (pid && foreground)
		CHECK_EQ(tcsetpgrp(tty.slave, pid), 0);
	if (!pid && foreground) {
		while (tcgetpgrp(tty.slave) != getpid())
			usleep(1000);
	}
	return pid;
}

/* The shell takes the terminal back, which a background process may not do with SIGTTOU alive. */
static void to_foreground(pid_t pgid)
{
	signal(SIGTTOU, SIG_IGN);
	CHECK_EQ(tcsetpgrp(tty.slave, pgid), 0);
	signal(SIGTTOU, SIG_DFL);
}

TEST(open_acquires_the_terminal)
{
	pid_t pid = start_session();

	if (pid == 0) {
		CHECK_EQ(tcgetpgrp(tty.slave), getpid());
		CHECK_EQ(tcgetsid(tty.slave), getpid());
		int fd = open("/dev/tty", O_RDWR);
		CHECK(fd >= 0);
		CHECK_STR(ttyname(fd), "/dev/tty");
		put(fd, "hello");
		signal(SIGHUP, SIG_IGN); /* giving it up hangs up the own group, too */
		CHECK_EQ(ioctl(fd, TIOCNOTTY), 0);
		CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
		CHECK_ERRNO(tcgetpgrp(tty.slave), ENOTTY);
		/* Again, the explicit way. */
		CHECK_EQ(ioctl(tty.slave, TIOCSCTTY, 0), 0);
		CHECK_EQ(tcgetpgrp(tty.slave), getpid());
		CHECK_EQ(ioctl(tty.slave, TIOCSCTTY, 0), 0);
		/* setsid in a child: no terminal. */
		pid_t child = fork();
		if (child == 0) {
			CHECK(open("/dev/tty", O_RDWR) >= 0);
			CHECK(setsid() > 0);
			CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
			/* It belongs to another session. */
			CHECK_ERRNO(ioctl(tty.slave, TIOCSCTTY, 0), EPERM);
			CHECK(open(tty.name, O_RDWR) >= 0);
			CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
			_exit(0);
		}
		finish(child);
		_exit(0);
	}
	expect(tty.master, "hello");
	finish(pid);
}

TEST(noctty_does_not)
{
	pid_t pid = start_session();

	if (pid == 0) {
		signal(SIGHUP, SIG_IGN);
		CHECK_EQ(ioctl(tty.slave, TIOCNOTTY), 0);
		int fd = open(tty.name, O_RDWR | O_NOCTTY);
		CHECK_ERRNO(tcgetpgrp(fd), ENOTTY);
		CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
		/* Nor for somebody who leads no session. */
		pid_t child = fork();
		if (child == 0) {
			CHECK(open(tty.name, O_RDWR) >= 0);
			CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
			CHECK_ERRNO(ioctl(tty.slave, TIOCSCTTY, 0), EPERM);
			_exit(0);
		}
		finish(child);
		_exit(0);
	}
	finish(pid);
}

TEST(keys_signal_the_foreground_group)
{
	pid_t pid = start_session();

	if (pid == 0) {
		catch(SIGINT);
		catch(SIGQUIT);
		event('r');
		wait_signals(2);
		pid_t job = start_job(true);
		if (job == 0) {
			signals_seen = 0;
			event('j');
			wait_signals(1);
			_exit(0);
		}
		signal(SIGINT, SIG_IGN);
		finish(job);
		_exit(0);
	}
	expect_event('r');
	put(tty.master, "\x03");
	expect_event('I');
	put(tty.master, "\x1c");
	expect_event('Q');
	expect_event('j');
	put(tty.master, "\x03");
	expect_event('I');
	finish(pid);
}

TEST(suspend_and_continue)
{
	pid_t pid = start_session();
	int status;

	if (pid == 0) {
		pid_t job = start_job(true);
		if (job == 0) {
			event('j');
			CHECK_STR(get(tty.slave), "line\n");
			_exit(3);
		}
		CHECK_EQ(waitpid(job, &status, WUNTRACED), job);
		CHECK(WIFSTOPPED(status));
		CHECK_EQ(WSTOPSIG(status), SIGTSTP);
		to_foreground(getpid());
		CHECK_EQ(tcsetpgrp(tty.slave, job), 0);
		CHECK_EQ(kill(-job, SIGCONT), 0);
		event('c');
		CHECK_EQ(waitpid(job, &status, 0), job);
		CHECK_EQ(WEXITSTATUS(status), 3);
		_exit(0);
	}
	expect_event('j');
	put(tty.master, "\x1a");
	expect_event('c');
	put(tty.master, "line\n");
	finish(pid);
}

TEST(background_read_stops)
{
	pid_t pid = start_session();
	int status;

	if (pid == 0) {
		pid_t job = start_job(false);
		if (job == 0) {
			while (getpgrp() != getpid())
				usleep(1000);
			CHECK_STR(get(tty.slave), "for the job\n");
			_exit(4);
		}
		CHECK_EQ(waitpid(job, &status, WUNTRACED), job);
		CHECK(WIFSTOPPED(status));
		CHECK_EQ(WSTOPSIG(status), SIGTTIN);
		CHECK_EQ(tcsetpgrp(tty.slave, job), 0);
		CHECK_EQ(kill(-job, SIGCONT), 0);
		event('c');
		CHECK_EQ(waitpid(job, &status, 0), job);
		CHECK_EQ(WEXITSTATUS(status), 4);
		_exit(0);
	}
	expect_event('c');
	put(tty.master, "for the job\n");
	finish(pid);
}

TEST(background_read_with_a_handler)
{
	pid_t pid = start_session();

	if (pid == 0) {
		pid_t job = start_job(false);
		if (job == 0) {
			char c;
			while (getpgrp() != getpid())
				usleep(1000);
			catch(SIGTTIN);
			CHECK_ERRNO(read(tty.slave, &c, 1), EINTR);
			CHECK_EQ(fcntl(tty.slave, F_SETFL, O_NONBLOCK), 0);
			CHECK_ERRNO(read(tty.slave, &c, 1), EINTR);
			/* Ignored or blocked: there is nothing to wait for. */
			signal(SIGTTIN, SIG_IGN);
			CHECK_ERRNO(read(tty.slave, &c, 1), EIO);
			_exit(0);
		}
		finish(job);
		_exit(0);
	}
	expect_event('T');
	expect_event('T');
	finish(pid);
}

TEST(background_write)
{
	pid_t pid = start_session();
	int status;

	if (pid == 0) {
		pid_t job = start_job(false);
		if (job == 0) {
			while (getpgrp() != getpid())
				usleep(1000);
			put(tty.slave, "allowed\n");
			signal(SIGTTOU, SIG_IGN);
			set_flags(tty.slave, TOSTOP, 0);
			put(tty.slave, "ignored\n");
			signal(SIGTTOU, SIG_DFL);
			put(tty.slave, "stopped\n");
			_exit(0);
		}
		CHECK_EQ(waitpid(job, &status, WUNTRACED), job);
		CHECK(WIFSTOPPED(status));
		CHECK_EQ(WSTOPSIG(status), SIGTTOU);
		put(tty.slave, "shell\n");
		CHECK_EQ(tcsetpgrp(tty.slave, job), 0);
		CHECK_EQ(kill(-job, SIGCONT), 0);
		finish(job);
		_exit(0);
	}
	expect(tty.master, "allowed\r\nignored\r\nshell\r\nstopped\r\n");
	finish(pid);
}

TEST(background_settings)
{
	pid_t pid = start_session();
	int status;

	if (pid == 0) {
		pid_t job = start_job(false);
		if (job == 0) {
			struct termios t;
			while (getpgrp() != getpid())
				usleep(1000);
			CHECK_EQ(tcgetattr(tty.slave, &t), 0);
			catch(SIGTTOU);
			CHECK_ERRNO(tcsetattr(tty.slave, TCSANOW, &t), EINTR);
			CHECK_ERRNO(tcsetpgrp(tty.slave, getpid()), EINTR);
			signal(SIGTTOU, SIG_DFL);
			CHECK_EQ(tcsetpgrp(tty.slave, getpid()), 0); /* stops here */
			_exit(0);
		}
		CHECK_EQ(waitpid(job, &status, WUNTRACED), job);
		CHECK(WIFSTOPPED(status));
		CHECK_EQ(WSTOPSIG(status), SIGTTOU);
		CHECK_EQ(tcsetpgrp(tty.slave, job), 0);
		CHECK_EQ(kill(-job, SIGCONT), 0);
		finish(job);
		_exit(0);
	}
	expect_event('O');
	expect_event('O');
	finish(pid);
}

TEST(orphaned_group_gets_eio)
{
	pid_t pid = start_session();

	if (pid == 0) {
		pid_t middle = fork();
		if (middle == 0) {
			int go[2];
			char c;
			CHECK_EQ(pipe(go), 0);
			if (fork() == 0) {
				CHECK_EQ(setpgid(0, 0), 0);
				close(go[1]);
				CHECK_EQ(read(go[0], &c, 1), 0); /* the parent is gone */
				while (getppid() != 1)
					usleep(1000);
				bool eio = read(tty.slave, &c, 1) < 0 && errno == EIO;
				event(eio ? 'e' : 'n');
				_exit(0);
			}
			_exit(0);
		}
		finish(middle);
		pause();
	}
	expect_event('e');
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(set_foreground_errors)
{
	pid_t pid = start_session();

	if (pid == 0) {
		CHECK_ERRNO(tcsetpgrp(tty.slave, -1), EINVAL);
		CHECK_ERRNO(tcsetpgrp(tty.slave, 999999), ESRCH);
		CHECK_ERRNO(tcsetpgrp(tty.slave, getppid()), EPERM);
		struct pair other = open_pair();
		CHECK_ERRNO(tcsetpgrp(other.slave, getpid()), ENOTTY);
		CHECK_ERRNO(tcgetsid(other.slave), ENOTTY);
		_exit(0);
	}
	CHECK_EQ(setpgid(0, 0), 0); /* a group of its own for the EPERM */
	finish(pid);
}

TEST(window_change_signals)
{
	struct winsize ws = { .ws_row = 10, .ws_col = 20 };
	pid_t pid = start_session();

	if (pid == 0) {
		catch(SIGWINCH);
		event('r');
		wait_signals(1);
		CHECK_EQ(ioctl(tty.slave, TIOCGWINSZ, &ws), 0);
		CHECK_EQ(ws.ws_col, 21);
		_exit(0);
	}
	expect_event('r');
	ws.ws_col = 21;
	CHECK_EQ(ioctl(tty.master, TIOCSWINSZ, &ws), 0);
	expect_event('W');
	finish(pid);
	CHECK_EQ(ioctl(tty.master, TIOCSWINSZ, &ws), 0);
}

TEST(master_close_hangs_up)
{
	pid_t pid = start_session();

	if (pid == 0) {
		catch(SIGHUP);
		event('r');
		wait_signals(1);
		CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
		_exit(0);
	}
	expect_event('r');
	close(tty.master);
	expect_event('H');
	finish(pid);
}

TEST(master_close_kills_the_session)
{
	pid_t pid = start_session();
	int status;
	char c;

	if (pid == 0) {
		pid_t job = start_job(true);
		if (job == 0) {
			event('j');
			pause();
			_exit(0);
		}
		pause();
		_exit(0);
	}
	expect_event('j');
	close(tty.master);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
	/* The job was in the foreground: the leader's end has killed it, too. */
	close(events[1]);
	CHECK_EQ(read(events[0], &c, 1), 0);
}

TEST(leader_exit_hangs_up_the_foreground)
{
	pid_t pid = start_session();

	if (pid == 0) {
		pid_t job = start_job(true);
		if (job == 0) {
			catch(SIGHUP);
			event('j');
			wait_signals(1);
			CHECK_ERRNO(open("/dev/tty", O_RDWR), ENXIO);
			event('d');
			_exit(0);
		}
		char c;
		CHECK_EQ(read(events[0], &c, 1), 1);
		_exit(0);
	}
	finish(pid);
	expect_event('H');
	expect_event('d');
	close(tty.master);
}

TEST(exit_of_everybody_is_eio_for_the_master)
{
	pid_t pid = start_session();
	char buf[100];
	ssize_t n;

	if (pid == 0) {
		put(tty.slave, "done");
		_exit(0);
	}
	expect(tty.master, "done");
	n = read(tty.master, buf, sizeof(buf));
	CHECK(n == -1 && errno == EIO);
	finish(pid);
}

CHECK_MAIN()
