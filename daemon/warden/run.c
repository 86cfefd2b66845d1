#include "warden/run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

enum {
    RECEIVE_LIMIT_MS = 10000,  /* from handing the job over to its start marker */
    REST_MAX_BYTES = 64 << 20, /* more than any pipe holds */
    CPU_CHECK_MIN_MS = 2,
    PRESSURE_BYTES = 96,
    TASKS_OF_ENCLOSURE = 1, /* the first process of its namespace */
    NS_PER_US = 1000,
};

typedef struct Run {
    Cell *cell;
    const Order *order;
    const Scanner *scanner;
    const RunOutputs *outputs;
    InvalidReport *invalid;
    uint64_t dispatched_ns;
    uint64_t received_ns; /* 0: not yet */
    uint64_t ended_ns;    /* when the interpreter was seen to be dead, or was killed */
    uint64_t cpu_base_ns; /* used before the job */
    uint64_t pressure_base_us;
    bool is_over;   /* nothing more is waited for */
    bool is_killed; /* by us */
} Run;

/* --- Ends ---------------------------------------------------------------------------------- */

/* The first limit that is exceeded is the one that is told. */
static __attribute__((format(printf, 3, 4))) int exceed(Run *run, Code limit, const char *format,
                                                        ...) {
    Facts *facts = &run->cell->facts;
    char *detail;
    if (facts->limit != CODE_NONE) return 0;
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&detail, format, args);
    va_end(args);
    if (n < 0) return error_origin(-ENOMEM);
    facts->limit_detail = detail;
    facts->limit = limit;
    return 0;
}

/* Stops waiting for the interpreter; it is killed with the rest of its tree. */
static void stop(Run *run) {
    run->is_over = true;
    run->is_killed = true;
    run->ended_ns = clock_mono_ns();
}

static int fault(Run *run, Code code, const char *detail) {
    Facts *facts = &run->cell->facts;
    if (facts->fault != CODE_NONE) return 0;
    facts->fault_detail = strdup(detail);
    if (!facts->fault_detail) return error_origin(-ENOMEM);
    facts->fault = code;
    return 0;
}

/* --- Markers ------------------------------------------------------------------------------- */

/* Harness markers that may come once a job is there. */
static const LedgerEvent marker_events[HARNESS_KIND_COUNT] = {
    [HARNESS_READY] = LEDGER_EVENT_COUNT,
    [HARNESS_UNFIT] = LEDGER_EVENT_COUNT,
    [HARNESS_SURVEYED] = LEDGER_EVENT_COUNT,
    [HARNESS_RECEIVED] = LEDGER_RECEIVED,
    [HARNESS_PARSED] = LEDGER_PARSED,
    [HARNESS_ALLOWED] = LEDGER_ALLOWED,
    [HARNESS_COMPILED] = LEDGER_COMPILED,
    [HARNESS_REJECTED] = LEDGER_REJECTED,
    [HARNESS_HELD] = LEDGER_HELD,
    [HARNESS_STARTED] = LEDGER_STARTED,
    [HARNESS_ENDED] = LEDGER_ENDED,
};

/* One that is so long may have been cut by the harness, within a canary. */
static int take_text(const Run *run, const char *text, size_t max_bytes, char **ret_text) {
    const bool is_cut = strlen(text) >= max_bytes + HARNESS_SPARE_BYTES;
    const int r = redact_line(run->scanner, text, max_bytes, is_cut, ret_text);
    return r < 0 ? error_fold(r) : 0;
}

/* Texts of the static rules quote the source. */
static int take_rejects(Run *run, const FailureList *failures) {
    for (size_t i = 0; i < failures->n_items; i++) {
        const Failure *from = &failures->items[i];
        Failure failure = {.code = from->code, .line = from->line};
        int r = take_text(run, from->subject, HARNESS_SUBJECT_BYTES, &failure.subject);
        if (r == 0) r = take_text(run, from->message, HARNESS_MESSAGE_BYTES, &failure.message);
        if (r == 0) r = failure_list_append(&run->cell->facts.rejects, &failure);
        failure_deinit(&failure);
        if (r < 0) return error_fold(r);
    }
    return 0;
}

static int on_marker(Run *run, const HarnessMarker *marker) {
    Cell *cell = run->cell;
    const LedgerEvent event = marker_events[marker->kind];
    const uint64_t now_ns = clock_mono_ns();
    if (event == LEDGER_EVENT_COUNT || !ledger_note(&cell->ledger, event, now_ns)) {
        /* A second `ended` is the code's own doing, and says nothing. */
        if (ledger_has_started(&cell->ledger)) return 0;
        stop(run);
        return fault(run, CODE_CHANNEL_BROKEN, "a marker of the interpreter came out of order");
    }
    if (event == LEDGER_RECEIVED) {
        run->received_ns = now_ns;
        return warden_channel_send_received(cell->channel) == 0 ? 0 : CELL_E_STOPPED;
    }
    if (event == LEDGER_REJECTED) return take_rejects(run, &marker->failures);
    if (event == LEDGER_HELD) cell->facts.held = true;
    return 0;
}

static int on_marker_bytes(Run *run, const ChildEvent *event) {
    HarnessReader *reader = &run->cell->reader;
    harness_feed(reader, event->bytes, event->n_bytes);
    for (;;) {
        CLEANUP(harness_marker_deinit) HarnessMarker marker = {0};
        int r = harness_next(reader, &marker);
        if (r == HARNESS_E_MORE) return 0;
        if (r == HARNESS_E_MALFORMED) {
            stop(run);
            return fault(run, CODE_CHANNEL_BROKEN,
                         "a marker of the interpreter is not what the protocol allows");
        }
        if (r == 0) r = on_marker(run, &marker);
        if (r != 0) return r;
        if (run->cell->facts.fault != CODE_NONE) return 0;
    }
}

/* --- Output -------------------------------------------------------------------------------- */

static int on_output(Run *run, const ChildEvent *event) {
    const RunOutputs *outputs = run->outputs;
    output_add(event->kind == CHILD_STDOUT ? outputs->out : outputs->err, event->bytes,
               event->n_bytes);
    const uint64_t written = output_total_bytes(outputs->out) + output_total_bytes(outputs->err);
    const uint64_t allowed = run->order->limits.output_bytes;
    if (written <= allowed) return 0;
    if (!run->is_over) stop(run);
    return exceed(run, CODE_OUTPUT_LIMIT,
                  "wrote %" PRIu64 " bytes to stdout and stderr together; %" PRIu64 " are allowed",
                  written, allowed);
}

/* --- Time ---------------------------------------------------------------------------------- */

static uint64_t cpu_used_ms(const Run *run) {
    const uint64_t used_ns = child_cpu_ns(run->cell->child);
    return used_ns > run->cpu_base_ns ? (used_ns - run->cpu_base_ns) / NS_PER_MS : 0;
}

static uint64_t wall_deadline_ns(const Run *run) {
    if (run->received_ns == 0) return run->dispatched_ns + RECEIVE_LIMIT_MS * NS_PER_MS;
    return run->received_ns + run->order->limits.wall_ms * NS_PER_MS;
}

/* When the CPU limit can be reached at the earliest, all processors working, or the wall limit. */
static uint64_t next_check_ns(const Run *run) {
    const uint64_t wall_ns = wall_deadline_ns(run);
    if (run->received_ns == 0) return wall_ns;
    const long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    const uint64_t used_ms = cpu_used_ms(run), allowed_ms = run->order->limits.cpu_ms;
    uint64_t wait_ms = used_ms < allowed_ms ? allowed_ms - used_ms : 0;
    wait_ms /= n_processors > 0 ? (uint64_t)n_processors : 1;
    if (wait_ms < CPU_CHECK_MIN_MS) wait_ms = CPU_CHECK_MIN_MS;
    const uint64_t cpu_ns = clock_mono_ns() + wait_ms * NS_PER_MS;
    return cpu_ns < wall_ns ? cpu_ns : wall_ns;
}

/* Tells a slow host from slow code. */
static void describe_pressure(const Run *run, char text[PRESSURE_BYTES]) {
    const uint64_t now_us = child_cpu_pressure_us(run->cell->child);
    const uint64_t elapsed_us = (clock_mono_ns() - run->dispatched_ns) / NS_PER_US;
    text[0] = '\0';
    if (now_us == 0 || elapsed_us == 0) return; /* this host does not say */
    const uint64_t waited_us = now_us - run->pressure_base_us;
    const uint64_t percent = waited_us < elapsed_us ? waited_us * 100 / elapsed_us : 100;
    snprintf(text, PRESSURE_BYTES,
             "; for %" PRIu64 " %% of that time something on this host waited for a processor",
             percent);
}

static int on_deadline(Run *run) {
    const Limits *limits = &run->order->limits;
    const bool is_late = clock_mono_ns() >= wall_deadline_ns(run);
    if (run->received_ns == 0) {
        stop(run);
        return 0;
    }
    if (!is_late && cpu_used_ms(run) < limits->cpu_ms) return 0;
    char pressure[PRESSURE_BYTES];
    describe_pressure(run, pressure);
    stop(run);
    return exceed(run, CODE_TIMEOUT, "reached its %s limit of %" PRIu64 " ms%s",
                  is_late ? "wall clock" : "CPU time", is_late ? limits->wall_ms : limits->cpu_ms,
                  pressure);
}

/* --- Breaches ------------------------------------------------------------------------------ */

/* Before the code starts it is the harness that called, and that is no word on the code. */
static int on_forbidden_call(Run *run, const char *call) {
    Facts *facts = &run->cell->facts;
    if (!ledger_has_started(&run->cell->ledger))
        return fault(run, CODE_HARNESS_FAILED, "a forbidden system call before the code started");
    facts->limit_subject = strdup(call);
    if (!facts->limit_subject) return error_origin(-ENOMEM);
    return exceed(run, CODE_FORBIDDEN_SYSCALL, "made the system call %s, which no job may make",
                  call);
}

static int on_breach(Run *run, const ChildBreach *breach) {
    const Limits *limits = &run->order->limits;
    stop(run);
    switch (breach->kind) {
    case CHILD_BREACH_CALL:
        return on_forbidden_call(run, breach->call);
    case CHILD_BREACH_MEMORY:
        if (breach->amount == 0)
            return exceed(run, CODE_MEMORY_LIMIT, "used up its %" PRIu64 " bytes of memory",
                          limits->memory_bytes);
        return exceed(run, CODE_MEMORY_LIMIT,
                      "asked for %" PRIu64 " bytes when less was left of its %" PRIu64
                      " bytes of memory",
                      breach->amount, limits->memory_bytes);
    case CHILD_BREACH_PROCESSES:
        return exceed(run, CODE_PROCESS_LIMIT,
                      "wanted more than %" PRIu64 " processes and threads at once", breach->amount);
    case CHILD_BREACH_OPEN_FILES:
        return exceed(run, CODE_OPEN_FILES_LIMIT,
                      "a process had more than %" PRIu64 " files open at once", breach->amount);
    }
    return error_origin(-EINVAL);
}

/* What a full work directory shows for as long as it is full. */
static int check_disk(Run *run) {
    const Enclosure *enclosure = run->cell->enclosure;
    switch (enclosure ? enclosure_full(enclosure) : ENCLOSURE_HAS_ROOM) {
    case ENCLOSURE_HAS_ROOM:
        break;
    case ENCLOSURE_OUT_OF_BYTES:
        return exceed(run, CODE_DISK_LIMIT, "filled its %" PRIu64 " bytes of disk",
                      run->order->limits.disk_bytes);
    case ENCLOSURE_OUT_OF_FILES:
        return exceed(run, CODE_DISK_LIMIT,
                      "made as many files and directories as there may be: %" PRIu64,
                      enclosure_max_files());
    }
    return 0;
}

/* What the kernel did to the job as a whole. */
static int check_cgroup(Run *run) {
    const Limits *limits = &run->order->limits;
    const CgroupEvents events = run->cell->cgroup ? cgroup_events(run->cell->cgroup)
                                                  : (CgroupEvents){0};
    if (events.memory_kills > 0)
        return exceed(run, CODE_MEMORY_LIMIT,
                      "its processes together used up %" PRIu64 " bytes of memory",
                      limits->memory_bytes);
    if (events.refused_tasks > 0)
        return exceed(run, CODE_PROCESS_LIMIT, "wanted more than %" PRIu32 " processes and threads",
                      limits->processes);
    return 0;
}

/* --- The loop ------------------------------------------------------------------------------ */

static int on_event(Run *run, const ChildEvent *event) {
    switch (event->kind) {
    case CHILD_STOP:
    case CHILD_CHANNEL: /* there is nothing left to say but that the broker is gone */
        return CELL_E_STOPPED;
    case CHILD_DEADLINE:
        return on_deadline(run);
    case CHILD_EXITED:
        run->is_over = true;
        run->ended_ns = clock_mono_ns();
        return 0;
    case CHILD_BREACH:
        return on_breach(run, &event->breach);
    case CHILD_MARKER:
        return on_marker_bytes(run, event);
    case CHILD_STDOUT:
    case CHILD_STDERR:
        return on_output(run, event);
    }
    return error_origin(-EINVAL);
}

static int watch(Run *run) {
    uint64_t check_ns = next_check_ns(run);
    while (!run->is_over) {
        ChildEvent event;
        const bool was_received = run->received_ns != 0;
        int r = child_next(run->cell->child, check_ns, &event);
        if (r < 0) return error_fold(r);
        r = on_event(run, &event);
        if (r == 0) r = check_disk(run);
        if (r != 0) return r;
        if (event.kind == CHILD_DEADLINE || was_received != (run->received_ns != 0))
            check_ns = next_check_ns(run);
    }
    return 0;
}

/* What lies in the pipes when nobody is left to write; bounded, should somebody be. */
static int take_rest(Run *run) {
    ChildEvent event;
    for (size_t n_bytes = 0; n_bytes < REST_MAX_BYTES; n_bytes += event.n_bytes) {
        int r = child_next_rest(run->cell->child, &event);
        if (r == CHILD_E_DRAINED) return 0;
        if (r == 0) r = on_event(run, &event);
        if (r != 0) return r;
    }
    return 0;
}

/* --- Before and after ---------------------------------------------------------------------- */

static int dispatch(Run *run, bool hold) {
    Cell *cell = run->cell;
    const Limits *limits = &run->order->limits;
    int r = cell->enclosure ? enclosure_seal(cell->enclosure, limits->disk_bytes) : 0;
    if (r == 0) r = child_limit(cell->child, limits);
    /* Files in memory count as memory: that the disk is full must show before that memory is. */
    if (r == 0 && cell->cgroup)
        r = cgroup_limit(cell->cgroup, limits->memory_bytes + limits->disk_bytes, limits->processes,
                         TASKS_OF_ENCLOSURE);
    if (r < 0)
        return invalid_set(run->invalid, CODE_LAYER_MISSING, "the job's limits cannot be set: %s",
                           strerror(-r));
    if (r == CHILD_E_GONE)
        return invalid_set(run->invalid, CODE_CHILD_NEVER_STARTED,
                           "the interpreter died before it was given the job");
    run->cpu_base_ns = child_cpu_ns(cell->child);
    run->pressure_base_us = child_cpu_pressure_us(cell->child);
    memcpy(cell->reader.nonce, run->order->nonce, sizeof cell->reader.nonce);
    run->dispatched_ns = clock_mono_ns();
    ledger_note(&cell->ledger, LEDGER_DISPATCHED, run->dispatched_ns);
    run->invalid->dispatched = true;
    r = harness_send_order(cell->child, run->order, hold);
    return r < 0 ? error_fold(r) : 0;
}

static void note_usage(Run *run) {
    const Cell *cell = run->cell;
    Facts *facts = &run->cell->facts;
    const uint64_t base_us = run->cpu_base_ns / NS_PER_US;
    const uint64_t own_us = cell->exit.cpu_us > base_us ? cell->exit.cpu_us - base_us : 0;
    const uint64_t own_peak = cell->exit.peak_memory_bytes;
    const uint64_t tree_peak = cell->usage.peak_memory_bytes;
    facts->cpu_us = own_us + cell->usage.cpu_us;
    facts->peak_memory_bytes = own_peak > tree_peak ? own_peak : tree_peak;
    /* A short run's marker may be read after its death: then the hand-over is the nearest to it. */
    const uint64_t from_ns = run->received_ns < run->ended_ns ? run->received_ns
                                                              : run->dispatched_ns;
    if (run->received_ns && run->ended_ns > from_ns)
        facts->wall_us = (run->ended_ns - from_ns) / NS_PER_US;
}

static void note_exit(Run *run) {
    const ChildExit *exit = &run->cell->exit;
    Facts *facts = &run->cell->facts;
    facts->exited = exit->signal == 0;
    facts->exit_code = exit->code;
    facts->signal = exit->signal;
    facts->killed_by_warden = run->is_killed && exit->signal == SIGKILL;
}

/* Kills what is left, takes the status and the rest of the output. */
static int finish(Run *run) {
    Cell *cell = run->cell;
    int r = cell_reap(cell);
    if (r < 0) return error_fold(r);
    const bool is_left = r == CELL_E_LEFT;
    r = take_rest(run);
    if (r != 0) return r;
    if (is_left) {
        r = fault(run, CODE_NOT_REAPED, "processes of the job do not die");
        return r < 0 ? error_fold(r) : 0;
    }
    ledger_note(&cell->ledger, LEDGER_REAPED, clock_mono_ns());
    note_exit(run);
    note_usage(run);
    r = check_disk(run);
    if (r < 0) return error_fold(r);
    r = check_cgroup(run);
    if (r < 0) return error_fold(r);
    /* What the watching could not see: descendants, and the last moments. */
    if (run->received_ns && cell->facts.cpu_us > run->order->limits.cpu_ms * UINT64_C(1000))
        r = exceed(run, CODE_TIMEOUT, "used %" PRIu64 " us of CPU time; %" PRIu64 " ms are allowed",
                   cell->facts.cpu_us, run->order->limits.cpu_ms);
    return r < 0 ? error_fold(r) : 0;
}

/* The outputs, as they stand, tell why there was no start marker. */
static int explain(Run *run) {
    const Facts *facts = &run->cell->facts;
    if (facts->limit != CODE_NONE)
        return invalid_set(run->invalid, CODE_CHILD_NEVER_STARTED,
                           "stopped before its start marker: %s", facts->limit_detail);
    if (run->is_killed)
        return invalid_set(run->invalid, CODE_CHILD_NEVER_STARTED,
                           "hung: no start marker within %d ms of being given the job",
                           RECEIVE_LIMIT_MS);
    const ChildExit *exit = &run->cell->exit;
    OutputFacts errors = {0};
    CLEANUP(freep) char *text = NULL;
    size_t n_bytes;
    output_finish(run->outputs->err, exit->signal != 0, &errors);
    const int r = output_join(&errors, &text, &n_bytes);
    free(errors.head);
    free(errors.tail);
    if (r < 0) return error_fold(r);
    return invalid_set_death(run->invalid, run->scanner, exit,
                             output_total_bytes(run->outputs->out) == 0, text, n_bytes);
}

int run_order(Cell *cell, const Order *order, const Scanner *scanner, const RunOutputs *outputs,
              InvalidReport *ret_invalid) {
    Run run = {
        .cell = cell,
        .order = order,
        .scanner = scanner,
        .outputs = outputs,
        .invalid = ret_invalid,
    };
    int r = dispatch(&run, cell->facts.findings.n_items > 0);
    if (r == 0) r = watch(&run);
    if (r == 0) r = finish(&run);
    if (r != 0) return r;
    if (cell->facts.fault == CODE_NONE && !cell->facts.seen[PHASE_RECEIVED]) return explain(&run);
    return 0;
}
