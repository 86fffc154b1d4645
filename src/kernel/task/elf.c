#include "kernel/task/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"

#define PHDRS_MAX 64
/* Programs live below the stub; see abi/stub.h. */
#define IMAGE_TOP STUB_BASE

static int read_at(struct file *f, void *dst, size_t size, uint64_t offset)
{
	struct uio u;

	uio_kernel(&u, dst, size);
	ssize_t n = file_ops(f)->read ? file_ops(f)->read(f, &u, &offset) : -ENOEXEC;
	if (n < 0)
		return (int)n;
	return (size_t)n == size ? 0 : -ENOEXEC;
}

static bool header_ok(const Elf64_Ehdr *h)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_machine == EM_X86_64 &&
	       (h->e_type == ET_EXEC || h->e_type == ET_DYN) &&
	       h->e_phentsize == sizeof(Elf64_Phdr) && h->e_phnum > 0 && h->e_phnum <= PHDRS_MAX;
}

static struct stub_segment *segment_new(struct elf_image *image)
{
	if (image->segment_count >= ARRAY_SIZE(image->segments))
		return NULL;
	return &image->segments[image->segment_count++];
}

static uint32_t prot_of(uint32_t flags)
{
	return (flags & PF_R ? PROT_READ : 0u) | (flags & PF_W ? PROT_WRITE : 0u) |
	       (flags & PF_X ? PROT_EXEC : 0u);
}

/* One PT_LOAD: file pages, the zeroed rest of the last one, and anonymous pages behind. */
static int add_load(struct elf_image *image, const Elf64_Phdr *p)
{
	const uint64_t page = PAGE_SIZE;
	uint64_t end, file_end = p->p_vaddr + p->p_filesz;
	struct stub_segment *s;

	if (p->p_memsz == 0)
		return 0;
	if (p->p_filesz > p->p_memsz || p->p_vaddr >= IMAGE_TOP || p->p_memsz > IMAGE_TOP ||
	    p->p_vaddr + p->p_memsz > IMAGE_TOP || (p->p_vaddr - p->p_offset) % page ||
	    p->p_offset > INT64_MAX - p->p_filesz)
		return -EINVAL;
	end = ALIGN_UP(p->p_vaddr + p->p_memsz, page);
	uint64_t start = ALIGN_DOWN(p->p_vaddr, page);
	uint64_t mapped_end = p->p_filesz ? ALIGN_UP(file_end, page) : start;
	if (image->segment_count && start < image->high)
		return -EINVAL; /* out of order or overlapping */
	if (!image->segment_count)
		image->low = start;
	image->high = end;
	if (mapped_end > start) {
		s = segment_new(image);
		if (!s)
			return -ENOEXEC;
		s->address = start;
		s->length = mapped_end - start;
		s->offset = ALIGN_DOWN(p->p_offset, page);
		s->prot = prot_of(p->p_flags);
		if (p->p_memsz > p->p_filesz && (p->p_flags & PF_W)) {
			s->zero_from = file_end;
			s->zero_to = mapped_end;
		}
	}
	if (end > mapped_end) {
		s = segment_new(image);
		if (!s)
			return -ENOEXEC;
		s->address = mapped_end;
		s->length = end - mapped_end;
		s->prot = prot_of(p->p_flags);
		s->fd = -1;
	}
	return 0;
}

static int read_interp(struct file *f, const Elf64_Phdr *p, struct elf_image *image)
{
	if (p->p_filesz < 2 || p->p_filesz > sizeof(image->interp) || image->interp[0])
		return -ENOEXEC;
	int r = read_at(f, image->interp, p->p_filesz, p->p_offset);
	if (r < 0)
		return r;
	if (image->interp[p->p_filesz - 1] != '\0' ||
	    strlen(image->interp) != p->p_filesz - 1)
		return -ENOEXEC;
	return 0;
}

/* Where the program headers end up in memory: inside the segment that maps their file offset. */
static void locate_phdrs(struct elf_image *image, const Elf64_Phdr *p, uint64_t phoff)
{
	if (phoff >= p->p_offset && phoff - p->p_offset < p->p_filesz)
		image->phdr = p->p_vaddr + (phoff - p->p_offset);
}

int elf_read(struct file *f, struct elf_image *image)
{
	Elf64_Phdr phdrs[PHDRS_MAX];
	Elf64_Ehdr h;
	int r = read_at(f, &h, sizeof(h), 0);

	memset(image, 0, sizeof(*image));
	if (r < 0)
		return r;
	if (!header_ok(&h))
		return -ENOEXEC;
	r = read_at(f, phdrs, h.e_phnum * sizeof(phdrs[0]), h.e_phoff);
	if (r < 0)
		return r;
	image->type = h.e_type;
	image->entry = h.e_entry;
	image->phnum = h.e_phnum;
	image->align = PAGE_SIZE;
	image->exec_stack = false;
	for (int i = 0; i < h.e_phnum && r == 0; i++) {
		const Elf64_Phdr *p = &phdrs[i];
		switch (p->p_type) {
		case PT_LOAD:
			r = add_load(image, p);
			locate_phdrs(image, p, h.e_phoff);
			if (p->p_align > image->align && p->p_align <= MIB(2) &&
			    !(p->p_align & (p->p_align - 1)))
				image->align = p->p_align;
			break;
		case PT_INTERP:
			r = read_interp(f, p, image);
			break;
		case PT_GNU_STACK:
			image->exec_stack = p->p_flags & PF_X;
			break;
		default:
			break;
		}
	}
	if (r == 0 && !image->segment_count)
		r = -ENOEXEC;
	return r;
}
