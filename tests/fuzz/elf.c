/* ELF images. What is accepted can be mapped: page-aligned, in order, below the stub. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>

#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/elf.h"
#include "world.h"

static void check(const struct elf_image *image)
{
	uint64_t end = 0;
	FUZZ_CHECK(image->segment_count > 0);
	FUZZ_CHECK(image->segment_count <= sizeof(image->segments) / sizeof(image->segments[0]));
	FUZZ_CHECK(memchr(image->interp, 0, sizeof(image->interp)));
	FUZZ_CHECK(image->low < image->high && image->high <= STUB_BASE);
	FUZZ_CHECK(!(image->align & (image->align - 1)));
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct stub_segment *s = &image->segments[i];
		FUZZ_CHECK(s->length && !(s->address % 4096) && !(s->length % 4096) && !(s->offset % 4096));
		FUZZ_CHECK(s->address >= end && s->address >= image->low);
		end = s->address + s->length;
		FUZZ_CHECK(end <= image->high);
		FUZZ_CHECK(s->zero_from <= s->zero_to);
		FUZZ_CHECK(s->zero_from == 0 || (s->zero_from >= s->address && s->zero_to <= end));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image image;
	struct path p;
	if (size > 60000)
		return 0;
	world_put("/etc/program", data, size);
	FUZZ_CHECK(path_lookup(NULL, AT_FDCWD, "/etc/program", 0, &p) == 0);
	struct file *f = file_new(FOPS_TREE, p, p.dentry->inode, O_RDONLY);
	FUZZ_CHECK(f);
	if (elf_read(f, &image) == 0)
		check(&image);
	file_put(f);
	path_put(&p);
	return 0;
}
