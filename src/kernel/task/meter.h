/* Memory accounting for hosts that give us no control group. */
#pragma once

/* Starts measuring; from then on LIMIT_MEMORY is enforced. 0 or -ENOMEM. */
int meter_start(void);
