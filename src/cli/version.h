#pragma once

/* The project's version, from the top meson.build. */
#ifndef HOTCELL_VERSION
#define HOTCELL_VERSION "unknown"
#endif
