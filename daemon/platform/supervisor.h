/* Supervisor: makes the calling process fit to hold hostile processes: it ends with the broker,
 * inherits what they leave behind, and shows them nothing of its memory. */
#pragma once

/* Documented result. */
enum { SUPERVISOR_E_ORPHAN = 1 };

/* `broker_pid` is the process that started us. 0, SUPERVISOR_E_ORPHAN when it is gone already, or
 * -errno. */
int supervisor_enter(long broker_pid);
