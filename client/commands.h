/* Commands: what there is to ask for, one file each. */
#pragma once

#include "command.h"

extern const Command command_submit;
extern const Command command_run;
extern const Command command_wait;
extern const Command command_show;
extern const Command command_jobs;
extern const Command command_cancel;
extern const Command command_status;
extern const Command command_doctor;
extern const Command command_drain;
extern const Command command_resume;
extern const Command command_reload;
