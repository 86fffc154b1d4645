#include "codec/mime.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *extension, *type;
} types[] = {
	{ "avif", "image/avif" },
	{ "bmp", "image/bmp" },
	{ "bz2", "application/x-bzip2" },
	{ "c", "text/plain; charset=utf-8" },
	{ "css", "text/css; charset=utf-8" },
	{ "csv", "text/csv; charset=utf-8" },
	{ "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
	{ "gif", "image/gif" },
	{ "gz", "application/gzip" },
	{ "htm", "text/html; charset=utf-8" },
	{ "html", "text/html; charset=utf-8" },
	{ "ico", "image/x-icon" },
	{ "jpeg", "image/jpeg" },
	{ "jpg", "image/jpeg" },
	{ "js", "text/javascript; charset=utf-8" },
	{ "json", "application/json" },
	{ "log", "text/plain; charset=utf-8" },
	{ "md", "text/markdown; charset=utf-8" },
	{ "mjs", "text/javascript; charset=utf-8" },
	{ "mp3", "audio/mpeg" },
	{ "mp4", "video/mp4" },
	{ "parquet", "application/vnd.apache.parquet" },
	{ "pdf", "application/pdf" },
	{ "png", "image/png" },
	{ "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
	{ "py", "text/x-python; charset=utf-8" },
	{ "sh", "text/x-shellscript; charset=utf-8" },
	{ "svg", "image/svg+xml" },
	{ "tar", "application/x-tar" },
	{ "tif", "image/tiff" },
	{ "tiff", "image/tiff" },
	{ "txt", "text/plain; charset=utf-8" },
	{ "wasm", "application/wasm" },
	{ "wav", "audio/wav" },
	{ "webm", "video/webm" },
	{ "webp", "image/webp" },
	{ "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
	{ "xml", "text/xml; charset=utf-8" },
	{ "yaml", "application/yaml" },
	{ "yml", "application/yaml" },
	{ "zip", "application/zip" },
	{ "zst", "application/zstd" },
};

const char *mime_type(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcasecmp(types[i].extension, dot + 1) == 0)
			return types[i].type;
	}
	return "application/octet-stream";
}
