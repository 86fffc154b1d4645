/* sendfile, splice, tee, vmsplice, copy_file_range. */
#include "check.h"
#include "fs_dir.h"

#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

TEST(sendfile_to_file_and_pipe)
{
	fs_enter();
	fs_put("in", "0123456789");
	int in = open("in", O_RDONLY), out = open("out", O_CREAT | O_RDWR, 0644), p[2];
	off_t at = 3;
	CHECK_EQ(sendfile(out, in, &at, 4), 4);
	CHECK_EQ(at, 7);
	CHECK_EQ(lseek(in, 0, SEEK_CUR), 0);
	CHECK_EQ(lseek(out, 0, SEEK_CUR), 4);
	CHECK_EQ(sendfile(out, in, NULL, 100), 10);
	CHECK_EQ(lseek(in, 0, SEEK_CUR), 10);
	CHECK_EQ(sendfile(out, in, NULL, 100), 0);
	CHECK_STR(fs_get("out"), "34560123456789");
	CHECK_EQ(pipe(p), 0);
	char text[16] = "";
	at = 0;
	CHECK_EQ(sendfile(p[1], in, &at, 5), 5);
	CHECK_EQ(read(p[0], text, 16), 5);
	CHECK_STR(text, "01234");
	at = -1;
	CHECK_ERRNO(sendfile(out, in, &at, 1), EINVAL);
	CHECK_ERRNO(sendfile(out, 99, NULL, 1), EBADF);
	CHECK_ERRNO(sendfile(in, in, NULL, 1), EBADF);
	CHECK_ERRNO(sendfile(out, p[0], NULL, 1), EINVAL);
	CHECK_ERRNO(sendfile(out, in, (off_t *)8, 1), EFAULT);
	fs_leave();
}

TEST(sendfile_blocks)
{
	fs_enter();
	size_t size = 700000, got = 0;
	char *a = malloc(size), *b = malloc(size);
	for (size_t i = 0; i < size; i++)
		a[i] = (char)(i * 31 + i / 1000);
	int f = open("f", O_CREAT | O_RDWR, 0644), p[2], status;
	CHECK_EQ(write(f, a, size), (long)size);
	CHECK_EQ(lseek(f, 0, SEEK_SET), 0);
	CHECK_EQ(pipe(p), 0);
	/* Into a pipe: what fits, then it waits for room. */
	pid_t pid = fork();
	if (pid == 0) {
		close(p[0]);
		ssize_t part;
		while ((part = sendfile(p[1], f, NULL, size)) > 0)
			CHECK(part <= 65536);
		_exit(part != 0);
	}
	close(p[1]);
	ssize_t n;
	while ((n = read(p[0], b + got, 5000)) > 0)
		got += (size_t)n;
	CHECK_EQ(got, size);
	CHECK_EQ(memcmp(a, b, size), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fs_leave();
}

TEST(sendfile_to_a_socket_sends_all)
{
	fs_enter();
	size_t size = 700000, got = 0;
	char *a = malloc(size), *b = malloc(size);
	for (size_t i = 0; i < size; i++)
		a[i] = (char)(i * 31 + i / 1000);
	int f = open("f", O_CREAT | O_RDWR, 0644), s[2], status;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
		SKIP("no sockets");
	CHECK_EQ(write(f, a, size), (long)size);
	pid_t pid = fork();
	if (pid == 0) {
		off_t at = 0;
		close(s[0]);
		CHECK_EQ(sendfile(s[1], f, &at, size), (long)size);
		CHECK_EQ(at, (long)size);
		_exit(0);
	}
	close(s[1]);
	ssize_t n;
	while ((n = read(s[0], b + got, 5000)) > 0)
		got += (size_t)n;
	CHECK_EQ(got, size);
	CHECK_EQ(memcmp(a, b, size), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fs_leave();
}

TEST(splice_file_and_pipe)
{
	fs_enter();
	fs_put("in", "hello splice");
	int in = open("in", O_RDONLY), out = open("out", O_CREAT | O_RDWR, 0644), p[2];
	loff_t from = 6, to = 2;
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(splice(in, &from, p[1], NULL, 100, 0), 6);
	CHECK_EQ(from, 12);
	CHECK_EQ(splice(p[0], NULL, out, &to, 4, 0), 4);
	CHECK_EQ(to, 6);
	CHECK_EQ(splice(p[0], NULL, out, NULL, 100, 0), 2);
	char text[8] = "";
	CHECK_EQ(pread(out, text, 8, 0), 6);
	CHECK_EQ(memcmp(text, "cespli", 6), 0);
	CHECK_ERRNO(splice(p[0], NULL, out, NULL, 10, SPLICE_F_NONBLOCK), EAGAIN);
	CHECK_ERRNO(splice(in, NULL, out, NULL, 10, 0), EINVAL);
	CHECK_ERRNO(splice(in, NULL, p[1], &to, 10, 0), ESPIPE);
	CHECK_ERRNO(splice(in, NULL, p[0], NULL, 10, 0), EBADF);
	CHECK_EQ(splice(in, NULL, p[1], NULL, 0, 0), 0);
	CHECK_EQ(splice(in, NULL, p[1], NULL, 5, 0), 5);
	CHECK_EQ(lseek(in, 0, SEEK_CUR), 5);
	close(p[1]);
	CHECK_EQ(splice(p[0], NULL, out, NULL, 100, 0), 5);
	CHECK_EQ(splice(p[0], NULL, out, NULL, 100, 0), 0);
	fs_leave();
}

TEST(splice_pipe_to_pipe)
{
	int a[2], b[2];
	char text[32] = "";
	CHECK_EQ(pipe(a), 0);
	CHECK_EQ(pipe(b), 0);
	CHECK_EQ(write(a[1], "pipes", 5), 5);
	CHECK_EQ(tee(a[0], b[1], 3, 0), 3);
	CHECK_EQ(splice(a[0], NULL, b[1], NULL, 100, 0), 5);
	CHECK_EQ(read(b[0], text, 32), 8);
	CHECK_STR(text, "pippipes");
	CHECK_ERRNO(tee(a[0], b[1], 10, SPLICE_F_NONBLOCK), EAGAIN);
	CHECK_ERRNO(tee(a[0], a[1], 10, 0), EINVAL);
	CHECK_ERRNO(splice(a[0], NULL, a[1], NULL, 10, 0), EINVAL);
	pid_t pid = fork();
	if (pid == 0) {
		usleep(30000);
		_exit(write(a[1], "late", 4) != 4);
	}
	CHECK_EQ(splice(a[0], NULL, b[1], NULL, 100, 0), 4);
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
}

TEST(vmsplice_both_ways)
{
	int p[2];
	char a[8] = "", b[8] = "";
	struct iovec out[2] = { { "mem", 3 }, { "ory", 3 } }, in[2] = { { a, 2 }, { b, 8 } };
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(vmsplice(p[1], out, 2, 0), 6);
	CHECK_EQ(vmsplice(p[0], in, 2, 0), 6);
	CHECK_STR(a, "me");
	CHECK_STR(b, "mory");
	CHECK_ERRNO(vmsplice(p[0], in, 2, SPLICE_F_NONBLOCK), EAGAIN);
	CHECK_EQ(vmsplice(p[1], out, 0, 0), 0);
}

TEST(copy_ranges)
{
	fs_enter();
	fs_put("in", "0123456789");
	int in = open("in", O_RDONLY), out = open("out", O_CREAT | O_RDWR, 0644);
	loff_t from = 2, to = 5;
	CHECK_EQ(copy_file_range(in, &from, out, &to, 3, 0), 3);
	CHECK_EQ(from, 5);
	CHECK_EQ(to, 8);
	CHECK_EQ(fs_stat("out").st_size, 8);
	CHECK_EQ(copy_file_range(in, NULL, out, NULL, 100, 0), 10);
	CHECK_EQ(copy_file_range(in, NULL, out, NULL, 100, 0), 0);
	CHECK_EQ(lseek(in, 0, SEEK_CUR), 10);
	CHECK_STR(fs_get("out"), "0123456789");
	int append = open("out", O_WRONLY | O_APPEND), rw = open("in", O_RDWR), p[2];
	from = 0;
	CHECK_ERRNO(copy_file_range(in, &from, append, NULL, 1, 0), EBADF);
	CHECK_ERRNO(copy_file_range(in, &from, in, NULL, 1, 0), EBADF);
	to = 1;
	CHECK_ERRNO(copy_file_range(rw, &from, rw, &to, 5, 0), EINVAL);
	to = 5;
	CHECK_EQ(copy_file_range(rw, &from, rw, &to, 5, 0), 5);
	CHECK_STR(fs_get("in"), "0123401234");
	CHECK_EQ(pipe(p), 0);
	CHECK_ERRNO(copy_file_range(p[0], NULL, out, NULL, 1, 0), EINVAL);
	CHECK_ERRNO(copy_file_range(in, NULL, out, NULL, 1, 8), EINVAL);
	int dir = open(".", O_RDONLY);
	CHECK_ERRNO(copy_file_range(dir, NULL, out, NULL, 1, 0), EISDIR);
	fs_leave();
}

TEST(sockets)
{
	fs_enter();
	int s[2], p[2];
	char text[32] = "";
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
		SKIP("no sockets");
	fs_put("f", "to a socket");
	int f = open("f", O_RDONLY);
	CHECK_EQ(sendfile(s[0], f, NULL, 100), 11);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(splice(s[1], NULL, p[1], NULL, 5, 0), 5);
	CHECK_EQ(read(p[0], text, 32), 5);
	CHECK_STR(text, "to a ");
	CHECK_EQ(write(p[1], "back", 4), 4);
	CHECK_EQ(splice(p[0], NULL, s[1], NULL, 4, 0), 4);
	CHECK_EQ(read(s[0], text, 32), 4);
	CHECK_EQ(memcmp(text, "back", 4), 0);
	fs_leave();
}

CHECK_MAIN()
