/*
 * What of processes and their relations only the host knows at any moment: zombies that nobody has
 * waited for, parents after the first one died, threads that have not called yet.
 */
#pragma once

#include "kernel/task/task.h"

/* The process is about to lose its threads: remembers name and owner. */
void process_note_end(struct process *p);
/* The process is dead; it is kept as long as the host has a zombie. Takes its own reference. */
void zombie_add(struct process *p);
/* All zombies that are still there; linked through struct process.all_link. */
struct list *zombie_list(void);

/* Alive or a zombie; NULL = absent. */
struct process *process_find_any(int guest_pid);
/* The number of `p` still means `p`: it has not been waited for. */
bool process_is_there(struct process *p);

/* State letter; 'Z' also for a death not yet reported, 0 = gone altogether. */
char process_state_now(struct process *p);
/* Guest pid of the present parent; 0 = none (pid 1). */
int process_parent_now(struct process *p);
/* Makes tasks of threads that the host has and we have not seen. */
void process_find_threads(struct process *p);
