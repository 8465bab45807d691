/* plan.h - a placed job as text for people and as JSON: --dry-run. */

#ifndef LA_PLAN_H
#define LA_PLAN_H

#include "place.h"
#include "text.h"

/* Placement, mapping and tree. */
void la_plan_text(struct la_text *out, const struct la_job *job, const struct la_place_said *said);
void la_plan_json(struct la_text *out, const struct la_job *job, const struct la_place_said *said,
                  const struct la_list *warnings);

/* A string of JSON with its quotes; bytes that are not UTF-8 become U+FFFD. */
void la_plan_string(struct la_text *out, const char *s, size_t size);

/* What --help and --version print. */
void la_plan_help(struct la_text *out);
void la_plan_version(struct la_text *out);

#endif
