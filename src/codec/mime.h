/* Content types by the end of a file's name. */
#pragma once

/* "application/octet-stream" when nothing is known. */
const char *mime_type(const char *name);
