/* Warden stub: the test program started again in a warden's place. It speaks proto/warden.proto and
 * follows a script: words of the profile's interpreter say how it starts, or what its survey finds,
 * words of the job's code what comes of a job. Each start, and each run of one job, takes the next
 * word; the last one stays. Runs no code. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "broker/doctor_programs.h"
#include "verdict/phase.h"
#include "warden.pb-c.h"
#include "wire.h"

/* As a program's path: whatever runs now. */
#define STUB_PATH "/proc/self/exe"

enum {
    STUB_MAX_FRAME_BYTES = 1 << 20,
    STUB_WORD_BYTES = 64,
    STUB_SAMPLE = 4711, /* of a start that is `constant` */
    STUB_SIGNAL = 6,
    STUB_LOST_CODE = 7,
    STUB_MAX_LAYERS = 32,
};

/* What a survey finds to be needed. */
#define STUB_PATH_NEEDED "/usr/bin/python3.99"
#define STUB_LINK_NEEDED "/lib"
#define STUB_LINK_TARGET "usr/lib"

typedef struct Stub {
    int fd;
    char directory[256];
    char lie[STUB_WORD_BYTES]; /* the self-test's program that gets a wrong verdict */
    const Tbw__Setup *setup;
} Stub;

/* ---- frames ---- */

static inline void stub_write(const Stub *stub, const uint8_t *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        const ssize_t n = write(stub->fd, bytes, n_bytes);
        if (n <= 0) _exit(0);
        bytes += n;
        n_bytes -= (size_t)n;
    }
}

static inline void stub_send(const Stub *stub, const Tbw__Message *message, bool dribble) {
    uint8_t *frame = NULL;
    size_t n_bytes = 0;
    if (wire_pack(&message->base, &frame, &n_bytes) != 0) _exit(99);
    const size_t step = dribble ? 1 : n_bytes;
    for (size_t at = 0; at < n_bytes; at += step) stub_write(stub, frame + at, step);
    free(frame);
}

static inline bool stub_read(const Stub *stub, uint8_t *bytes, size_t n_bytes) {
    while (n_bytes > 0) {
        const ssize_t n = read(stub->fd, bytes, n_bytes);
        if (n <= 0) return false;
        bytes += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

static inline void stub_remove(const Stub *stub) {
    char work[sizeof stub->directory + 8];
    snprintf(work, sizeof work, "%s/work", stub->directory);
    rmdir(work);
    rmdir(stub->directory);
}

/* Waits for the broker's end of the channel, then leaves nothing behind. */
static inline void stub_leave(const Stub *stub) {
    uint8_t rest;
    while (stub_read(stub, &rest, 1)) continue;
    stub_remove(stub);
    _exit(0);
}

/* The next message; its memory lives as long as the process. */
static inline Tbw__Message *stub_receive(const Stub *stub) {
    uint8_t header[WIRE_HEADER_BYTES];
    size_t n_bytes = 0;
    if (!stub_read(stub, header, sizeof header)) stub_leave(stub);
    if (wire_payload_length(header, STUB_MAX_FRAME_BYTES, &n_bytes) != 0) _exit(98);
    uint8_t *payload = malloc(n_bytes + 1);
    ProtobufCMessage *message = NULL;
    if (!payload || !stub_read(stub, payload, n_bytes)) stub_leave(stub);
    if (wire_unpack(&tbw__message__descriptor, payload, n_bytes, &message) != 0) _exit(97);
    return (Tbw__Message *)message;
}

/* ---- scripts ---- */

/* How often `key` was counted before, by every stub beside this one together. */
static inline unsigned stub_count(const Stub *stub, const char *key) {
    char path[512];
    int n = snprintf(path, sizeof path, "%s/../../count-", stub->directory);
    for (; *key && n < (int)sizeof path - 1; key++) path[n++] = strchr(" /\n", *key) ? '_' : *key;
    path[n] = '\0';
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1) _exit(96);
    const off_t end = lseek(fd, 0, SEEK_CUR); /* behind our own byte, whoever else writes */
    close(fd);
    return (unsigned)end - 1;
}

static inline void stub_word(const char *script, unsigned index, char ret_word[STUB_WORD_BYTES]) {
    size_t n = 0;
    for (;; index--) {
        script += strspn(script, " ");
        n = strcspn(script, " ");
        if (index == 0 || script[n + strspn(script + n, " ")] == '\0') break;
        script += n;
    }
    snprintf(ret_word, STUB_WORD_BYTES, "%.*s", (int)n, script);
}

static inline bool stub_is(const char *word, const char *name) {
    return strcmp(word, name) == 0;
}

/* ---- start ---- */

/* What it was told, for the broker to be compared with: layers, then what its root is to hold. */
static inline size_t stub_echo(const Stub *stub, char *layers[STUB_MAX_LAYERS]) {
    const Tbw__Root *root = stub->setup->root;
    size_t n = 0;
    for (; n < stub->setup->n_layers; n++) layers[n] = stub->setup->layers[n];
    for (size_t i = 0; root && i < root->n_paths; i++) layers[n++] = root->paths[i];
    for (size_t i = 0; root && i < root->n_links; i++) {
        layers[n++] = root->links[i]->path;
        layers[n++] = root->links[i]->target;
    }
    return n;
}

static inline void stub_send_ready(const Stub *stub, const char *word) {
    char *layers[STUB_MAX_LAYERS] = {(char *)"session", (char *)"rlimits"};
    Tbw__Ready ready = TBW__READY__INIT;
    ready.version = (char *)"3.11.2";
    ready.hash_randomized = !stub_is(word, "not-random");
    randombytes_buf(&ready.hash_sample, sizeof ready.hash_sample);
    if (stub_is(word, "constant")) ready.hash_sample = STUB_SAMPLE;
    ready.enforced = layers;
    ready.n_enforced = stub_is(word, "echo") ? stub_echo(stub, layers) : 2;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_READY;
    message.ready = &ready;
    stub_send(stub, &message, stub_is(word, "dribble"));
}

static inline void stub_send_invalid(const Stub *stub, const char *code, const char *detail,
                                     bool dispatched) {
    Tbw__Invalid invalid = TBW__INVALID__INIT;
    invalid.code = (char *)code;
    invalid.detail = (char *)detail;
    invalid.stderr_excerpt = (char *)"Fatal Python error: no";
    invalid.dispatched = dispatched;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_INVALID;
    message.invalid = &invalid;
    stub_send(stub, &message, false);
}

static inline void stub_send_garbage(const Stub *stub) {
    static const uint8_t frame[] = {0, 0, 0, 3, 0xff, 0xff, 0xff};
    stub_write(stub, frame, sizeof frame);
}

/* Words that end a warden at any time. */
static inline void stub_maybe_die(const Stub *stub, const char *word) {
    static const uint8_t huge[] = {0x7f, 0xff, 0xff, 0xff};
    if (stub_is(word, "lost")) _exit(STUB_LOST_CODE);
    if (stub_is(word, "killed")) kill(getpid(), SIGKILL);
    if (stub_is(word, "mute")) stub_leave(stub);
    if (stub_is(word, "garbage")) {
        stub_send_garbage(stub);
        stub_leave(stub);
    }
    if (stub_is(word, "huge")) {
        stub_write(stub, huge, sizeof huge);
        stub_leave(stub);
    }
    if (stub_is(word, "clings")) {
        /* Neither the end of the channel nor anything else makes it go. */
        close(stub->fd);
        for (;;) pause();
    }
}

/* no-LAYER: it is missing. Everything is there: whatever is no other word. */
static inline void stub_send_survey(const Stub *stub, const char *word) {
    char *paths[] = {(char *)STUB_PATH_NEEDED};
    Tbw__Link link = TBW__LINK__INIT;
    Tbw__Link *links[] = {&link};
    link.path = (char *)STUB_LINK_NEEDED;
    link.target = (char *)STUB_LINK_TARGET;
    Tbw__Root root = TBW__ROOT__INIT;
    root.paths = paths;
    root.n_paths = 1;
    root.links = links;
    root.n_links = 1;
    Tbw__MissingLayer missing = TBW__MISSING_LAYER__INIT;
    Tbw__MissingLayer *all_missing[] = {&missing};
    missing.name = (char *)word + strlen("no-");
    missing.reason = (char *)"this kernel has none";
    Tbw__Survey survey = TBW__SURVEY__INIT;
    survey.root = &root;
    survey.missing = all_missing;
    survey.n_missing = strncmp(word, "no-", strlen("no-")) == 0;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_SURVEY;
    message.survey = &survey;
    stub_send(stub, &message, false);
}

/* Says what it finds, and leaves. */
static inline void stub_survey(const Stub *stub, const char *word) {
    stub_maybe_die(stub, word);
    stub_count(stub, "surveys");
    if (stub_is(word, "invalid"))
        stub_send_invalid(stub, "child_never_started", "exited 1", false);
    else if (stub_is(word, "says-ready"))
        stub_send_ready(stub, word);
    else
        stub_send_survey(stub, word);
    stub_leave(stub);
}

/* ready: whatever is no other word. */
static inline void stub_start(const Stub *stub, const char *word) {
    stub_maybe_die(stub, word);
    if (stub_is(word, "invalid")) {
        stub_send_invalid(stub, "layer_missing", "no such layer here", false);
        stub_leave(stub);
    }
    if (stub_is(word, "surveys")) {
        stub_send_survey(stub, word);
        stub_leave(stub);
    }
    stub_send_ready(stub, word);
    if (stub_is(word, "ready-twice")) stub_send_ready(stub, word);
}

/* ---- results ---- */

typedef struct StubResult {
    Phase last; /* the ledger holds every phase up to it, and REAPED and CHECKED */
    bool exited;
    int exit_code;
    unsigned signal;
    const char *reject;
    const char *finding;
    const char *limit;
    const char *fault;
    const char *output;
    const char *excerpt;
} StubResult;

static inline void stub_send_result(const Stub *stub, const StubResult *what) {
    Tbw__Result result = TBW__RESULT__INIT;
    Tbw__PhaseTime phases[PHASE_COUNT];
    Tbw__PhaseTime *phase_pointers[PHASE_COUNT];
    for (Phase phase = 0; phase < PHASE_COUNT; phase++) {
        if (phase > what->last && phase < PHASE_REAPED) continue;
        phases[phase] = (Tbw__PhaseTime)TBW__PHASE_TIME__INIT;
        phases[phase].phase = phase;
        phases[phase].at_us = 100 * (uint64_t)phase;
        phase_pointers[result.n_phases++] = &phases[phase];
    }
    result.phases = phase_pointers;
    Tbw__Failure reject = TBW__FAILURE__INIT, finding = TBW__FAILURE__INIT;
    Tbw__Failure *rejects[] = {&reject}, *findings[] = {&finding};
    reject.code = (char *)what->reject;
    finding.code = (char *)what->finding;
    finding.subject = (char *)"doctor";
    result.rejects = rejects;
    result.n_rejects = what->reject != NULL;
    result.findings = findings;
    result.n_findings = what->finding != NULL;
    result.exited = what->exited;
    result.exit_code = what->exit_code;
    result.signal = what->signal;
    result.killed_by_warden = what->limit != NULL;
    if (what->limit) result.limit = (char *)what->limit;
    if (what->fault) result.fault = (char *)what->fault;
    if (what->excerpt) result.excerpt = (char *)what->excerpt;
    uint8_t hash[crypto_hash_sha256_BYTES];
    const char *output = what->output ? what->output : "";
    crypto_hash_sha256(hash, (const uint8_t *)output, strlen(output));
    Tbw__Output out = TBW__OUTPUT__INIT;
    out.head = (ProtobufCBinaryData){strlen(output), (uint8_t *)output};
    out.total_bytes = strlen(output);
    out.sha256 = (ProtobufCBinaryData){sizeof hash, hash};
    result.stdout = &out;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_RESULT;
    message.result = &result;
    stub_send(stub, &message, false);
}

static inline void stub_send_received(const Stub *stub) {
    Tbw__Received received = TBW__RECEIVED__INIT;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_RECEIVED;
    message.received = &received;
    stub_send(stub, &message, false);
}

/* A word that is `out:TEXT` prints TEXT. */
static inline StubResult stub_result(const char *word) {
    static const StubResult passes = {.last = PHASE_ENDED, .exited = true, .output = "ok\n"};
    StubResult result = passes;
    if (strncmp(word, "out:", 4) == 0) {
        result.output = word + 4;
    } else if (strncmp(word, "exit:", 5) == 0) {
        result.exit_code = atoi(word + 5);
    } else if (stub_is(word, "crash")) {
        result = (StubResult){
            .last = PHASE_STARTED, .signal = STUB_SIGNAL, .excerpt = "Fatal Python error: Aborted"};
    } else if (stub_is(word, "timeout")) {
        result = (StubResult){.last = PHASE_STARTED, .signal = SIGKILL, .limit = "timeout"};
    } else if (stub_is(word, "never-received")) {
        result = (StubResult){.last = PHASE_DISPATCHED, .exited = true, .exit_code = 1};
    } else if (stub_is(word, "fault")) {
        result.fault = "staging_failed";
    } else if (stub_is(word, "ends-early")) {
        result.last = PHASE_STARTED;
    } else if (stub_is(word, "does-not-parse")) {
        result = (StubResult){.last = PHASE_RECEIVED, .exited = true, .reject = "does_not_parse"};
    } else if (stub_is(word, "forbidden-import")) {
        result = (StubResult){.last = PHASE_PARSED, .exited = true, .reject = "forbidden_import"};
    } else if (stub_is(word, "overwrites-input")) {
        result.finding = "input_modified";
    } else if (stub_is(word, "leaks-canary")) {
        result.finding = "canary_leak";
    }
    return result;
}

static inline void stub_run(const Stub *stub, const char *word) {
    stub_maybe_die(stub, word);
    if (stub_is(word, "undispatched") || stub_is(word, "died")) {
        stub_send_invalid(stub, "warden_lost", "it had died before", stub_is(word, "died"));
        stub_leave(stub);
    }
    const StubResult result = stub_result(word);
    if (result.last >= PHASE_RECEIVED) stub_send_received(stub);
    stub_send_result(stub, &result);
    if (stub_is(word, "twice")) stub_send_result(stub, &result);
}

/* ---- the self-test's programs ---- */

/* The poisoned module's name was put into its program: that one is known by how it begins, when it
 * is no other. */
static inline const DoctorProgram *stub_find_program(const char *code) {
    const DoctorProgram *poisoned = NULL;
    for (unsigned i = 0; i < doctor_n_programs; i++) {
        const DoctorProgram *program = &doctor_programs[i];
        if (strcmp(program->code, code) == 0) return program;
        if (program->needs_poison && strncmp(program->code, code, strcspn(program->code, "%")) == 0)
            poisoned = program;
    }
    return poisoned;
}

/* As a sandbox that works would see it. */
static inline StubResult stub_program_result(const DoctorProgram *program) {
    StubResult result = stub_result(program->name);
    if (program->failure == CODE_CRASHED) return stub_result("crash");
    if (program->failure == CODE_TIMEOUT) return stub_result("timeout");
    if (program->failure == CODE_EXITED) result.exit_code = program->exit_code;
    if (program->failure == CODE_EXITED) result.excerpt = program->evidence;
    if (program->kind == VERDICT_PASSED) result.output = program->evidence;
    return result;
}

static inline void stub_run_program(const Stub *stub, const DoctorProgram *program) {
    const StubResult result = stub_is(stub->lie, program->name) ? stub_result("exit:42")
                                                                : stub_program_result(program);
    stub_send_received(stub);
    stub_send_result(stub, &result);
}

/* ---- its life ---- */

/* warden_stub ends the process. The profile's warm-up names the self-test's program to lie about.
 */
static inline int warden_stub(int argc, char **argv) {
    if (argc < 3 || !stub_is(argv[1], "--channel") || sodium_init() < 0) return 95;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Stub stub = {.fd = atoi(argv[2])};
    char word[STUB_WORD_BYTES];
    const Tbw__Message *message = stub_receive(&stub);
    if (message->body_case != TBW__MESSAGE__BODY_SETUP) return 94;
    const Tbw__Setup *setup = message->setup;
    stub.setup = setup;
    snprintf(stub.directory, sizeof stub.directory, "%s", setup->directory);
    snprintf(stub.lie, sizeof stub.lie, "%s", setup->warmup);
    if (mkdir(stub.directory, 0700) != 0) return 93;
    char work[sizeof stub.directory + 8];
    snprintf(work, sizeof work, "%s/work", stub.directory);
    if (mkdir(work, 0700) != 0) return 92;
    stub_word(setup->interpreter, stub_count(&stub, setup->interpreter), word);
    if (setup->survey) stub_survey(&stub, word);
    stub_start(&stub, word);
    message = stub_receive(&stub);
    if (message->body_case != TBW__MESSAGE__BODY_JOB) return 91;
    const Tbw__Job *job = message->job;
    char code[1024];
    snprintf(code, sizeof code, "%.*s", (int)job->code.len, (const char *)job->code.data);
    const DoctorProgram *program = stub_find_program(code);
    if (program) stub_run_program(&stub, program);
    if (!program) {
        stub_word(code, stub_count(&stub, job->job_id), word);
        stub_run(&stub, word);
    }
    stub_leave(&stub);
    return 90;
}
