/* Memory accounting for hosts that give us no control group. */
#pragma once

struct timer;

/* Starts measuring; from then on LIMIT_MEMORY is enforced. 0 or -ENOMEM. */
int meter_start(void);
void sandbox_timer_fired(struct timer *t); /* table entry for TIMER_SANDBOX */
