/* Programs that are not what they claim: the kernel process reads their headers, the stub maps them. */
#include "attack.h"

#include <elf.h>

static unsigned char image[65536];
static Elf64_Ehdr *header = (Elf64_Ehdr *)image;
static Elf64_Phdr *segments = (Elf64_Phdr *)(image + sizeof(Elf64_Ehdr));

/* A tiny valid program: exit(0). */
static void make_valid(void)
{
	static const unsigned char code[] = { 0xb8, 231, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05 };
	memset(image, 0, sizeof(image));
	*header = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_EXEC,
				.e_machine = EM_X86_64, .e_version = 1, .e_entry = 0x400800, .e_phoff = sizeof(Elf64_Ehdr),
				.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
	segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = 0x400000, .p_paddr = 0x400000,
				    .p_filesz = 4096, .p_memsz = 4096, .p_align = 4096 };
	memcpy(image + 0x800, code, sizeof(code));
}

static int written_program(size_t size)
{
	char *argv[] = { (char *)"elf", NULL };
	unlink("elf");
	int fd = open("elf", O_WRONLY | O_CREAT, 0755);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, image, size), size);
	close(fd);
	return run_program("./elf", argv);
}

TEST(the_valid_one_runs)
{
	make_valid();
	CHECK_EQ(written_program(8192), 0);
	header->e_type = ET_DYN;
	segments[0].p_vaddr = 0;
	header->e_entry = 0x800;
	CHECK_EQ(written_program(8192), 0);
}

TEST(headers_that_lie)
{
	for (int way = 0; way < 40; way++) {
		make_valid();
		switch (way) {
		case 0: header->e_phnum = 0xffff; break;
		case 1: header->e_phoff = ~0ul; break;
		case 2: header->e_phoff = 1ul << 62; break;
		case 3: header->e_phentsize = 1; break;
		case 4: header->e_phentsize = 0xffff; break;
		case 5: header->e_phnum = 0; break;
		case 6: header->e_entry = 0xffff800000000000ul; break;
		case 7: header->e_entry = 0; break;
		case 8: segments[0].p_vaddr = 0xffffffff80000000ul; break;
		case 9: segments[0].p_vaddr = 0x7ffffffff000ul; break;
		case 10: segments[0].p_vaddr = ~0ul - 4095; break;
		case 11: segments[0].p_memsz = ~0ul; break;
		case 12: segments[0].p_filesz = ~0ul; segments[0].p_memsz = ~0ul; break;
		case 13: segments[0].p_filesz = 1ul << 46; segments[0].p_memsz = 1ul << 46; break;
		case 14: segments[0].p_offset = ~0ul - 100; break;
		case 15: segments[0].p_offset = 1ul << 60; break;
		case 16: segments[0].p_align = 1ul << 63; break;
		case 17: segments[0].p_align = 3; break;
		case 18: segments[0].p_align = 0; break;
		case 19: segments[0].p_offset = 1; break;
		case 20: segments[0].p_memsz = 1; break;
		case 21: header->e_machine = EM_386; break;
		case 22: header->e_machine = EM_AARCH64; break;
		case 23: header->e_ident[EI_CLASS] = ELFCLASS32; break;
		case 24: header->e_type = ET_CORE; break;
		case 25: segments[0].p_vaddr = STUB_AREA; header->e_entry = STUB_AREA + 0x800; break;
		case 26: segments[0].p_vaddr = 0; header->e_entry = 0x800; break;
		case 27: segments[0].p_flags = 0; break;
		case 28: segments[0].p_flags = PF_R | PF_W | PF_X; segments[0].p_memsz = 1ul << 40; break;
		case 29: segments[0].p_type = PT_INTERP; segments[0].p_filesz = 1ul << 40; break;
		case 30: segments[0].p_type = PT_NULL; break;
		case 31: header->e_ident[EI_DATA] = ELFDATA2MSB; break;
		case 32: segments[0].p_filesz = 0; break;
		case 33: segments[0].p_vaddr = 0x400001; break;
		case 34: segments[0].p_memsz = (1ul << 47) - 0x400000; break;
		case 35: header->e_phoff = 0xfffffffffffff000ul; header->e_phnum = 64; break;
		case 36: header->e_type = ET_DYN; segments[0].p_vaddr = 1ul << 47; break;
		case 37: segments[0].p_filesz = 1ul << 20; segments[0].p_memsz = 1ul << 20; break;
		case 38: header->e_version = 99; break;
		default: header->e_ehsize = 0; break;
		}
		written_program(8192); /* any end is fine */
	}
	check_alive();
}

TEST(segments_that_overlap_and_many_segments)
{
	make_valid();
	header->e_phnum = 1000;
	for (int i = 0; i < 1000; i++) {
		segments[i] = segments[0];
		segments[i].p_memsz = 4096;
	}
	written_program(sizeof(image));
	make_valid();
	header->e_phnum = 60;
	for (int i = 1; i < 30; i++) {
		segments[i] = segments[0];
		segments[i].p_vaddr = 0x400000ul + (unsigned long)i * (i & 1 ? 0x800ul : 0x10000000ul);
	}
	for (int i = 30; i < 60; i++)
		segments[i] = (Elf64_Phdr){ .p_type = PT_INTERP, .p_offset = 0x900, .p_filesz = 16, .p_memsz = 16 };
	written_program(8192);
	check_alive();
}

static void with_interpreter(const char *name, size_t size)
{
	make_valid();
	header->e_phnum = 2;
	segments[1] = (Elf64_Phdr){ .p_type = PT_INTERP, .p_offset = 0x900, .p_filesz = size, .p_memsz = size };
	memcpy(image + 0x900, name, strlen(name));
	int r = written_program(8192);
	if (r == 0)
		printf("# interpreter %s\n", name);
}

TEST(interpreters)
{
	char path[128] = "/work/elf";
	with_interpreter(path, 10);
	with_interpreter("/nonexistent", 13);
	with_interpreter("/etc/passwd", 12);
	with_interpreter("/", 2);
	with_interpreter("/dev/zero", 10);
	with_interpreter("/proc/self/exe", 15);
	with_interpreter("/x", 3);
	with_interpreter("", 0);
	with_interpreter("/bin/true", 9); /* no NUL */
	with_interpreter("/bin/true", 70000);
	check_alive();
}

static int script(const char *text, size_t size)
{
	char *argv[] = { (char *)"s", NULL };
	unlink("s");
	int fd = open("s", O_WRONLY | O_CREAT, 0755);
	CHECK_EQ(write(fd, text, size), size);
	close(fd);
	return run_program("./s", argv);
}

TEST(scripts)
{
	static char big[8192];
	CHECK(script("#!./s\n", 6) > 100);
	CHECK(script("#!\n", 3) > 0);
	CHECK(script("#!/", 3) > 0);
	CHECK(script("#!/x\n", 5) == 127);
	memset(big, 'a', sizeof(big));
	memcpy(big, "#!/", 3);
	CHECK(script(big, sizeof(big)) > 0);
	CHECK(script("#!/bin/true\0junk\n", 17) >= 0);
	CHECK(script("", 0) > 0);
	CHECK(script("\177ELF", 4) > 0);
	check_alive();
}

TEST(random_damage_to_a_real_program)
{
	int fd = open("/bin/true", O_RDONLY);
	static unsigned char real[65536];
	ssize_t size = read(fd, real, sizeof(real));
	CHECK(size > 1000);
	unsigned int seed = 12345;
	for (int i = 0; i < 120; i++) {
		memcpy(image, real, (size_t)size);
		for (int k = 0; k < 3; k++) {
			seed = seed * 1103515245 + 12345;
			unsigned int at = (seed >> 8) % 900;
			seed = seed * 1103515245 + 12345;
			image[at] = (unsigned char)(seed >> 16);
		}
		char *argv[] = { (char *)"elf", NULL };
		unlink("elf");
		int out = open("elf", O_WRONLY | O_CREAT, 0755);
		CHECK_EQ(write(out, image, (size_t)size), size);
		close(out);
		pid_t pid = fork();
		if (pid == 0) {
			alarm(2);
			execv("./elf", argv);
			_exit(126);
		}
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
	}
	check_alive();
}

TEST(huge_arguments)
{
	static char *argv[70000];
	static char word[131000];
	memset(word, 'a', sizeof(word) - 1);
	for (int i = 0; i < 69999; i++)
		argv[i] = (char *)"a";
	CHECK_EQ(run_program("/bin/true", argv), 0);
	for (int i = 0; i < 100; i++)
		argv[i] = word;
	argv[100] = NULL;
	CHECK_EQ(run_program("/bin/true", argv), 126); /* E2BIG */
	check_alive();
}

CHECK_MAIN()
