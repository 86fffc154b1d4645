/* A chart in one line for people: "bar chart "Sales": 12 bars, x month, y revenue". */
#pragma once

#include <jansson.h>

#include "base/text.h"

/* What it says about the chart is not cleaned. Nothing for an object that is no chart. */
void chart_describe(const json_t *chart, struct text *t);
