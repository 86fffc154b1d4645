/*
 * The shell: quotes nest in substitutions and these in quotes, words at the beginning of a command open
 * and close blocks, and here-documents begin with the next line. A stack of what is open says which of
 * these rules hold at the moment:
 *
 *     '"'          in double quotes: only $(, ${, ` and \ mean something
 *     '(' '`'      a command of its own: everything does
 *     '$'          a parameter, up to '}'
 *     'a'          arithmetic: brackets and quotes
 *     'i' 'd' 'c' '{'   if, a loop, case, a group: everything does
 */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/util.h"
#include "client/code_complete_internal.h"

#define DEPTH_MAX 256
#define DOCS_MAX  8
#define WORD_MAX  64

struct shell {
	const char *at;
	char stack[DEPTH_MAX];
	size_t depth;
	bool open;    /* a quote or document, when the text ended */
	bool command; /* the next word is one */
	bool in_word;
	bool joined; /* |, && or || was the last */
	struct {
		char end[WORD_MAX];
		bool tabs; /* <<- */
	} docs[DOCS_MAX];
	size_t doc_count;
};

static char top(const struct shell *s)
{
	return s->depth ? s->stack[s->depth - 1] : '\0';
}

static void push(struct shell *s, char c)
{
	if (s->depth < DEPTH_MAX)
		s->stack[s->depth++] = c;
}

static void pop(struct shell *s, char c)
{
	if (top(s) == c)
		s->depth--;
}

static const struct reserved {
	const char *word;
	char opens, closes;
	bool command; /* another one follows */
} words[] = {
	{ "if", 'i', 0, true },	   { "then", 0, 0, true },    { "elif", 0, 0, true },
	{ "else", 0, 0, true },	   { "fi", 0, 'i', false },   { "while", 'd', 0, true },
	{ "until", 'd', 0, true }, { "for", 'd', 0, false },  { "select", 'd', 0, false },
	{ "do", 0, 0, true },	   { "done", 0, 'd', false }, { "case", 'c', 0, false },
	{ "esac", 0, 'c', false }, { "{", '{', 0, true },     { "}", 0, '{', false },
	{ "!", 0, 0, true },	   { "time", 0, 0, true },
};

/* How much of the stack is outside of the innermost backquotes; -1 = there are none. */
static ssize_t below_backquote(const struct shell *s)
{
	ssize_t at = (ssize_t)s->depth - 1;

	while (at >= 0 && s->stack[at] != '`')
		at--;
	return at;
}

/* The word goes on behind a quote or substitution. */
static bool goes_on(const struct shell *s, char c)
{
	return c && (strchr("\"'\\$#", c) || (c == '`' && below_backquote(s) < 0));
}

static void take_word(struct shell *s)
{
	size_t size = strcspn(s->at, " \t\n;&|()<>\"'\\$`#");
	bool command = s->command && !s->in_word;

	s->in_word = true;
	s->joined = s->command = false;
	for (size_t i = 0; command && i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) != size || strncmp(words[i].word, s->at, size) != 0 ||
		    goes_on(s, s->at[size]))
			continue;
		if (words[i].opens)
			push(s, words[i].opens);
		if (words[i].closes)
			pop(s, words[i].closes);
		s->command = words[i].command;
	}
	s->at += size ? size : 1;
}

/* ---- quotes ---- */

static void skip_single(struct shell *s, bool escapes)
{
	const char *p = s->at + 1;

	while (*p && *p != '\'')
		p += escapes && p[0] == '\\' && p[1] ? 2 : 1;
	s->open = !*p;
	s->at = *p ? p + 1 : p;
}

/* What begins with a dollar; false: only the dollar. */
static void take_dollar(struct shell *s)
{
	char next = s->at[1];

	if (next == '\'' && top(s) != '"') {
		s->at++;
		skip_single(s, true);
		return;
	}
	s->at += next == '(' || next == '{' ? 2 : 1;
	if (next == '(' && *s->at == '(') {
		push(s, 'a');
		push(s, 'a');
		s->at++;
	} else if (next == '(') {
		push(s, '(');
		s->command = true;
		s->in_word = false;
	} else if (next == '{') {
		push(s, '$');
	}
}

/* Inside of "..." and of ${...}: up to `end`; `opens` begins something else inside. */
static void in_quoted(struct shell *s, char end, char opens)
{
	char c = *s->at;

	if (c == '\\' && s->at[1]) {
		s->at += 2;
	} else if (c == '$') {
		take_dollar(s);
	} else {
		s->at++;
		if (c == end)
			s->depth--;
		else if (c == opens)
			push(s, opens);
	}
}

static void in_arithmetic(struct shell *s)
{
	char c = *s->at;

	if (c == '$') {
		take_dollar(s);
		return;
	}
	s->at++;
	if (c == '(')
		push(s, 'a');
	else if (c == ')')
		s->depth--;
	else if (c == '"')
		push(s, '"');
}

/* ---- here-documents ---- */

static void announce_document(struct shell *s)
{
	size_t n = 0;

	s->at += 2;
	bool tabs = *s->at == '-';
	s->at += tabs;
	s->at += strspn(s->at, " \t");
	if (s->doc_count == DOCS_MAX)
		return;
	char *end = s->docs[s->doc_count].end;
	for (; *s->at && !strchr(" \t\n;&|()<>", *s->at); s->at++) {
		if (!strchr("\"'\\", *s->at) && n + 1 < WORD_MAX)
			end[n++] = *s->at;
	}
	end[n] = '\0';
	s->docs[s->doc_count].tabs = tabs;
	s->doc_count += n > 0;
}

/* From the beginning of a line to behind the one that ends it. */
static bool skip_document(struct shell *s, const char *end, bool tabs)
{
	while (*s->at) {
		const char *line = s->at + (tabs ? strspn(s->at, "\t") : 0);
		size_t size = strcspn(line, "\n");
		s->at = line + size + (line[size] == '\n');
		if (size == strlen(end) && strncmp(line, end, size) == 0)
			return true;
	}
	return false;
}

static void new_line(struct shell *s)
{
	s->at++;
	s->command = true;
	s->in_word = false;
	for (size_t i = 0; i < s->doc_count && !s->open; i++)
		s->open = !skip_document(s, s->docs[i].end, s->docs[i].tabs);
	s->doc_count = 0;
}

/* ---- commands ---- */

static void take_operator(struct shell *s)
{
	char c = *s->at;
	bool twice = s->at[1] == c;

	s->at += twice ? 2 : 1;
	s->command = true;
	s->in_word = false;
	s->joined = c == '|' || (c == '&' && twice);
}

static void take_bracket(struct shell *s)
{
	char c = *s->at;

	if (c == '(' && s->at[1] == '(' && s->command && !s->in_word) {
		push(s, 'a');
		push(s, 'a');
		s->at++;
	} else if (c == '(') {
		push(s, '(');
	} else {
		pop(s, '('); /* or it ends a pattern of case */
	}
	s->at++;
	s->command = true;
	s->in_word = s->joined = false;
}

static void take_quote(struct shell *s)
{
	char c = *s->at;

	s->in_word = true;
	s->joined = s->command = false;
	if (c == '\'') {
		skip_single(s, false);
	} else if (c == '$') {
		take_dollar(s);
	} else if (c == '`' && below_backquote(s) >= 0) {
		s->depth = (size_t)below_backquote(s);
		s->at++;
	} else {
		push(s, c);
		s->at++;
		s->command = c == '`';
		s->in_word = c != '`';
	}
}

/* A backslash joins lines; at the end of everything it waits for one. */
static void take_backslash(struct shell *s)
{
	s->open = !s->at[1] || (s->at[1] == '\n' && !s->at[2]);
	s->in_word = s->in_word || s->at[1] != '\n';
	s->at += s->at[1] ? 2 : 1;
}

static void in_command(struct shell *s)
{
	char c = *s->at;

	if (c == '\n')
		new_line(s);
	else if (c == ' ' || c == '\t') {
		s->at++;
		s->in_word = false;
	} else if (c == '#' && !s->in_word)
		s->at += strcspn(s->at, "\n");
	else if (c == '\\')
		take_backslash(s);
	else if (strchr("'\"$`", c))
		take_quote(s);
	else if (strchr(";&|", c))
		take_operator(s);
	else if (c == '(' || c == ')')
		take_bracket(s);
	else if (strncmp(s->at, "<<<", 3) == 0)
		s->at += 3;
	else if (strncmp(s->at, "<<", 2) == 0)
		announce_document(s);
	else if (c == '<' || c == '>')
		s->at++;
	else
		take_word(s);
}

bool shell_needs_more(const char *text)
{
	struct shell s = { .at = text, .command = true };

	while (*s.at && !s.open) {
		switch (top(&s)) {
		case '"':
			in_quoted(&s, '"', '`');
			break;
		case '$':
			in_quoted(&s, '}', '"');
			break;
		case 'a':
			in_arithmetic(&s);
			break;
		default:
			in_command(&s);
			break;
		}
	}
	return s.open || s.depth || s.joined || s.doc_count;
}
