/* The "#!" line. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>

#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/script.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[SCRIPT_LINE_MAX + 1], *interp = NULL, *arg = NULL;
	struct path p;
	if (size > 60000)
		return 0;
	world_put("/etc/script", data, size);
	FUZZ_CHECK(path_lookup(NULL, AT_FDCWD, "/etc/script", 0, &p) == 0);
	struct file *f = file_new(FOPS_TREE, p, p.dentry->inode, O_RDONLY);
	FUZZ_CHECK(f);
	if (script_parse(f, line, &interp, &arg) == 1) {
		FUZZ_CHECK(interp > line && *interp && interp < line + sizeof(line));
		FUZZ_CHECK(!strpbrk(interp, " \t\n"));
		FUZZ_CHECK(!arg || (arg > interp && arg < line + sizeof(line) && *arg));
	}
	file_put(f);
	path_put(&p);
	return 0;
}
