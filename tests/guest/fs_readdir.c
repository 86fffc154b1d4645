/* Reading directories, also while they change. */
#include "check.h"
#include "fs_dir.h"

#include <dirent.h>
#include <sys/syscall.h>

TEST(all_entries_with_types)
{
	fs_enter();
	CHECK_EQ(mkdir("d", 0755), 0);
	fs_put("f", "");
	CHECK_EQ(symlink("f", "l"), 0);
	CHECK_EQ(mkfifo("p", 0600), 0);
	DIR *dir = opendir(".");
	struct dirent *e;
	char seen[8] = "";
	while ((e = readdir(dir))) {
		struct stat st = fs_stat(e->d_name);
		if (strcmp(e->d_name, "..") != 0)
			CHECK_EQ(st.st_ino, e->d_ino);
		CHECK(e->d_type == DT_UNKNOWN || e->d_type == IFTODT(st.st_mode));
		if (e->d_name[0] != '.')
			strcat(seen, e->d_name);
	}
	CHECK_EQ(strlen(seen), 4);
	CHECK(strchr(seen, 'd') && strchr(seen, 'f') && strchr(seen, 'l') && strchr(seen, 'p'));
	closedir(dir);
	fs_leave();
}

#define MANY 1000

TEST(remove_while_reading)
{
	fs_enter();
	char name[32];
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "file_number_%d", i);
		fs_put(name, "");
	}
	DIR *dir = opendir(".");
	struct dirent *e;
	int removed = 0;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		CHECK_EQ(unlink(e->d_name), 0);
		removed++;
	}
	CHECK_EQ(removed, MANY);
	rewinddir(dir);
	int left = 0;
	while ((e = readdir(dir)))
		left++;
	CHECK_EQ(left, 2);
	closedir(dir);
	fs_leave();
}

TEST(positions)
{
	fs_enter();
	char name[32];
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		fs_put(name, "");
	}
	DIR *dir = opendir(".");
	struct dirent *e;
	for (int i = 0; i < 7; i++)
		CHECK(readdir(dir) != NULL);
	long at = telldir(dir);
	e = readdir(dir);
	CHECK(e != NULL);
	strcpy(name, e->d_name);
	while (readdir(dir))
		;
	seekdir(dir, at);
	e = readdir(dir);
	CHECK(e != NULL);
	CHECK_STR(e->d_name, name);
	closedir(dir);
	fs_leave();
}

TEST(rewinding_shows_changes)
{
	fs_enter();
	DIR *dir = opendir(".");
	int count = 0;
	while (readdir(dir))
		count++;
	CHECK_EQ(count, 2);
	fs_put("new", "");
	rewinddir(dir);
	count = 0;
	while (readdir(dir))
		count++;
	CHECK_EQ(count, 3);
	closedir(dir);
	fs_leave();
}

TEST(raw_calls)
{
	fs_enter();
	char buffer[1024];
	fs_put("f", "");
	int fd = open(".", O_RDONLY | O_DIRECTORY), file = open("f", O_RDONLY);
	CHECK_ERRNO(syscall(SYS_getdents64, fd, buffer, 8), EINVAL);
	CHECK_ERRNO(syscall(SYS_getdents64, file, buffer, sizeof(buffer)), ENOTDIR);
	CHECK_ERRNO(syscall(SYS_getdents64, 99, buffer, sizeof(buffer)), EBADF);
	CHECK_ERRNO(syscall(SYS_getdents64, fd, 8, sizeof(buffer)), EFAULT);
	long n = syscall(SYS_getdents, fd, buffer, sizeof(buffer));
	CHECK(n > 0);
	int seen = 0;
	for (long at = 0; at < n; seen++) {
		unsigned short size;
		memcpy(&size, buffer + at + 16, 2);
		char type = buffer[at + size - 1];
		const char *name = buffer + at + 18;
		CHECK_EQ(type, strcmp(name, "f") == 0 ? DT_REG : DT_DIR);
		at += size;
	}
	CHECK_EQ(seen, 3);
	CHECK_EQ(syscall(SYS_getdents, fd, buffer, sizeof(buffer)), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK(syscall(SYS_getdents64, fd, buffer, sizeof(buffer)) > 0);
	CHECK_EQ(mkdir("gone", 0755), 0);
	int gone = open("gone", O_RDONLY);
	CHECK_EQ(rmdir("gone"), 0);
	CHECK_ERRNO(syscall(SYS_getdents64, gone, buffer, sizeof(buffer)), ENOENT);
	fs_leave();
}

CHECK_MAIN()
