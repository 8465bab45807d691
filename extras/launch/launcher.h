/* launcher.h - agent 0: what failures mean, output, input, signals, and the status at the end. */
#ifndef LA_LAUNCHER_H
#define LA_LAUNCHER_H

#include "options.h"

/* Runs the job of these options, whose programs are placed. The status of phxrun. */
int la_launch(struct la_options *o, const char *self);

#endif
