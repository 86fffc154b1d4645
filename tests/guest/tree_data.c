/* Data of regular files: holes, growth across the inline limit, truncation, allocation. */
#include <linux/falloc.h>
#include <sys/uio.h>

#include "tree_dir.h"

TEST(sizes_around_the_inline_limit)
{
	enter_fresh();
	static char data[5000], back[5001];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + 1);
	static const size_t sizes[] = { 0, 1, 63, 64, 65, 2047, 2048, 2049, 4095, 4096, 4097, 5000 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct stat st;
		put_file("f", data, sizes[i]);
		CHECK_EQ(stat("f", &st), 0);
		CHECK_EQ(st.st_size, sizes[i]);
		CHECK_EQ(get_file("f", back, sizeof(back)), sizes[i]);
		CHECK(memcmp(data, back, sizes[i]) == 0);
	}
}

TEST(byte_by_byte_growth)
{
	enter_fresh();
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	for (int i = 0; i < 4200; i++) {
		char c = (char)i;
		CHECK_EQ(write(fd, &c, 1), 1);
	}
	static char back[4200];
	CHECK_EQ(pread(fd, back, sizeof(back), 0), 4200);
	for (int i = 0; i < 4200; i++)
		CHECK(back[i] == (char)i);
}

TEST(write_past_the_end_leaves_zeros)
{
	static char back[3000];
	enter_fresh();
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(pwrite(fd, "x", 1, 100), 1);
	CHECK_EQ(pwrite(fd, "y", 1, 2999), 1);
	CHECK_EQ(pread(fd, back, sizeof(back), 0), 3000);
	for (int i = 0; i < 3000; i++)
		CHECK_EQ(back[i], i == 100 ? 'x' : i == 2999 ? 'y' : 0);
}

TEST(truncate_and_grow_gives_zeros)
{
	static char data[3000], back[3000];
	enter_fresh();
	memset(data, 'a', sizeof(data));
	static const int sizes[] = { 100, 1500, 3000 };
	for (int k = 0; k < 3; k++) {
		put_file("f", data, (size_t)sizes[k]);
		CHECK_EQ(truncate("f", 10), 0);
		CHECK_EQ(truncate("f", sizes[k]), 0);
		CHECK_EQ(get_file("f", back, sizeof(back)), sizes[k]);
		for (int i = 0; i < sizes[k]; i++)
			CHECK_EQ(back[i], i < 10 ? 'a' : 0);
	}
	CHECK_ERRNO(truncate("f", -1), EINVAL);
	CHECK_ERRNO(truncate("none", 0), ENOENT);
	CHECK_ERRNO(truncate(".", 0), EISDIR);
}

TEST(sparse_file)
{
	enter_fresh();
	struct stat st;
	const off_t far = 1 << 30;
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(pwrite(fd, "end", 3, far), 3);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, far + 3);
	CHECK(st.st_blocks > 0 && st.st_blocks < 1000);
	CHECK_EQ(lseek(fd, 0, SEEK_DATA), far);
	CHECK_EQ(lseek(fd, 0, SEEK_HOLE), 0);
	CHECK_EQ(lseek(fd, far, SEEK_HOLE), far + 3);
	CHECK_ERRNO(lseek(fd, far + 3, SEEK_DATA), ENXIO);
	CHECK_ERRNO(lseek(fd, -1, SEEK_HOLE), ENXIO);
	char back[8];
	CHECK_EQ(pread(fd, back, 8, far), 3);
	CHECK_EQ(pread(fd, back, 8, 12345678), 8);
	CHECK_EQ(memcmp(back, "\0\0\0\0\0\0\0\0", 8), 0);
}

TEST(seek_data_of_small_files)
{
	enter_fresh();
	put_file("f", "hello", 5);
	int fd = open("f", O_RDONLY);
	CHECK_EQ(lseek(fd, 0, SEEK_DATA), 0);
	CHECK_EQ(lseek(fd, 2, SEEK_DATA), 2);
	CHECK_EQ(lseek(fd, 0, SEEK_HOLE), 5);
	CHECK_ERRNO(lseek(fd, 5, SEEK_DATA), ENXIO);
	CHECK_ERRNO(lseek(fd, 0, 77), EINVAL);
	CHECK_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK_EQ(lseek(fd, -2, SEEK_END), 3);
	CHECK_EQ(lseek(fd, 100, SEEK_CUR), 103);
	char c;
	CHECK_EQ(read(fd, &c, 1), 0);
}

TEST(fallocate_modes)
{
	enter_fresh();
	struct stat st;
	static char page[4096], back[4096];
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(fallocate(fd, 0, 0, 100000), 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, 100000);
	CHECK(st.st_blocks >= 100000 / 512);
	CHECK_EQ(fallocate(fd, FALLOC_FL_KEEP_SIZE, 100000, 300000), 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, 100000);
	memset(page, 'p', sizeof(page));
	CHECK_EQ(pwrite(fd, page, 4096, 0), 4096);
	CHECK_EQ(pwrite(fd, page, 4096, 4096), 4096);
	CHECK_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096), 0);
	CHECK_EQ(pread(fd, back, 4096, 4096), 4096);
	CHECK(back[0] == 0 && back[4095] == 0);
	CHECK_EQ(pread(fd, back, 4096, 0), 4096);
	CHECK(memcmp(page, back, 4096) == 0);
	CHECK_ERRNO(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4096), EOPNOTSUPP);
	CHECK_ERRNO(fallocate(fd, 0, -1, 10), EINVAL);
	CHECK_ERRNO(fallocate(fd, 0, 0, 0), EINVAL);
	int ro = open("f", O_RDONLY);
	CHECK_ERRNO(fallocate(ro, 0, 0, 10), EBADF);
}

TEST(append_is_at_the_end)
{
	enter_fresh();
	put_file("f", "one", 3);
	int a = open("f", O_WRONLY | O_APPEND), b = open("f", O_RDWR);
	CHECK_EQ(write(a, "two", 3), 3);
	CHECK_EQ(lseek(b, 0, SEEK_END), 6);
	CHECK_EQ(write(b, "!", 1), 1);
	CHECK_EQ(lseek(a, 0, SEEK_SET), 0);
	CHECK_EQ(write(a, "end", 3), 3);
	char back[16] = "";
	CHECK_EQ(get_file("f", back, sizeof(back) - 1), 10);
	CHECK_STR(back, "onetwo!end");
}

TEST(vectors_and_positions)
{
	enter_fresh();
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	struct iovec out[3] = { { (char[]){ "abc" }, 3 }, { (char[]){ "" }, 0 }, { (char[]){ "defgh" }, 5 } };
	CHECK_EQ(writev(fd, out, 3), 8);
	char x[4], y[10];
	struct iovec in[2] = { { x, 4 }, { y, 10 } };
	CHECK_EQ(preadv(fd, in, 2, 0), 8);
	CHECK(memcmp(x, "abcd", 4) == 0 && memcmp(y, "efgh", 4) == 0);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 8);
	CHECK_EQ(pwrite(fd, "Z", 1, 2), 1);
	CHECK_EQ(pread(fd, y, 10, 0), 8);
	CHECK(memcmp(y, "abZdefgh", 8) == 0);
	void *volatile nowhere = (void *)8;
	CHECK_ERRNO(pread(fd, nowhere, 4, 0), EFAULT);
	CHECK_ERRNO(pwrite(fd, nowhere, 4, 0), EFAULT);
}

TEST(unlinked_file_lives_on)
{
	enter_fresh();
	struct stat st;
	static char data[9000], back[9000];
	memset(data, 'u', sizeof(data));
	put_file("f", data, sizeof(data));
	int fd = open("f", O_RDWR);
	CHECK_EQ(unlink("f"), 0);
	CHECK_ERRNO(open("f", O_RDONLY), ENOENT);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_nlink, 0);
	CHECK_EQ(pwrite(fd, "X", 1, 8999), 1);
	CHECK_EQ(pread(fd, back, 9000, 0), 9000);
	CHECK(back[0] == 'u' && back[8999] == 'X');
}

TEST(many_small_files)
{
	enter_fresh();
	char name[32], back[32];
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		put_file(name, name, strlen(name));
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		CHECK_EQ(get_file(name, back, sizeof(back)), strlen(name));
		CHECK(memcmp(name, back, strlen(name)) == 0);
		if (i % 2)
			CHECK_EQ(unlink(name), 0);
	}
	CHECK_ERRNO(access("file-1", F_OK), ENOENT);
	CHECK_EQ(access("file-0", F_OK), 0);
}

TEST(big_file)
{
	enter_fresh();
	static char block[1 << 20];
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < 20; i++) {
		memset(block, 'a' + i, sizeof(block));
		CHECK_EQ(write(fd, block, sizeof(block)), sizeof(block));
	}
	for (int i = 0; i < 20; i++) {
		char c[2];
		CHECK_EQ(pread(fd, c, 2, ((off_t)i << 20) + (1 << 20) - 1), i == 19 ? 1 : 2);
		CHECK_EQ(c[0], 'a' + i);
	}
	CHECK_EQ(ftruncate(fd, 5), 0);
	struct stat st;
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(st.st_blocks <= 16);
}

CHECK_MAIN()
