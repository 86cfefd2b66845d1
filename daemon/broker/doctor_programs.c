#include "broker/doctor_programs.h"

#define BUILTINS "(i for i in ()).gi_frame.f_builtins"
#define OS BUILTINS "['__import__']('os')"

const DoctorProgram doctor_programs[] = {
    {
        .name = "passes",
        .code = "print('doctor ' + str(6 * 7))\n",
        .kind = VERDICT_PASSED,
        .evidence = "doctor 42",
    },
    {
        .name = "does-not-parse",
        .code = "def broken(:\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_DOES_NOT_PARSE,
    },
    {
        .name = "forbidden-import",
        .code = "import tbsandbox_no_such_module\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_FORBIDDEN_IMPORT,
    },
    {
        .name = "poisoned-import",
        .code = BUILTINS "['__import__']('%s')\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_EXITED,
        .exit_code = 1,
        .evidence = "ModuleNotFoundError",
        .needs_poison = true,
    },
    {
        .name = "raises",
        .code = "raise ValueError('doctor raised')\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_EXITED,
        .exit_code = 1,
        .evidence = "ValueError: doctor raised",
    },
    {
        .name = "exits-3",
        .code = "raise SystemExit(3)\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_EXITED,
        .exit_code = 3,
    },
    {
        .name = "loops",
        .code = "while True: pass\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_TIMEOUT,
        .wall_ms = 500,
    },
    {
        .name = "crashes",
        .code = OS ".abort()\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_CRASHED,
        .native_crashes = 2,
    },
    {
        .name = "overwrites-input",
        .code = BUILTINS "['open']('" DOCTOR_INPUT_NAME "', 'w').write('changed')\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_INPUT_MODIFIED,
    },
    {
        .name = "leaks-canary",
        .code = "print('" DOCTOR_CANARY_REVERSED "'[::-1])\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_CANARY_LEAK,
    },
    {
        .name = "ends-early",
        .code = OS "._exit(0)\n",
        .kind = VERDICT_FAILED,
        .failure = CODE_ENDED_EARLY,
    },
};

const unsigned doctor_n_programs = sizeof doctor_programs / sizeof *doctor_programs;
