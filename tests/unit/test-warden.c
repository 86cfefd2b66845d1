/* A whole warden over its channel, with a real interpreter: what it reports, and that nothing is
 * left.
 */
#include "warden/warden.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "platform/process.h"
#include "platform/supervisor.h"
#include "suite.h"
#include "platform/workdir.h"
#include "verdict/phase.h"
#include "warden.pb-c.h"
#include "wire.h"

enum { FRAME_MAX_BYTES = 64 << 20, KEEP_BYTES = 4096, LONG_CANARY_BYTES = 2100 };

#define OS "os = (i for i in ()).gi_frame.f_builtins['__import__']('os')\n"
#define MARKER "[REDACTED:0123456789abcdef]"
#define LONG_MARKER "[REDACTED:fedcba9876543210]"
#define DATA "a,b\n1,x\n2,y\n"

/* One warden in a process of its own. */
typedef struct Bench {
    char root[64];
    char directory[96];
    char work[112];
    int channel;
    pid_t warden;
} Bench;

static void start_warden(Bench *bench) {
    int ends[2];
    snprintf(bench->root, sizeof bench->root, "/tmp/test-warden-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(bench->root));
    snprintf(bench->directory, sizeof bench->directory, "%s/e-1", bench->root);
    snprintf(bench->work, sizeof bench->work, "%s/work", bench->directory);
    ck_assert_int_eq(process_become_reaper(), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t test = getpid();
    bench->warden = fork();
    ck_assert_int_ge(bench->warden, 0);
    if (bench->warden == 0) {
        WardenChannel *channel;
        close(ends[0]);
        if (supervisor_enter(test) != 0 || warden_channel_new(ends[1], &channel) != 0) _exit(90);
        const int r = warden_serve(channel);
        warden_channel_free(channel);
        _exit(r == 0 ? 0 : 91);
    }
    close(ends[1]);
    bench->channel = ends[0];
}

/* The warden ends by itself with `status`, and nothing of the environment is left. */
static void finish(Bench *bench) {
    int status;
    struct stat st;
    ck_assert_int_eq(waitpid(bench->warden, &status, 0), bench->warden);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_int_ne(stat(bench->directory, &st), 0);
    ck_assert_int_eq(rmdir(bench->root), 0);
    ck_assert_int_eq(waitpid(-1, &status, 0), -1); /* strays would be our children */
    if (bench->channel >= 0) close(bench->channel);
}

static void send_message(const Bench *bench, const Tbw__Message *message) {
    uint8_t *frame;
    size_t n_bytes;
    ck_assert_int_eq(wire_pack(&message->base, &frame, &n_bytes), 0);
    ck_assert_int_eq(send(bench->channel, frame, n_bytes, MSG_NOSIGNAL), (ssize_t)n_bytes);
    free(frame);
}

/* NULL at the channel's end. */
static Tbw__Message *receive(const Bench *bench) {
    uint8_t header[WIRE_HEADER_BYTES];
    size_t n_bytes;
    if (recv(bench->channel, header, sizeof header, MSG_WAITALL) != (ssize_t)sizeof header)
        return NULL;
    ck_assert_int_eq(wire_payload_length(header, FRAME_MAX_BYTES, &n_bytes), 0);
    uint8_t *payload = malloc(n_bytes + 1);
    ProtobufCMessage *message = NULL;
    ck_assert_int_eq(recv(bench->channel, payload, n_bytes, MSG_WAITALL), (ssize_t)n_bytes);
    ck_assert_int_eq(wire_unpack(&tbw__message__descriptor, payload, n_bytes, &message), 0);
    free(payload);
    return (Tbw__Message *)message;
}

static Tbw__Message *expect(const Bench *bench, Tbw__Message__BodyCase body) {
    Tbw__Message *message = receive(bench);
    ck_assert_ptr_nonnull(message);
    if (message->body_case == TBW__MESSAGE__BODY_INVALID && body != TBW__MESSAGE__BODY_INVALID)
        ck_abort_msg("invalid: %s: %s", message->invalid->code, message->invalid->detail);
    ck_assert_int_eq(message->body_case, body);
    return message;
}

static void forget(Tbw__Message *message) {
    wire_message_free(&message->base);
}

static Tbw__Limits default_limits(void) {
    Tbw__Limits limits = TBW__LIMITS__INIT;
    limits.wall_ms = 20000;
    limits.cpu_ms = 20000;
    limits.memory_bytes = 256 << 20;
    limits.output_bytes = 1 << 20;
    limits.disk_bytes = 1 << 20;
    limits.processes = 64;
    limits.open_files = 64;
    return limits;
}

static const char *const layers[] = {"session",     "death_signal",   "rlimits",
                                     "descriptors", "work_directory", "no_new_privileges"};
static const char *const imports[] = {"json", "math", "ctypes", "faulthandler", "__future__"};
static const char *const preload[] = {"json", "math"};
static const char *const refused[] = {"eval", "exec"};
static const char *const poisoned[] = {"socket"};

enum { LAYER_COUNT = sizeof layers / sizeof *layers };

static void send_setup(Bench *bench, const char *interpreter, uint64_t ready_timeout_ms,
                       const char *warmup) {
    Tbw__Variable home = TBW__VARIABLE__INIT, lang = TBW__VARIABLE__INIT;
    home.name = (char *)"HOME", home.value = bench->work;
    lang.name = (char *)"LANG", lang.value = (char *)"C.UTF-8";
    Tbw__Variable *variables[] = {&home, &lang};
    Tbw__Limits limits = default_limits();
    Tbw__Setup setup = TBW__SETUP__INIT;
    setup.environment_id = (char *)"e-1";
    setup.directory = bench->directory;
    setup.interpreter = (char *)interpreter;
    setup.n_environment = 2, setup.environment = variables;
    setup.n_preload = 2, setup.preload = (char **)preload;
    setup.n_allowed_imports = 5, setup.allowed_imports = (char **)imports;
    setup.n_refused_calls = 2, setup.refused_calls = (char **)refused;
    setup.n_poisoned_modules = 1, setup.poisoned_modules = (char **)poisoned;
    setup.n_layers = LAYER_COUNT, setup.layers = (char **)layers;
    setup.warmup = (char *)warmup;
    setup.limits = &limits;
    setup.ready_timeout_ms = ready_timeout_ms;
    setup.keep_bytes = KEEP_BYTES;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_SETUP;
    message.setup = &setup;
    send_message(bench, &message);
}

static void make_ready(Bench *bench) {
    start_warden(bench);
    send_setup(bench, "/usr/bin/python3", 30000, "print('warm')\n");
    forget(expect(bench, TBW__MESSAGE__BODY_READY));
}

/* It overlaps with no other one of its kind. Returns the end of the text. */
static char *put_long_canary(char *text) {
    memset(text, 'L', LONG_CANARY_BYTES - 1);
    return stpcpy(text + LONG_CANARY_BYTES - 1, "M");
}

static void send_job(const Bench *bench, const char *code, const Tbw__Limits *limits) {
    uint8_t nonce[16] = {0xab, 1, 2};
    Tbw__InputFile input = TBW__INPUT_FILE__INIT;
    input.name = (char *)"your_data.csv";
    input.content = (ProtobufCBinaryData){sizeof DATA - 1, (uint8_t *)DATA};
    Tbw__InputFile *inputs[] = {&input};
    Tbw__Canary canary = TBW__CANARY__INIT;
    canary.id = (char *)"mail-1";
    canary.value = (ProtobufCBinaryData){6, (uint8_t *)"s3cr3t"};
    canary.marker = (char *)MARKER;
    char long_value[LONG_CANARY_BYTES + 1];
    put_long_canary(long_value);
    Tbw__Canary long_canary = TBW__CANARY__INIT;
    long_canary.id = (char *)"long-1";
    long_canary.value = (ProtobufCBinaryData){LONG_CANARY_BYTES, (uint8_t *)long_value};
    long_canary.marker = (char *)LONG_MARKER;
    Tbw__Canary *canaries[] = {&canary, &long_canary};
    char *columns[] = {(char *)"a"};
    Tbw__Limits copy = *limits;
    Tbw__Job job = TBW__JOB__INIT;
    job.job_id = (char *)"j-1";
    job.nonce = (ProtobufCBinaryData){sizeof nonce, nonce};
    job.code = (ProtobufCBinaryData){strlen(code), (uint8_t *)code};
    job.file_name = (char *)"generated.py";
    job.n_inputs = 1, job.inputs = inputs;
    job.n_canaries = 2, job.canaries = canaries;
    job.n_protected_columns = 1, job.protected_columns = columns;
    job.limits = &copy;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_JOB;
    message.job = &job;
    send_message(bench, &message);
}

/* Runs one job to its result; the caller forgets the message. */
static Tbw__Message *run_limited(const char *code, const Tbw__Limits *limits) {
    Bench bench;
    make_ready(&bench);
    send_job(&bench, code, limits);
    forget(expect(&bench, TBW__MESSAGE__BODY_RECEIVED));
    Tbw__Message *message = expect(&bench, TBW__MESSAGE__BODY_RESULT);
    finish(&bench);
    return message;
}

static Tbw__Message *run(const char *code) {
    const Tbw__Limits limits = default_limits();
    return run_limited(code, &limits);
}

static bool saw(const Tbw__Result *result, Phase phase) {
    for (size_t i = 0; i < result->n_phases; i++)
        if (result->phases[i]->phase == (uint32_t)phase) return true;
    return false;
}

static void expect_output(const Tbw__Output *output, const char *text) {
    ck_assert_uint_eq(output->head.len, strlen(text));
    ck_assert(memcmp(output->head.data, text, strlen(text)) == 0);
}

static const Tbw__Failure *find(Tbw__Failure **items, size_t n_items, const char *code,
                                const char *sink) {
    for (size_t i = 0; i < n_items; i++)
        if (strcmp(items[i]->code, code) == 0 && strcmp(items[i]->sink, sink) == 0) return items[i];
    return NULL;
}

static void expect_clean_end(const Tbw__Result *result) {
    ck_assert_str_eq(result->fault, "");
    ck_assert(saw(result, PHASE_REAPED));
    ck_assert(saw(result, PHASE_CHECKED));
}

START_TEST(an_environment_is_observed) {
    Bench bench;
    start_warden(&bench);
    send_setup(&bench, "/usr/bin/python3", 30000, "");
    Tbw__Message *message = expect(&bench, TBW__MESSAGE__BODY_READY);
    const Tbw__Ready *ready = message->ready;
    ck_assert_int_eq(strncmp(ready->version, "3.", 2), 0);
    ck_assert(ready->hash_randomized);
    ck_assert_uint_ne(ready->hash_sample, 0);
    ck_assert_uint_eq(ready->n_enforced, LAYER_COUNT);
    forget(message);
    close(bench.channel);
    bench.channel = -1;
    finish(&bench);
}
END_TEST

START_TEST(good_code_passes) {
    Tbw__Message *message = run("import math\nprint(math.floor(2.5))\n");
    const Tbw__Result *result = message->result;
    expect_clean_end(result);
    for (Phase phase = 0; phase < PHASE_COUNT; phase++) ck_assert(saw(result, phase));
    ck_assert(result->exited);
    ck_assert_int_eq(result->exit_code, 0);
    ck_assert(!result->killed_by_warden);
    ck_assert_str_eq(result->limit, "");
    ck_assert_uint_eq(result->n_findings + result->n_rejects + result->n_produced, 0);
    expect_output(result->stdout, "2\n");
    ck_assert_uint_eq(result->stdout->total_bytes, 2);
    ck_assert_uint_eq(result->stdout->sha256.len, 32);
    ck_assert_uint_eq(result->stdout->sha256.data[0], 0x53); /* sha256sum of "2\n" */
    ck_assert_uint_gt(result->peak_memory_bytes, 1 << 20);
    forget(message);
}
END_TEST

START_TEST(refused_code_never_starts) {
    Tbw__Message *message = run("import socket\nx = eval('1')\n");
    const Tbw__Result *result = message->result;
    ck_assert(saw(result, PHASE_PARSED));
    ck_assert(!saw(result, PHASE_STARTED));
    ck_assert_uint_eq(result->n_rejects, 2);
    ck_assert_str_eq(result->rejects[0]->code, "forbidden_import");
    ck_assert_str_eq(result->rejects[0]->subject, "socket");
    ck_assert_uint_eq(result->rejects[0]->line, 1);
    ck_assert_str_eq(result->rejects[1]->code, "forbidden_call");
    ck_assert_str_eq(result->fault, "");
    forget(message);
}
END_TEST

/* Texts quote the source: a canary at the place where they are cut shows neither of its halves. */
static void expect_no_half(const Tbw__Failure *failure) {
    const char *texts[] = {failure->subject, failure->message};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_ptr_null(strstr(texts[i], "s3c"));
        ck_assert_ptr_null(strstr(texts[i], "r3t"));
        for (const char *p = texts[i]; (p = strchr(p, '[')); p++)
            ck_assert_int_eq(strncmp(p, MARKER, strlen(MARKER)), 0);
    }
    ck_assert_uint_le(strlen(failure->subject), 200);
    ck_assert_uint_le(strlen(failure->message), 1000);
}

START_TEST(a_refusal_is_cut_after_redaction) {
    static const size_t leads[] = {10,  170, 185, 194,  196,  197,  199,
                                   960, 990, 996, 4292, 4293, 5085, 5094};
    static char code[1 << 17];
    char *end = code;
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        end = stpcpy(end, "import ");
        memset(end, 'x', leads[i]);
        end = stpcpy(end + leads[i], "s3cr3t");
        memset(end, 'y', i % 2 ? 5000 : 0);
        end += i % 2 ? 5000 : 0;
        *end++ = '\n';
    }
    *end = '\0';
    Tbw__Message *message = run(code);
    const Tbw__Result *result = message->result;
    ck_assert(saw(result, PHASE_PARSED));
    ck_assert(!saw(result, PHASE_STARTED));
    ck_assert_str_eq(result->fault, "");
    ck_assert_uint_eq(result->n_rejects, sizeof leads / sizeof *leads);
    for (size_t i = 0; i < result->n_rejects; i++) expect_no_half(result->rejects[i]);
    ck_assert_str_eq(result->rejects[0]->subject, "xxxxxxxxxx" MARKER);
    ck_assert_ptr_nonnull(strstr(result->rejects[2]->message, "x" MARKER " may not be imported"));
    forget(message);
}
END_TEST

/* The harness cuts a name as well, and what it sent may be short once it is redacted. */
START_TEST(what_the_harness_cut_shows_no_half) {
    char code[5000];
    char *end = put_long_canary(put_long_canary(stpcpy(code, "import ")));
    memset(end, 'x', 93); /* and 3 bytes are left of 4296 */
    stpcpy(end + 93, "s3cr3t\n");
    Tbw__Message *message = run(code);
    const Tbw__Result *result = message->result;
    ck_assert_uint_eq(result->n_rejects, 1);
    const char *subject = result->rejects[0]->subject;
    ck_assert_int_eq(strncmp(subject, LONG_MARKER LONG_MARKER "xxx", 57), 0);
    ck_assert_ptr_null(strstr(subject, "s3c"));
    ck_assert_ptr_nonnull(strstr(result->rejects[0]->message, "x" MARKER " may not be imported"));
    forget(message);
}
END_TEST

/* Python itself cuts that name. */
START_TEST(a_future_s_name_is_not_cut) {
    char code[256];
    char *end = stpcpy(code, "from __future__ import ");
    memset(end, 'x', 97);
    stpcpy(end + 97, "s3cr3t\n");
    Tbw__Message *message = run(code);
    const Tbw__Result *result = message->result;
    ck_assert(saw(result, PHASE_ALLOWED));
    ck_assert_uint_eq(result->n_rejects, 1);
    ck_assert_str_eq(result->rejects[0]->code, "does_not_compile");
    ck_assert_str_eq(result->rejects[0]->message, "SyntaxError: no such future feature");
    forget(message);
}
END_TEST

START_TEST(an_exception_has_an_excerpt) {
    Tbw__Message *message = run("def f():\n    raise ValueError('no s3cr3t')\nf()\n");
    const Tbw__Result *result = message->result;
    /* The source holds the canary: it is held. */
    ck_assert(result->held);
    ck_assert(!saw(result, PHASE_STARTED));
    ck_assert_ptr_nonnull(find(result->findings, result->n_findings, "canary_leak", "source"));
    forget(message);

    message = run("def f():\n    raise ValueError('no s3cr' + '3t')\nf()\n");
    result = message->result;
    expect_clean_end(result);
    ck_assert(result->exited);
    ck_assert_int_eq(result->exit_code, 1);
    ck_assert_ptr_nonnull(strstr(result->excerpt, "ValueError: no [REDACTED:0123456789abcdef]"));
    ck_assert_ptr_null(strstr(result->excerpt, "s3cr3t"));
    ck_assert_ptr_nonnull(find(result->findings, result->n_findings, "canary_leak", "stderr"));
    forget(message);
}
END_TEST

START_TEST(an_exit_status_is_seen) {
    Tbw__Message *message = run("raise SystemExit(3)\n");
    expect_clean_end(message->result);
    ck_assert_int_eq(message->result->exit_code, 3);
    ck_assert(!saw(message->result, PHASE_ENDED));
    forget(message);
}
END_TEST

START_TEST(a_crash_is_a_signal) {
    Tbw__Message *message = run(OS "os.abort()\n");
    const Tbw__Result *result = message->result;
    expect_clean_end(result);
    ck_assert(!result->exited);
    ck_assert_int_eq(result->signal, SIGABRT);
    ck_assert(!result->killed_by_warden);
    ck_assert_int_eq(strncmp(result->excerpt, "Fatal Python error: Aborted", 27), 0);
    ck_assert_ptr_null(strstr(result->excerpt, "Extension modules"));
    forget(message);
}
END_TEST

static void expect_timeout(const char *code, const char *word) {
    Tbw__Limits limits = default_limits();
    limits.wall_ms = 400;
    const uint64_t started_ms = clock_mono_ms();
    Tbw__Message *message = run_limited(code, &limits);
    const Tbw__Result *result = message->result;
    expect_clean_end(result);
    ck_assert_str_eq(result->limit, "timeout");
    ck_assert_ptr_nonnull(strstr(result->limit_detail, word));
    ck_assert(result->killed_by_warden);
    ck_assert_int_eq(result->signal, SIGKILL);
    ck_assert_uint_ge(result->wall_us, 400000);
    ck_assert_uint_lt(clock_mono_ms() - started_ms, 10000);
    forget(message);
}

START_TEST(time_runs_out) {
    expect_timeout("while True:\n    pass\n", "wall clock");
}
END_TEST

START_TEST(a_stopped_process_times_out) {
    expect_timeout(OS "os.kill(os.getpid(), 19)\n", "wall clock");
}
END_TEST

START_TEST(a_stopped_group_times_out) {
    expect_timeout(OS "os.kill(0, 19)\n", "wall clock");
}
END_TEST

START_TEST(closed_descriptors_time_out) {
    expect_timeout(OS "os.closerange(0, 10)\nwhile True:\n    pass\n", "wall clock");
}
END_TEST

START_TEST(processor_time_runs_out) {
    Tbw__Limits limits = default_limits();
    limits.cpu_ms = 200;
    Tbw__Message *message = run_limited("while True:\n    pass\n", &limits);
    expect_clean_end(message->result);
    ck_assert_str_eq(message->result->limit, "timeout");
    ck_assert_ptr_nonnull(strstr(message->result->limit_detail, "CPU time limit of 200 ms"));
    ck_assert_uint_ge(message->result->cpu_us, 200000);
    ck_assert_uint_lt(message->result->cpu_us, 1500000);
    forget(message);
}
END_TEST

START_TEST(a_flood_is_bounded) {
    Tbw__Message *message = run("while True:\n    print('x' * 100000)\n");
    const Tbw__Result *result = message->result;
    expect_clean_end(result);
    ck_assert_str_eq(result->limit, "output_limit");
    ck_assert_uint_gt(result->stdout->total_bytes, 1 << 20);
    ck_assert_uint_lt(result->stdout->total_bytes, (1 << 20) + (4 << 20));
    ck_assert_uint_eq(result->stdout->head.len, KEEP_BYTES);
    ck_assert_uint_eq(result->stdout->tail.len, KEEP_BYTES);
    ck_assert_uint_eq(result->stdout->omitted_bytes, result->stdout->total_bytes - 2 * KEEP_BYTES);
    forget(message);
}
END_TEST

/* A grandchild in a session of its own holds stdout and ignores what it can. */
START_TEST(a_hidden_grandchild_delays_nothing) {
    const uint64_t started_ms = clock_mono_ms();
    Tbw__Message *message = run(OS "if os.fork() == 0:\n"
                                   "    os.setsid()\n"
                                   "    if os.fork() == 0:\n"
                                   "        os.kill(os.getpid(), 19)\n"
                                   "        os._exit(0)\n"
                                   "    os.pause() if hasattr(os, 'pause') else None\n"
                                   "    while True: pass\n"
                                   "print('parent')\n");
    const Tbw__Result *result = message->result;
    expect_clean_end(result);
    ck_assert(result->exited);
    ck_assert_int_eq(result->exit_code, 0);
    ck_assert(saw(result, PHASE_ENDED));
    ck_assert(!result->killed_by_warden);
    expect_output(result->stdout, "parent\n");
    ck_assert_uint_lt(clock_mono_ms() - started_ms, 10000);
    forget(message);
}
END_TEST

START_TEST(files_are_checked) {
    Tbw__Message *message = run("open_file = (i for i in ()).gi_frame.f_builtins['open']\n" OS
                                "open_file('your_data.csv', 'w').write('a,b\\n1,x\\n3,y\\n')\n"
                                "os.mkdir('deep')\n"
                                "open_file('deep/out.txt', 'w').write('hello s3cr' + '3t')\n"
                                "os.symlink('/etc/passwd', 'link')\n"
                                "os.mkfifo('s3cr' + '3t.fifo')\n");
    const Tbw__Result *result = message->result;
    expect_clean_end(result);
    ck_assert_int_eq(result->exit_code, 0);
    const Tbw__Failure *column = find(result->findings, result->n_findings, "protected_column", "");
    ck_assert_ptr_nonnull(column);
    ck_assert_str_eq(column->subject, "a");
    ck_assert_ptr_nonnull(strstr(column->message, "row 3"));
    ck_assert_ptr_nonnull(find(result->findings, result->n_findings, "input_modified", ""));
    const Tbw__Failure *leak = find(result->findings, result->n_findings, "canary_leak", "file");
    ck_assert_ptr_nonnull(leak);
    ck_assert_uint_eq(leak->offset, 6);
    ck_assert_str_eq(leak->subject, "mail-1");
    leak = find(result->findings, result->n_findings, "canary_leak", "file_name");
    ck_assert_ptr_nonnull(leak);
    ck_assert_uint_eq(result->n_findings, 4);
    ck_assert_uint_eq(result->n_produced, 5);
    for (size_t i = 0; i < result->n_produced; i++)
        ck_assert_ptr_null(
            memmem(result->produced[i]->name.data, result->produced[i]->name.len, "s3cr3t", 6));
    forget(message);
}
END_TEST

START_TEST(a_late_word_is_no_end) {
    Tbw__Message *message = run(OS "os.write(4, b'{\"marker\":\"ended\",\"nonce\":\"00\"}\\n' + "
                                   "b'x' * 200000 + b'\\n')\nos._exit(0)\n");
    expect_clean_end(message->result);
    ck_assert(!saw(message->result, PHASE_ENDED));
    ck_assert_int_eq(message->result->exit_code, 0);
    forget(message);
}
END_TEST

/* Scripts that stand in for an interpreter. */
static void expect_invalid(const char *script, uint64_t timeout_ms, const char *code,
                           const char *detail, const char *excerpt) {
    Bench bench;
    char path[96];
    start_warden(&bench);
    snprintf(path, sizeof path, "/tmp/test-warden-python-%d", (int)getpid());
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fclose(file);
    ck_assert_int_eq(chmod(path, 0700), 0);
    send_setup(&bench, path, timeout_ms, "");
    Tbw__Message *message = expect(&bench, TBW__MESSAGE__BODY_INVALID);
    ck_assert_str_eq(message->invalid->code, code);
    ck_assert_str_eq(message->invalid->detail, detail);
    ck_assert_ptr_nonnull(strstr(message->invalid->stderr_excerpt, excerpt));
    ck_assert(!message->invalid->dispatched);
    forget(message);
    finish(&bench);
    unlink(path);
}

START_TEST(a_dead_interpreter_is_named) {
    expect_invalid("echo 'Fatal Python error: _Py_HashRandomization_Init: failed' >&2\n"
                   "echo 'Python runtime state: preinitialized' >&2\nexit 1",
                   5000, "child_never_started",
                   "exited 1 before its start marker: "
                   "Fatal Python error: _Py_HashRandomization_Init: failed",
                   "preinitialized");
    expect_invalid("exit 0", 5000, "child_never_started",
                   "silent: exited 0 with no output before its start marker", "");
    expect_invalid("kill -SEGV $$", 5000, "child_never_started",
                   "killed by SIGSEGV before its start marker", "");
}
END_TEST

START_TEST(a_hanging_interpreter_is_named) {
    expect_invalid("echo looking >&2; sleep 100 & wait", 300, "child_never_started",
                   "hung: no start marker within 300 ms: looking", "looking");
}
END_TEST

START_TEST(a_flood_before_ready_is_bounded) {
    expect_invalid("head -c 50000000 /dev/zero | tr '\\0' 'x' >&2\nexit 1", 20000,
                   "child_never_started",
                   "exited 1 before its start marker: "
                   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...",
                   "xxxx");
}
END_TEST

START_TEST(a_missing_interpreter_is_named) {
    Bench bench;
    start_warden(&bench);
    send_setup(&bench, "/nonexistent/python", 5000, "");
    Tbw__Message *message = expect(&bench, TBW__MESSAGE__BODY_INVALID);
    ck_assert_str_eq(message->invalid->code, "child_never_started");
    ck_assert_str_eq(message->invalid->detail,
                     "cannot start /nonexistent/python: execute the interpreter: "
                     "No such file or directory");
    forget(message);
    finish(&bench);
}
END_TEST

START_TEST(a_broken_set_up_is_named) {
    Bench bench;
    start_warden(&bench);
    send_setup(&bench, "/usr/bin/python3", 30000, "raise ValueError('cold')\n");
    Tbw__Message *message = expect(&bench, TBW__MESSAGE__BODY_INVALID);
    ck_assert_str_eq(message->invalid->code, "environment_invalid");
    ck_assert_str_eq(message->invalid->detail, "warmup: ValueError: cold");
    forget(message);
    finish(&bench);
}
END_TEST

/* The warmup leaves a thread behind. */
START_TEST(a_second_thread_is_seen) {
    Bench bench;
    start_warden(&bench);
    send_setup(&bench, "/usr/bin/python3", 30000,
               "import threading, time\n"
               "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n");
    Tbw__Message *message = expect(&bench, TBW__MESSAGE__BODY_INVALID);
    ck_assert_str_eq(message->invalid->code, "environment_invalid");
    ck_assert_str_eq(message->invalid->detail, "it has more than one thread");
    forget(message);
    finish(&bench);
}
END_TEST

START_TEST(an_open_descriptor_is_seen) {
    Bench bench;
    start_warden(&bench);
    send_setup(&bench, "/usr/bin/python3", 30000, "import os\nos.open('/dev/null', os.O_RDONLY)\n");
    Tbw__Message *message = expect(&bench, TBW__MESSAGE__BODY_INVALID);
    ck_assert_str_eq(message->invalid->code, "layer_missing");
    ck_assert_str_eq(message->invalid->detail, "the layer descriptors is not in force");
    forget(message);
    finish(&bench);
}
END_TEST

START_TEST(another_environment_is_seen) {
    Bench bench;
    start_warden(&bench);
    send_setup(&bench, "/usr/bin/python3", 30000, "");
    /* The harness notes its environment before the warmup: change it by a wrapper instead. */
    forget(expect(&bench, TBW__MESSAGE__BODY_READY));
    close(bench.channel);
    bench.channel = -1;
    finish(&bench);
    expect_invalid("exec env -u LANG STRANGE=1 /usr/bin/python3 \"$@\"", 20000,
                   "environment_invalid", "its environment lacks LANG", "");
    expect_invalid("exec env STRANGE=1 /usr/bin/python3 \"$@\"", 20000, "environment_invalid",
                   "its environment has PWD, which nobody set", "");
}
END_TEST

START_TEST(death_while_idle_is_told) {
    Bench bench;
    start_warden(&bench);
    /* A descendant of the set-up kills the interpreter a little later. */
    send_setup(&bench, "/usr/bin/python3", 30000,
               "import os, time\n"
               "parent = os.getpid()\n"
               "if os.fork() == 0:\n"
               "    time.sleep(0.5)\n"
               "    os.kill(parent, 9)\n"
               "    os._exit(0)\n");
    forget(expect(&bench, TBW__MESSAGE__BODY_READY));
    Tbw__Message *message = expect(&bench, TBW__MESSAGE__BODY_INVALID);
    ck_assert_str_eq(message->invalid->code, "child_never_started");
    ck_assert_str_eq(message->invalid->detail, "killed by SIGKILL while it waited for a job");
    ck_assert(!message->invalid->dispatched);
    forget(message);
    finish(&bench);
}
END_TEST

START_TEST(a_lost_broker_ends_a_job) {
    Bench bench;
    const Tbw__Limits limits = default_limits();
    make_ready(&bench);
    send_job(&bench, "while True:\n    pass\n", &limits);
    forget(expect(&bench, TBW__MESSAGE__BODY_RECEIVED));
    close(bench.channel);
    bench.channel = -1;
    finish(&bench);
}
END_TEST

START_TEST(a_termination_ends_a_job) {
    Bench bench;
    const Tbw__Limits limits = default_limits();
    make_ready(&bench);
    send_job(&bench, "while True:\n    pass\n", &limits);
    forget(expect(&bench, TBW__MESSAGE__BODY_RECEIVED));
    ck_assert_int_eq(kill(bench.warden, SIGTERM), 0);
    ck_assert_ptr_null(receive(&bench));
    finish(&bench);
}
END_TEST

START_TEST(a_killed_warden_takes_its_interpreter_along) {
    Bench bench;
    int status;
    const Tbw__Limits limits = default_limits();
    make_ready(&bench);
    send_job(&bench, "while True:\n    pass\n", &limits);
    forget(expect(&bench, TBW__MESSAGE__BODY_RECEIVED));
    ck_assert_int_eq(kill(bench.warden, SIGKILL), 0);
    ck_assert_int_eq(waitpid(bench.warden, &status, 0), bench.warden);
    /* The interpreter comes to us, dead. */
    ck_assert_int_gt(waitpid(-1, &status, 0), 0);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    ck_assert_int_eq(workdir_remove(bench.directory), 0);
    ck_assert_int_eq(rmdir(bench.root), 0);
    close(bench.channel);
}
END_TEST

SUITE_MAIN("warden", an_environment_is_observed, good_code_passes, refused_code_never_starts,
           a_refusal_is_cut_after_redaction, what_the_harness_cut_shows_no_half,
           a_future_s_name_is_not_cut, an_exception_has_an_excerpt, an_exit_status_is_seen,
           a_crash_is_a_signal, time_runs_out, a_stopped_process_times_out,
           a_stopped_group_times_out, closed_descriptors_time_out, processor_time_runs_out,
           a_flood_is_bounded, a_hidden_grandchild_delays_nothing, files_are_checked,
           a_late_word_is_no_end, a_dead_interpreter_is_named, a_hanging_interpreter_is_named,
           a_flood_before_ready_is_bounded, a_missing_interpreter_is_named,
           a_broken_set_up_is_named, a_second_thread_is_seen, an_open_descriptor_is_seen,
           another_environment_is_seen, death_while_idle_is_told, a_lost_broker_ends_a_job,
           a_termination_ends_a_job, a_killed_warden_takes_its_interpreter_along)
