/* tbclient: submits generated code to tbsandboxd and tells its verdicts. This file only knows which
 * commands there are. */
#include <string.h>

#include "commands.h"
#include "complain.h"
#include "host.h"

int main(int argc, char **argv) {
    static const Command *const commands[] = {
        &command_submit, &command_run,    &command_wait,   &command_show,
        &command_jobs,   &command_cancel, &command_status, &command_doctor,
        &command_drain,  &command_resume, &command_reload, NULL,
    };
    const int r = host_init();
    if (r < 0) return complain_infrastructure("%s", strerror(-r));
    return command_main(commands, argc, argv);
}
