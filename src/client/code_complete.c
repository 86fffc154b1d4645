/*
 * One scanner for languages with brackets, strings and comments; a row of `syntaxes` says what they
 * look like. It leaves behind what is open, the last characters that are code, and where the last
 * logical line begins: one that is in no bracket or string. Python's blocks are seen by those.
 */
#include "client/code_complete.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "client/code_complete_internal.h"

#define DEPTH_MAX 256

struct syntax {
	const char *names[3];
	const char *comment;	   /* to the end of the line */
	const char *quotes;	   /* of strings that end with their line */
	const char *long_quotes;   /* of strings that do not */
	const char *trailing;	   /* operators that cannot end a statement */
	bool triple;		   /* three quotes make a long string */
	bool blocks;		   /* by a colon and indentation; a backslash joins lines */
	bool block_comment, regex; /* of the family of C; of JavaScript */
};

static const struct syntax syntaxes[] = {
	{ .names = { "python" }, .comment = "#", .quotes = "'\"", .triple = true, .blocks = true },
	{ .names = { "javascript", "typescript" },
	  .comment = "//",
	  .quotes = "'\"",
	  .trailing = "=+-*%&|^?:,.<",
	  .block_comment = true,
	  .regex = true },
	{ .names = { "java" },
	  .comment = "//",
	  .quotes = "'\"",
	  .trailing = "=+-*%&|^?:,.<",
	  .triple = true,
	  .block_comment = true },
	{ .names = { "r" }, .comment = "#", .long_quotes = "'\"`", .trailing = "=+-*/^%&|~,<" },
};

struct scan {
	const struct syntax *syntax;
	const char *at;
	char stack[DEPTH_MAX]; /* open brackets, '`' = a template */
	size_t depth;
	bool open; /* a string, or a comment, when the text ended */
	bool joined;
	char last, before; /* characters of code */
	const char *line;  /* the last logical one */
	size_t lines;
};

static bool is_one_of(char c, const char *set)
{
	return set && c && strchr(set, c);
}

static void push(struct scan *s, char c)
{
	if (s->depth < DEPTH_MAX)
		s->stack[s->depth++] = c;
}

static void code(struct scan *s, char c)
{
	s->before = s->last;
	s->last = c;
}

/* Behind the quote that ends it. */
static void skip_string(struct scan *s, char quote, bool is_long)
{
	bool triple =
		s->syntax->triple && s->at[0] == quote && s->at[1] == quote && s->at[2] == quote;
	const char *p = s->at + (triple ? 3 : 1);

	is_long = is_long || triple;
	for (; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '\n' && !is_long)
			break;
		else if (*p == quote && (!triple || (p[1] == quote && p[2] == quote)))
			break;
	}
	s->open = !*p && is_long;
	s->at = *p == quote ? p + (triple ? 3 : 1) : p;
	code(s, quote);
}

static void skip_block_comment(struct scan *s)
{
	const char *end = strstr(s->at + 2, "*/");

	s->open = !end;
	s->at = end ? end + 2 : s->at + strlen(s->at);
}

/* A slash is a division behind a value. */
static bool begins_regex(const struct scan *s)
{
	return s->syntax->regex && (!s->last || is_one_of(s->last, "(,=:[!&|?{};+-*%^~<>"));
}

static void skip_regex(struct scan *s)
{
	bool in_class = false;

	for (s->at++; *s->at && *s->at != '\n'; s->at++) {
		if (*s->at == '\\' && s->at[1])
			s->at++;
		else if (*s->at == '[' || *s->at == ']')
			in_class = *s->at == '[';
		else if (*s->at == '/' && !in_class)
			break;
	}
	s->at += *s->at == '/';
	code(s, '/');
}

static void in_template(struct scan *s)
{
	if (*s->at == '\\' && s->at[1]) {
		s->at++;
	} else if (*s->at == '`') {
		s->depth--;
		code(s, '`');
	} else if (s->at[0] == '$' && s->at[1] == '{') {
		push(s, '{');
		s->at++;
	}
	s->at++;
}

static void new_line(struct scan *s)
{
	s->at++;
	if (s->depth == 0 && !s->joined) {
		s->line = s->at;
		s->lines++;
	}
	s->joined = false;
}

static void bracket_or_other(struct scan *s)
{
	char c = *s->at++;

	if (is_one_of(c, "([{"))
		push(s, c);
	else if (is_one_of(c, ")]}") && s->depth)
		s->depth--;
	else if (c == '`' && s->syntax->regex)
		push(s, c);
	if (!isspace((unsigned char)c))
		code(s, c);
}

static void step(struct scan *s)
{
	const struct syntax *y = s->syntax;

	if (s->depth && s->stack[s->depth - 1] == '`')
		in_template(s);
	else if (*s->at == '\n')
		new_line(s);
	else if (y->comment && strncmp(s->at, y->comment, strlen(y->comment)) == 0)
		s->at += strcspn(s->at, "\n");
	else if (y->block_comment && s->at[0] == '/' && s->at[1] == '*')
		skip_block_comment(s);
	else if (is_one_of(*s->at, y->quotes) || is_one_of(*s->at, y->long_quotes))
		skip_string(s, *s->at, is_one_of(*s->at, y->long_quotes));
	else if (*s->at == '/' && begins_regex(s))
		skip_regex(s);
	else if (y->blocks && s->at[0] == '\\' && (s->at[1] == '\n' || !s->at[1])) {
		s->joined = true;
		s->at++;
	} else {
		bracket_or_other(s);
	}
}

/* ---- per language ---- */

static bool is_blank(const char *line)
{
	return line[strspn(line, " \t\r")] == '\0';
}

/* IPython's own: one line, but for magics of a whole cell. */
static bool is_magic(const char *text, bool whole, bool *ret_more)
{
	const char *last = strrchr(text, '\n');

	text += strspn(text, " \t");
	if (*text != '%' && *text != '!')
		return false;
	*ret_more = text[0] == '%' && text[1] == '%' && !(whole && last) &&
		    !(last && is_blank(last + 1));
	return true;
}

static bool is_open_block(const struct scan *s, bool whole)
{
	if (is_blank(s->line))
		return false;
	if (s->last == ':' || *s->line == '@')
		return true;
	return !whole && s->lines > 0 && (*s->line == ' ' || *s->line == '\t');
}

static bool has_trailing_operator(const struct scan *s)
{
	if (!is_one_of(s->last, s->syntax->trailing))
		return s->syntax->trailing && s->last == '>' && s->before == '=';
	/* i++ is whole. */
	return !(is_one_of(s->last, "+-") && s->before == s->last);
}

static const struct syntax *syntax_of(const char *language)
{
	for (size_t i = 0; i < ARRAY_SIZE(syntaxes); i++) {
		for (size_t n = 0; n < ARRAY_SIZE(syntaxes[i].names) && syntaxes[i].names[n]; n++) {
			if (strcmp(syntaxes[i].names[n], language) == 0)
				return &syntaxes[i];
		}
	}
	return NULL;
}

bool code_needs_more(const char *language, const char *text, bool whole)
{
	struct scan s = { .syntax = syntax_of(language), .at = text, .line = text };
	bool more;

	if (strcmp(language, "bash") == 0)
		return shell_needs_more(text);
	if (!s.syntax)
		return false;
	if (s.syntax->blocks && is_magic(text, whole, &more))
		return more;
	while (*s.at)
		step(&s);
	if (s.open || s.depth || s.joined)
		return true;
	return s.syntax->blocks ? is_open_block(&s, whole) : has_trailing_operator(&s);
}
