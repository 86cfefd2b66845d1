/* Scheduler, inside: what scheduler.c (jobs) and scheduler_pools.c (pools) call of each other. */
#pragma once

#include "broker/scheduler.h"

/* Starts waiting jobs of the pool as long as it has ready environments. */
void scheduler_pump(Scheduler *scheduler, Pool *pool);
/* Gives every job of the queue an infrastructure verdict. */
void scheduler_turn_away(Scheduler *scheduler, Queue *queue, Code code, const char *message);
/* The pools' owner callbacks; `data` is the scheduler. */
void scheduler_pool_changed(Pool *pool, PoolEvent event, void *data);
void scheduler_reported(Pool *pool, Environment *environment, const EnvironmentReport *report,
                        void *data);
