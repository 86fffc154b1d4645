#include "interpreter/language.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

#define GUEST INTERPRETER_GUEST_DIR

/* A callback that an interrupt has ended must not end the whole process (guest/javascript/lib/guard.mjs). */
#define NODE_FLAGS "--no-force-async-hooks-checks"

static const struct language table[] = {
	{
		.name = "python",
		.aliases = { "python3", "py" },
		.program = "python3",
		.args = { GUEST "/python/driver.py" },
		.install = "install python3 and python3-ipython",
	},
	{
		.name = "javascript",
		.aliases = { "js", "node", "nodejs" },
		.program = "node",
		.args = { NODE_FLAGS, GUEST "/javascript/driver.cjs" },
		.install = "install nodejs",
	},
	{
		.name = "typescript",
		.aliases = { "ts" },
		.shares = "javascript",
		.program = "node",
		.args = { NODE_FLAGS, GUEST "/javascript/driver.cjs" },
		.install = "install nodejs",
	},
	{
		.name = "bash",
		.aliases = { "sh", "shell" },
		.program = "bash",
		.args = { GUEST "/bash/driver.sh" },
		.install = "install bash",
	},
	{
		.name = "r",
		.program = "Rscript",
		.args = { "--vanilla", GUEST "/r/driver.R" },
		.install = "install r-base-core",
	},
	{
		.name = "java",
		.program = "java",
		.args = { "@" GUEST "/java/arguments" },
		.install = "install default-jdk-headless",
	},
};

/* Every other name. The kernel's name is the last argument. */
static const struct language bridge = {
	.program = "python3",
	.args = { GUEST "/jupyter/bridge.py" },
	.install = "install python3, python3-jupyter-client and the Jupyter kernel",
};

/* Trimmed, in lower case; false: not a name. */
static bool normalize(const char *wanted, struct language_name *ret)
{
	size_t size = strlen(wanted), n = 0;

	while (size && isspace((unsigned char)wanted[size - 1]))
		size--;
	while (size && isspace((unsigned char)*wanted)) {
		wanted++;
		size--;
	}
	if (size > LANGUAGE_NAME_MAX)
		return false;
	for (; n < size; n++) {
		unsigned char c = (unsigned char)wanted[n];
		if (!isalnum(c) && !(c && strchr("._+-", c) && n > 0))
			return false;
		ret->text[n] = (char)tolower(c);
	}
	ret->text[n] = '\0';
	return true;
}

static bool is_called(const struct language *l, const char *name)
{
	if (strcmp(l->name, name) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(l->aliases) && l->aliases[i]; i++) {
		if (strcmp(l->aliases[i], name) == 0)
			return true;
	}
	return false;
}

static void make_bridge(const struct language_name *name, struct language *ret)
{
	size_t i = 0;

	*ret = bridge;
	ret->name = name->text;
	while (ret->args[i])
		i++;
	ret->args[i] = name->text;
}

bool language_find(const char *wanted, struct language_name *buffer, struct language *ret)
{
	if (!normalize(wanted ? wanted : "", buffer))
		return false;
	const char *name = buffer->text[0] ? buffer->text : table[0].name;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (is_called(&table[i], name)) {
			*ret = table[i];
			return true;
		}
	}
	make_bridge(buffer, ret);
	return true;
}

const struct language *language_at(size_t i)
{
	return i < ARRAY_SIZE(table) ? &table[i] : NULL;
}
