#include "client/code_chart.h"

#include <stdbool.h>
#include <string.h>

#include "base/util.h"

static const struct kind {
	const char *type, *name;
	const char *one, *many; /* elements */
} kinds[] = {
	{ "line", "line chart", "line", "lines" },
	{ "scatter", "scatter chart", "series", "series" },
	{ "bar", "bar chart", "bar", "bars" },
	{ "pie", "pie chart", "slice", "slices" },
	{ "box_and_whisker", "box plot", "box", "boxes" },
	{ "superchart", "figure", "chart", "charts" },
};

static const char *member(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "";
}

static const struct kind *kind_of(const json_t *chart)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(member(chart, "type"), kinds[i].type) == 0)
			return &kinds[i];
	}
	return NULL;
}

/* The charts of several axes: their kinds, a few of them. */
static void describe_parts(const json_t *elements, struct text *t)
{
	const json_t *e;
	size_t i;

	json_array_foreach(elements, i, e)
	{
		const struct kind *k = kind_of(e);
		if (i == 4) {
			text_printf(t, ", ...");
			break;
		}
		text_printf(t, "%s%s", i ? ", " : " (", k ? k->name : "chart");
	}
	text_printf(t, "%s", json_array_size(elements) ? ")" : "");
}

void chart_describe(const json_t *chart, struct text *t)
{
	const struct kind *k = kind_of(chart);
	const json_t *elements = json_object_get(chart, "elements");
	size_t count = json_array_size(elements);

	if (!json_is_object(chart) || !*member(chart, "type"))
		return;
	text_printf(t, "%s", k ? k->name : "chart");
	if (*member(chart, "title"))
		text_printf(t, " \"%.80s\"", member(chart, "title"));
	if (!k)
		return;
	text_printf(t, ": %zu %s", count, count == 1 ? k->one : k->many);
	if (strcmp(k->type, "superchart") == 0)
		describe_parts(elements, t);
	if (*member(chart, "x_label"))
		text_printf(t, ", x %.40s", member(chart, "x_label"));
	if (*member(chart, "y_label"))
		text_printf(t, ", y %.40s", member(chart, "y_label"));
}
