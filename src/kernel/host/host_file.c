/*
 * Thin wrappers around the host calls that file systems need, on struct host_ref. Everything here
 * works on a descriptor or on one name below a directory descriptor; nothing takes a longer path,
 * so the confinement of host_ref.c (openat2) covers all of it.
 *
 * host-syscalls: pread64 pwrite64 fstat newfstatat ftruncate fallocate lseek fsync fdatasync
 * host-syscalls: copy_file_range fstatfs getdents64 readlinkat close mkdirat symlinkat linkat
 * host-syscalls: unlinkat renameat2 utimensat fgetxattr fsetxattr flistxattr fremovexattr
 * host-syscalls: fcntl
 */
#include "kernel/host/host_file.h"
#include "kernel/host/libc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/core/user.h"
#include "kernel/host/proc.h"

static char transfer[64 << 10]; /* readdir and copy; neither nests */

static bool is_component(const char *name)
{
	if (!name[0] || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	return !strchr(name, '/');
}

static int fd_and_name(struct host_ref *dir, const char *name)
{
	return is_component(name) ? host_ref_fd(dir) : -EINVAL;
}

static int result(int r)
{
	return r < 0 ? -errno : r;
}

/* ---- file content ---- */

ssize_t host_pread(struct host_ref *ref, void *dst, size_t size, uint64_t offset)
{
	int fd = host_ref_fd(ref);
	size_t done = 0;

	if (fd < 0)
		return fd;
	while (done < size) {
		ssize_t n = pread(fd, (char *)dst + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done ? (ssize_t)done : -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t host_pwrite(struct host_ref *ref, const void *src, size_t size, uint64_t offset)
{
	int fd = host_ref_fd(ref);
	size_t done = 0;

	if (fd < 0)
		return fd;
	while (done < size) {
		ssize_t n = pwrite(fd, (const char *)src + done, size - done,
				   (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return done ? (ssize_t)done : n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t host_read(struct host_ref *ref, struct uio *u, uint64_t offset, uint64_t end)
{
	char *scratch = scratch_buffer();
	ssize_t total = 0;

	while (u->resid > 0 && offset < end) {
		size_t want = (size_t)MIN(MIN((uint64_t)u->resid, end - offset), SCRATCH_SIZE);
		ssize_t n = host_pread(ref, u->task ? scratch : uio_kernel_at(u), want, offset);
		if (n > 0 && u->task)
			n = uio_put(u, scratch, (size_t)n);
		else if (n > 0)
			uio_skip(u, (size_t)n);
		if (n <= 0)
			return total ? total : n;
		total += n;
		offset += (uint64_t)n;
		if ((size_t)n < want)
			break;
	}
	return total;
}

ssize_t host_write(struct host_ref *ref, struct uio *u, size_t size, uint64_t offset)
{
	char *scratch = scratch_buffer();

	if (!u->task) {
		ssize_t sent = host_pwrite(ref, uio_kernel_at(u), MIN(size, u->resid), offset);
		if (sent > 0)
			uio_skip(u, (size_t)sent);
		return sent;
	}
	ssize_t got = uio_get(u, scratch, MIN(size, (size_t)SCRATCH_SIZE));

	if (got <= 0)
		return got;
	ssize_t n = host_pwrite(ref, scratch, (size_t)got, offset);
	if (n < got)
		uio_rewind(u, (size_t)(got - MAX(n, 0)));
	return n;
}

int host_fstat(struct host_ref *ref, struct stat *ret)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(fstat(fd, ret));
}

int host_truncate(struct host_ref *ref, uint64_t size)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(ftruncate(fd, (off_t)size));
}

int host_fallocate(struct host_ref *ref, int mode, uint64_t offset, uint64_t length)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(fallocate(fd, mode, (off_t)offset, (off_t)length));
}

int64_t host_seek(struct host_ref *ref, int64_t offset, int whence)
{
	int fd = host_ref_fd(ref);
	if (fd < 0)
		return fd;
	off_t at = lseek(fd, offset, whence);
	return at < 0 ? -errno : at;
}

int host_sync(struct host_ref *ref, bool data_only)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(data_only ? fdatasync(fd) : fsync(fd));
}

int host_statfs(struct host_ref *ref, struct statfs *ret)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(fstatfs(fd, ret));
}

static int copy_through_memory(int from, int to, uint64_t start, uint64_t end)
{
	while (start < end) {
		size_t want = (size_t)MIN(end - start, (uint64_t)sizeof(transfer));
		ssize_t n = pread(from, transfer, want, (off_t)start);
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		for (ssize_t done = 0; done < n;) {
			ssize_t w = pwrite(to, transfer + done, (size_t)(n - done),
					   (off_t)start + done);
			if (w <= 0)
				return w < 0 ? -errno : -EIO;
			done += w;
		}
		start += (uint64_t)n;
	}
	return 0;
}

/* One extent. copy_file_range can share blocks; between file systems memory has to do. */
static int copy_extent(int from, int to, uint64_t start, uint64_t end)
{
	off_t in = (off_t)start, out = (off_t)start;

	while ((uint64_t)in < end) {
		ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - (uint64_t)in), 0);
		if (n == 0)
			return 0;
		if (n < 0 && errno == ENOSPC)
			return -ENOSPC;
		if (n < 0)
			return copy_through_memory(from, to, (uint64_t)in, end);
	}
	return 0;
}

int host_copy(struct host_ref *from, struct host_ref *to, uint64_t size)
{
	int in = host_ref_fd(from);
	int out = in < 0 ? in : host_ref_fd(to);
	off_t at = 0;

	if (out < 0)
		return out;
	if (size <= sizeof(transfer))
		return copy_through_memory(in, out, 0, size);
	while ((uint64_t)at < size) {
		off_t data = lseek(in, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			return 0; /* only a hole is left */
		if (data < 0)
			data = at;
		off_t hole = lseek(in, data, SEEK_HOLE);
		if (hole <= data)
			hole = (off_t)size;
		int err = copy_extent(in, out, (uint64_t)data, MIN((uint64_t)hole, size));
		if (err < 0)
			return err;
		at = hole;
	}
	return 0;
}

/* ---- directories ---- */

struct linux_dirent64 {
	uint64_t d_ino;
	int64_t d_off;
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

static uint8_t type_of(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return (uint8_t)IFTODT(st.st_mode);
}

int host_readdir(struct host_ref *dir, host_emit_fn emit, void *ctx)
{
	int fd = host_ref_fd(dir);

	if (fd < 0)
		return fd;
	if (lseek(fd, 0, SEEK_SET) < 0) /* EBADF: it could be opened for searching only */
		return errno == EBADF ? -EACCES : -errno;
	for (;;) {
		long n = syscall(SYS_getdents64, fd, transfer, sizeof(transfer));
		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (long at = 0; at < n;) {
			struct linux_dirent64 *d = (void *)(transfer + at);
			at += d->d_reclen;
			if (!is_component(d->d_name))
				continue;
			uint8_t type = d->d_type;
			if (type == DT_UNKNOWN)
				type = type_of(fd, d->d_name);
			if (!emit(ctx, d->d_name, strlen(d->d_name), d->d_ino, type))
				return 0;
		}
	}
}

int host_stat_at(struct host_ref *dir, const char *name, struct stat *ret)
{
	int fd = fd_and_name(dir, name);
	return fd < 0 ? fd : result(fstatat(fd, name, ret, AT_SYMLINK_NOFOLLOW));
}

ssize_t host_readlink(struct host_ref *link, char *dst, size_t capacity)
{
	int fd = host_ref_open_path(link);
	if (fd < 0)
		return fd;
	ssize_t n = readlinkat(fd, "", dst, capacity);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

int host_mkdir_at(struct host_ref *dir, const char *name, uint32_t mode)
{
	int fd = fd_and_name(dir, name);
	return fd < 0 ? fd : result(mkdirat(fd, name, (mode_t)(mode & 03777)));
}

int host_symlink_at(struct host_ref *dir, const char *name, const char *target)
{
	int fd = fd_and_name(dir, name);
	return fd < 0 ? fd : result(symlinkat(target, fd, name));
}

int host_link(struct host_ref *file, struct host_ref *to_dir, const char *to)
{
	const char *name;
	int to_fd = fd_and_name(to_dir, to);

	if (to_fd < 0)
		return to_fd;
	int parent = host_ref_open_parent(file, &name);
	if (parent < 0)
		return parent;
	int err = result(linkat(parent, name, to_fd, to, 0));
	close(parent);
	return err;
}

int host_unlink_at(struct host_ref *dir, const char *name, bool is_directory)
{
	int fd = fd_and_name(dir, name);
	return fd < 0 ? fd : result(unlinkat(fd, name, is_directory ? AT_REMOVEDIR : 0));
}

int host_rename_at(struct host_ref *from_dir, const char *from, struct host_ref *to_dir,
		   const char *to, unsigned flags)
{
	int from_fd = fd_and_name(from_dir, from);
	int to_fd = from_fd < 0 ? from_fd : fd_and_name(to_dir, to);
	/* Not renameat2(): glibc's makes another call when there are no flags. */
	return to_fd < 0 ? to_fd
			 : result((int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags));
}

/* ---- attributes ---- */

/*
 * Through O_PATH: the owner may change attributes of a file that its mode forbids to open. A file
 * never becomes set-user-id: other users of the host could run a guest's program as who started the
 * sandbox.
 */
int host_chmod(struct host_ref *ref, uint32_t mode)
{
	struct stat st;
	int fd = host_ref_open_path(ref);
	if (fd < 0)
		return fd;
	bool directory = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
	int err = host_proc_chmod(fd, mode & (directory ? 03777 : 01777));
	close(fd);
	return err;
}

static struct timespec time_or_omit(int64_t ns)
{
	if (ns == INT64_MIN)
		return (struct timespec){ .tv_nsec = UTIME_OMIT };
	int64_t sec = ns / 1000000000, rest = ns % 1000000000;
	if (rest < 0) {
		rest += 1000000000;
		sec--;
	}
	return (struct timespec){ .tv_sec = sec, .tv_nsec = rest };
}

int host_utimes(struct host_ref *ref, int64_t atime_ns, int64_t mtime_ns)
{
	struct timespec times[2] = { time_or_omit(atime_ns), time_or_omit(mtime_ns) };
	int fd = host_ref_open_path(ref);
	if (fd < 0)
		return fd;
	int err = result(utimensat(fd, "", times, AT_EMPTY_PATH));
	close(fd);
	return err;
}

ssize_t host_getxattr(struct host_ref *ref, const char *name, void *dst, size_t capacity)
{
	int fd = host_ref_fd(ref);
	if (fd < 0)
		return fd;
	ssize_t n = fgetxattr(fd, name, dst, capacity);
	return n < 0 ? -errno : n;
}

int host_setxattr(struct host_ref *ref, const char *name, const void *value, size_t size, int flags)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(fsetxattr(fd, name, value, size, flags));
}

ssize_t host_listxattr(struct host_ref *ref, char *dst, size_t capacity)
{
	int fd = host_ref_fd(ref);
	if (fd < 0)
		return fd;
	ssize_t n = flistxattr(fd, dst, capacity);
	return n < 0 ? -errno : n;
}

int host_removexattr(struct host_ref *ref, const char *name)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(fremovexattr(fd, name));
}

int host_get_seals(struct host_ref *ref)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(fcntl(fd, F_GET_SEALS));
}

int host_add_seals(struct host_ref *ref, unsigned seals)
{
	int fd = host_ref_fd(ref);
	return fd < 0 ? fd : result(fcntl(fd, F_ADD_SEALS, seals));
}
