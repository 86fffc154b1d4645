#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/util.h"
#include "check.h"
#include "client/clean.h"
#include "client/code_chart.h"
#include "client/code_complete.h"
#include "client/code_history.h"
#include "client/code_images.h"

/* ---- whole or not ---- */

static const struct {
	const char *language, *text;
	bool more;  /* typed line by line */
	bool whole; /* more even when it came at once */
} pieces[] = {
	{ "python", "", false, false },
	{ "python", "x = 1", false, false },
	{ "python", "f(1,", true, true },
	{ "python", "f(1,\n  2)", false, false },
	{ "python", "d = {'a': [1,\n2]", true, true },
	{ "python", "s = '('", false, false },
	{ "python", "s = \"it's (\"  # not ] closed {", false, false },
	{ "python", "s = '''a\nb", true, true },
	{ "python", "s = '''a\nb'''", false, false },
	{ "python", "s = '\\'('", false, false },
	{ "python", "s = 'open (", false, false }, /* an error, which the interpreter explains */
	{ "python", "x = 1 + \\", true, true },
	{ "python", "x = 1 + \\\n2", false, false },
	{ "python", "for i in x:", true, true },
	{ "python", "for i in x:  # comment", true, true },
	{ "python", "for i in x:\n    print(i)", true, false },
	{ "python", "for i in x:\n    print(i)\n", false, false },
	{ "python", "for i in x:\n    print(i)\n    ", false, false },
	{ "python", "if x:\n    f(1,\n2)", true, false },
	{ "python", "if x:\n    a\nelse:", true, true },
	{ "python", "def f():\n    return 1\nf()", false, false },
	{ "python", "if x: f()", false, false },
	{ "python", "@decorated", true, true },
	{ "python", "@decorated\nclass A:\n    pass\n", false, false },
	{ "python", "x[1:", true, true },
	{ "python", "lambda: 0", false, false },
	{ "python", "f(\n    1)", false, false },
	{ "python", "]", false, false },
	{ "python", "!echo (", false, false },
	{ "python", "%timeit f(", false, false },
	{ "python", "%%bash", true, true },
	{ "python", "%%bash\necho (", true, false },
	{ "python", "%%bash\necho\n", false, false },
	{ "javascript", "let a = 1", false, false },
	{ "javascript", "function f() {", true, true },
	{ "javascript", "function f() {\n}", false, false },
	{ "javascript", "`a ${b(", true, true },
	{ "javascript", "`a ${b(`}`)} ( `", false, false },
	{ "javascript", "`a\n", true, true },
	{ "javascript", "x = 'it\\'s ('", false, false },
	{ "javascript", "/* ( ", true, true },
	{ "javascript", "/* ( */ // {", false, false },
	{ "javascript", "s.replace(/[/(]\\/(/g, '')", false, false },
	{ "javascript", "a / b / (c)", false, false },
	{ "javascript", "x =", true, true },
	{ "javascript", "x => ", true, true },
	{ "javascript", "x > ", false, false },
	{ "javascript", "i++", false, false },
	{ "javascript", "p.then(f).", true, true },
	{ "typescript", "interface A {\n  b: number", true, true },
	{ "java", "class A {", true, true },
	{ "java", "char c = '{';", false, false },
	{ "java", "var s = \"\"\"\n  (", true, true },
	{ "java", "int x = 1 +", true, true },
	{ "r", "f <- function(x) {", true, true },
	{ "r", "x <-", true, true },
	{ "r", "s <- \"a\nb (", true, true },
	{ "r", "# (", false, false },
	{ "bash", "echo hi", false, false },
	{ "bash", "if true", true, true },
	{ "bash", "if true; then echo; fi", false, false },
	{ "bash", "echo if", false, false },
	{ "bash", "echo 'a", true, true },
	{ "bash", "echo 'a\nb'", false, false },
	{ "bash", "echo \"$(echo \"a\" (", true, true },
	{ "bash", "echo \"$(echo \"a\")\"", false, false },
	{ "bash", "for i in 1 2", true, true },
	{ "bash", "for i in 1 2; do echo $i; done", false, false },
	{ "bash", "while read x\ndo echo $x", true, true },
	{ "bash", "case $x in", true, true },
	{ "bash", "case $x in\na) echo;;\n(b|c) echo;;\nesac", false, false },
	{ "bash", "f() {", true, true },
	{ "bash", "f() { echo; }", false, false },
	{ "bash", "echo }", false, false },
	{ "bash", "(cd /; ls", true, true },
	{ "bash", "ls |", true, true },
	{ "bash", "ls &&", true, true },
	{ "bash", "sleep 1 &", false, false },
	{ "bash", "echo a \\", true, true },
	{ "bash", "echo a#b # (", false, false },
	{ "bash", "cat <<EOF", true, true },
	{ "bash", "cat <<EOF\nif (\nEOF", false, false },
	{ "bash", "cat <<-'E F'\n\tif (\n\tE F", true, true }, /* the name ends at the blank */
	{ "bash", "cat <<-'EOF' | sort\n\tit's\n\tEOF", false, false },
	{ "bash", "cat <<< 'x'", false, false },
	{ "bash", "echo $((1 << (2)))", false, false },
	{ "bash", "echo $((1 +", true, true },
	{ "bash", "((i++))", false, false },
	{ "bash", "echo ${a:-'}'", true, true },
	{ "bash", "echo ${a:-b}", false, false },
	{ "bash", "echo $'it\\'s'", false, false },
	{ "bash", "echo `ls", true, true },
	{ "bash", "echo `if true; then ls; fi`", false, false },
	{ "julia", "f(", false, false },
};

TEST(lines_that_need_more)
{
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		const char *text = pieces[i].text;
		bool more = code_needs_more(pieces[i].language, text, false);
		bool whole = code_needs_more(pieces[i].language, text, true);
		if (more != pieces[i].more || whole != pieces[i].whole)
			printf("# %s: %s: %d %d\n", pieces[i].language, text, more, whole);
		CHECK(more == pieces[i].more && whole == pieces[i].whole);
	}
}

/* Any bytes end, and deep nesting is no matter. */
TEST(any_text_is_looked_at)
{
	static const char alphabet[] = "(){}[]'\"`\\\n$#/*:;<@ifa do!%&|=E";
	static const char *const languages[] = { "python", "javascript", "java", "r", "bash" };
	char text[600];
	unsigned int seed = 1;

	for (int round = 0; round < 20000; round++) {
		size_t size = (size_t)rand_r(&seed) % (sizeof(text) - 1);
		for (size_t i = 0; i < size; i++)
			text[i] = alphabet[(size_t)rand_r(&seed) % (sizeof(alphabet) - 1)];
		text[size] = '\0';
		(void)code_needs_more(languages[round % 5], text, round & 1);
	}
	memset(text, '(', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
		CHECK(code_needs_more(languages[i], text, false));
}

/* ---- images ---- */

static char folder[] = "/tmp/hotcell-code-test-XXXXXX";

static const struct image_kind *kind_of(const char *field)
{
	for (size_t i = 0; image_kind_at(i); i++) {
		if (strcmp(image_kind_at(i)->field, field) == 0)
			return image_kind_at(i);
	}
	return NULL;
}

static const char *save(struct images *m, const char *field, int next, const char *data)
{
	static char name[PATH_MAX];
	struct error err;
	char *copy = strdup(data);
	int r = images_save(m, kind_of(field), next, copy, strlen(copy), name, &err);

	free(copy);
	return r < 0 ? "" : strrchr(name, '/') + 1;
}

static void check_content(const char *name, const char *want)
{
	char path[256], content[64] = "";

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, content, sizeof(content) - 1) >= 0);
	close(fd);
	CHECK_STR(content, want);
}

TEST(images_get_names_that_are_free)
{
	struct images m = { .directory = folder };
	char path[256], other[256];

	CHECK(mkdtemp(folder));
	CHECK_STR(save(&m, "png", 1, "aGVs\nbG8="), "figure-1.png");
	check_content("figure-1.png", "hello");
	CHECK_STR(save(&m, "svg", 0, "<svg/>"), "figure-1.svg");
	check_content("figure-1.svg", "<svg/>");
	CHECK_STR(save(&m, "jpeg", 1, "aGVsbG8="), "figure-2.jpg");

	/* Whatever is there stays, also a link that leads nowhere. */
	snprintf(path, sizeof(path), "%s/figure-3.png", folder);
	snprintf(other, sizeof(other), "%s/elsewhere", folder);
	CHECK_EQ(symlink(other, path), 0);
	m.number = 0;
	CHECK_STR(save(&m, "png", 1, "eA=="), "figure-2.png");
	CHECK_STR(save(&m, "png", 1, "eA=="), "figure-4.png");
	CHECK_ERRNO(access(other, F_OK), ENOENT);
	check_content("figure-1.png", "hello");

	/* Not an image, no room. */
	CHECK_STR(save(&m, "png", 1, "*"), "");
	CHECK_STR(save(&m, "png", 1, ""), "");
	m.count = IMAGES_MAX;
	CHECK_STR(save(&m, "png", 1, "eA=="), "");
	m.count = 0;
	m.size = IMAGES_SIZE_MAX;
	CHECK_STR(save(&m, "png", 1, "eA=="), "");
	snprintf(path, sizeof(path), "rm -r %s", folder);
	CHECK_EQ(system(path), 0);
	m = (struct images){ .directory = folder };
	CHECK_STR(save(&m, "png", 1, "eA=="), "");
}

/* ---- words ---- */

static void check_chart(const char *json, const char *want)
{
	char line[512] = "";
	struct text t = TEXT_INIT(line);
	json_t *chart = json_loads(json, 0, NULL);

	CHECK(chart);
	chart_describe(chart, &t);
	json_decref(chart);
	CHECK_STR(line, want);
}

TEST(charts_in_a_line)
{
	check_chart("{\"type\":\"bar\",\"title\":\"Sales\",\"x_label\":\"month\",\"y_label\":null,"
		    "\"elements\":[{},{}]}",
		    "bar chart \"Sales\": 2 bars, x month");
	check_chart("{\"type\":\"line\",\"elements\":[{}]}", "line chart: 1 line");
	check_chart("{\"type\":\"superchart\",\"title\":null,\"elements\":[{\"type\":\"pie\"},"
		    "{\"type\":\"box_and_whisker\"},{},{},{},{}]}",
		    "figure: 6 charts (pie chart, box plot, chart, chart, ...)");
	check_chart("{\"type\":\"unknown\",\"title\":\"x\",\"elements\":[]}", "chart \"x\"");
	check_chart("{}", "");
	check_chart("[1]", "");
	check_chart("{\"type\":1,\"title\":[],\"elements\":{}}", "");
	check_chart("{\"type\":\"pie\",\"title\":[],\"elements\":{}}", "pie chart: 0 slices");
}

TEST(text_of_strangers)
{
	char text[] = "a\033[31mb\n\tc\x7f\xc2\x9b"
		      "d\xe2\x80\xae"
		      "e\r";

	size_t size = clean_lines(text, sizeof(text)); /* the NUL, too */
	CHECK(size == 17 && memcmp(text, "a?[31mb\n\tc??d?e??", size) == 0);
	char line[] = "a\n\xc2";
	clean_text(line);
	CHECK_STR(line, "a?\xc2");
}

/* ---- history ---- */

struct seen {
	unsigned int count;
	char first[64], last[64];
};

static void on_entry(void *ctx, const char *entry)
{
	struct seen *s = ctx;

	if (s->count++ == 0)
		snprintf(s->first, sizeof(s->first), "%s", entry);
	snprintf(s->last, sizeof(s->last), "%s", entry);
}

static struct seen look(void)
{
	struct seen s = { 0 };

	history_file_close(history_file_open("python", on_entry, &s));
	return s;
}

TEST(history_is_kept_and_bounded)
{
	char path[256], entry[64];
	struct stat st;
	struct seen none = { 0 };

	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a/b", folder);
	CHECK_EQ(setenv("XDG_STATE_HOME", path, 1), 0);
	struct history_file *one = history_file_open("python", on_entry, &none);
	struct history_file *two = history_file_open("python", on_entry, &none);
	CHECK(one && two && none.count == 0);
	history_file_add(one, "def f():\n\treturn '\\n'");
	history_file_add(two, "second");
	struct seen s = look();
	CHECK_EQ(s.count, 2);
	CHECK_STR(s.first, "def f():\n\treturn '\\n'");
	CHECK_STR(s.last, "second");
	for (int i = 0; i < HISTORY_ENTRIES_MAX + 10; i++) {
		snprintf(entry, sizeof(entry), "entry %d", i);
		history_file_add(i & 1 ? one : two, entry);
	}
	for (int i = 0; i < 2; i++) {
		s = look();
		CHECK_EQ(s.count, HISTORY_ENTRIES_MAX);
		CHECK_STR(s.first, "entry 10");
		CHECK_STR(s.last, "entry 1009");
	}
	history_file_add(one, "after the cut");
	CHECK_STR(look().last, "after the cut");
	history_file_close(one);
	history_file_close(two);

	snprintf(path, sizeof(path), "%s/a/b/hotcell/history-python", folder);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK(stat(folder, &st) == 0 && (st.st_mode & 0777) == 0700);
	/* Not a file: a session does without. */
	CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	CHECK(!history_file_open("python", on_entry, &none));
	CHECK_EQ(unsetenv("XDG_STATE_HOME"), 0);
	CHECK_EQ(setenv("HOME", "not/absolute", 1), 0);
	CHECK(!history_file_open("python", on_entry, &none));
	snprintf(path, sizeof(path), "rm -r %s", folder);
	CHECK_EQ(system(path), 0);
}

CHECK_MAIN()
