/* A file as EntryInfo. Permissions are written as Go writes them. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "server/api/envd/envd_internal.h"
#include "server/api/reply.h"
#include "codec/time.h"
#include "wire/wire.h"

#define NS_PER_US 1000

static const char *const types[] = {
	[WIRE_ENTRY_OTHER] = "FILE_TYPE_UNSPECIFIED",
	[WIRE_ENTRY_FILE] = "FILE_TYPE_FILE",
	[WIRE_ENTRY_DIRECTORY] = "FILE_TYPE_DIRECTORY",
	[WIRE_ENTRY_SYMLINK] = "FILE_TYPE_UNSPECIFIED", /* it points nowhere */
};

/* Letters of the type, then nine of the rights: "drwxr-xr-x", "dtrwxrwxrwx", "Lrwxrwxrwx". */
static void format_permissions(uint32_t mode, char ret[24])
{
	static const struct {
		uint32_t type;
		const char *letters;
	} kinds[] = { { S_IFDIR, "d" }, { S_IFLNK, "L" },  { S_IFBLK, "D" },
		      { S_IFCHR, "Dc" }, { S_IFIFO, "p" }, { S_IFSOCK, "S" } };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if ((mode & S_IFMT) != kinds[i].type)
			continue;
		n = strlen(kinds[i].letters);
		memcpy(ret, kinds[i].letters, n);
	}
	if (mode & S_ISUID)
		ret[n++] = 'u';
	if (mode & S_ISGID)
		ret[n++] = 'g';
	if (mode & S_ISVTX)
		ret[n++] = 't';
	if (n == 0)
		ret[n++] = '-';
	for (int bit = 8; bit >= 0; bit--)
		ret[n++] = mode & (1u << bit) ? "xwr"[bit % 3] : '-';
	ret[n] = '\0';
}

static void set_metadata(json_t *o, const struct wire_entry *e)
{
	if (e->metadata_count == 0)
		return;
	json_t *metadata = json_object();
	for (uint32_t i = 0; i < e->metadata_count; i++) {
		json_t *value = json_string(e->metadata[i].value); /* NULL: not UTF-8 */
		if (value)
			json_object_set_new(metadata, e->metadata[i].key, value);
	}
	if (json_object_size(metadata))
		json_object_set_new(o, "metadata", metadata);
	else
		json_decref(metadata);
}

json_t *envd_entry_json(const struct wire_entry *e)
{
	char permissions[24], size[24], time[TIME_TEXT_SIZE];
	bool link = S_ISLNK(e->mode);
	uint32_t mode = link && e->target_mode ? e->target_mode : e->mode;

	format_permissions(e->mode, permissions);
	snprintf(size, sizeof(size), "%llu", (unsigned long long)e->size);
	time_format(e->mtime_ns / NS_PER_US, time);
	json_t *o = json_pack("{s:o, s:s, s:o, s:s, s:i, s:s, s:s, s:s, s:s}", "name",
			      reply_text(e->name), "type",
			      types[e->type <= WIRE_ENTRY_SYMLINK ? e->type : WIRE_ENTRY_OTHER],
			      "path", reply_text(e->path), "size", size, "mode", (int)(mode & 0777),
			      "permissions", permissions, "owner", e->owner, "group", e->group,
			      "modifiedTime", time);
	if (!o)
		return NULL;
	if (link)
		json_object_set_new(o, "symlinkTarget", reply_text(e->target));
	set_metadata(o, e);
	return o;
}
