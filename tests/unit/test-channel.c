#include "broker/channel.h"

#include <string.h>

#include "base/cleanup.h"
#include "job_maker.h"
#include "suite.h"
#include "warden.pb-c.h"
#include "wire.h"

static ChannelMessage decoded;

/* Packs as a warden would, and decodes. */
static int decode(const Tbw__Message *message) {
    uint8_t *bytes = malloc(protobuf_c_message_get_packed_size(&message->base) + 1);
    const size_t n = protobuf_c_message_pack(&message->base, bytes);
    const int r = channel_decode(bytes, n, &decoded);
    free(bytes);
    return r;
}

static int decode_result(Tbw__Result *result) {
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_RESULT;
    message.result = result;
    return decode(&message);
}

static int decode_invalid(Tbw__Invalid *invalid) {
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_INVALID;
    message.invalid = invalid;
    return decode(&message);
}

static int decode_survey(Tbw__Survey *survey) {
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_SURVEY;
    message.survey = survey;
    return decode(&message);
}

static Tbw__Message *unpack(ChannelFrame *frame) {
    ProtobufCMessage *message = NULL;
    size_t n_bytes = 0;
    ck_assert_int_eq(wire_payload_length(frame->bytes, frame->n_bytes, &n_bytes), 0);
    ck_assert_uint_eq(n_bytes + WIRE_HEADER_BYTES, frame->n_bytes);
    ck_assert_int_eq(
        wire_unpack(&tbw__message__descriptor, frame->bytes + WIRE_HEADER_BYTES, n_bytes, &message),
        0);
    free(frame->bytes);
    return (Tbw__Message *)message;
}

/* ---- to the warden ---- */

START_TEST(setup_carries_the_profile) {
    const ConfigPlaces places = {"/s", "/r", "/t", "/w"};
    CLEANUP(config_unrefp) Config *config = NULL;
    ck_assert_int_eq(config_new_default(&places, &config), 0);
    const Profile *profile = config_profile(config, "pandas");
    CLEANUP(child_env_deinit) ChildEnv environment = {0};
    ck_assert_int_eq(env_variable_list_append(&environment, "HOME", "/r/work/e-1/work"), 0);
    ChannelFrame frame;
    const TextList hidden = {0};
    const RootPlan root = {0};
    const ChannelSetup from = {
        .environment_id = "e-1",
        .directory = "/r/work/e-1",
        .profile = profile,
        .environment = &environment,
        .keep_bytes = 512,
        .layers = &profile->required_layers,
        .root = &root,
        .hidden = &hidden,
        .uid = 70000,
    };
    ck_assert_int_eq(channel_encode_setup(&from, &frame), 0);
    Tbw__Message *message = unpack(&frame);
    ck_assert_int_eq(message->body_case, TBW__MESSAGE__BODY_SETUP);
    const Tbw__Setup *setup = message->setup;
    ck_assert_str_eq(setup->environment_id, "e-1");
    ck_assert_str_eq(setup->directory, "/r/work/e-1");
    ck_assert_str_eq(setup->interpreter, "/usr/bin/python3");
    ck_assert_uint_eq(setup->n_environment, 1);
    ck_assert_str_eq(setup->environment[0]->name, "HOME");
    ck_assert_str_eq(setup->environment[0]->value, "/r/work/e-1/work");
    ck_assert_str_eq(setup->preload[1], "pandas");
    ck_assert_str_eq(setup->allowed_imports[2], "freshdata");
    ck_assert_str_eq(setup->refused_calls[0], "eval");
    ck_assert_str_eq(setup->poisoned_modules[0], "socket");
    ck_assert_ptr_nonnull(strstr(setup->warmup, "groupby"));
    ck_assert_uint_eq(setup->limits->wall_ms, profile->limits.wall_ms);
    ck_assert_uint_eq(setup->limits->open_files, profile->limits.open_files);
    ck_assert_uint_eq(setup->ready_timeout_ms, profile->ready_timeout_ms);
    ck_assert_uint_eq(setup->n_layers, 18);
    ck_assert_str_eq(setup->layers[0], "session");
    ck_assert_str_eq(setup->layers[17], "seccomp");
    ck_assert_uint_eq(setup->keep_bytes, 512);
    ck_assert_uint_eq(setup->uid, 70000);
    ck_assert_str_eq(setup->cgroup, "");
    ck_assert_uint_eq(setup->n_hidden + setup->n_readable, 0);
    ck_assert_uint_eq(setup->root->n_paths + setup->root->n_links, 0);
    ck_assert(!setup->survey);
    wire_message_free(&message->base);
}
END_TEST

START_TEST(setup_carries_what_a_root_holds) {
    static char *hidden_items[] = {(char *)"/s", (char *)"/r", (char *)"/t"};
    static char *paths[] = {(char *)"/usr/bin/python3.11", (char *)"/usr/lib/python3.11"};
    static RootLink links[] = {{(char *)"/lib", (char *)"usr/lib"},
                               {(char *)"/usr/bin/python3", (char *)"python3.11"}};
    static const RootPlan root = {{paths, 2}, links, 2};
    static const TextList hidden = {hidden_items, 3};
    static const TextList no_layers;
    static const ChildEnv environment;
    const ConfigPlaces places = {"/s", "/r", "/t", "/w"};
    CLEANUP(config_unrefp) Config *config = NULL;
    ck_assert_int_eq(config_new_default(&places, &config), 0);
    ck_assert_int_eq(text_list_append(&config->profiles[0].readable, "/data"), 0);
    const ChannelSetup from = {
        .environment_id = "e-1",
        .directory = "/r/work/e-1",
        .profile = &config->profiles[0],
        .environment = &environment,
        .layers = &no_layers,
        .root = &root,
        .hidden = &hidden,
        .uid = UINT32_MAX,
        .cgroup = "/sys/fs/cgroup/x/e-1",
        .survey = true,
    };
    ChannelFrame frame;
    ck_assert_int_eq(channel_encode_setup(&from, &frame), 0);
    Tbw__Message *message = unpack(&frame);
    const Tbw__Setup *setup = message->setup;
    ck_assert(setup->survey);
    ck_assert_uint_eq(setup->uid, UINT32_MAX);
    ck_assert_str_eq(setup->cgroup, "/sys/fs/cgroup/x/e-1");
    ck_assert_uint_eq(setup->n_layers + setup->n_environment, 0);
    ck_assert_uint_eq(setup->n_hidden, 3);
    for (size_t i = 0; i < 3; i++) ck_assert_str_eq(setup->hidden[i], hidden_items[i]);
    ck_assert_uint_eq(setup->root->n_paths, 2);
    for (size_t i = 0; i < 2; i++) ck_assert_str_eq(setup->root->paths[i], paths[i]);
    ck_assert_uint_eq(setup->root->n_links, 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(setup->root->links[i]->path, links[i].path);
        ck_assert_str_eq(setup->root->links[i]->target, links[i].target);
    }
    ck_assert_uint_eq(setup->n_readable, 1);
    ck_assert_str_eq(setup->readable[0], "/data");
    wire_message_free(&message->base);
}
END_TEST

static Job *make_full_job(void) {
    Job *job = make_job("uid:1001", "key");
    JobSpec *spec = &job->spec;
    spec->code = (Blob){(uint8_t *)strdup("print(1)"), 8};
    spec->inputs = calloc(1, sizeof *spec->inputs);
    spec->n_inputs = 1;
    spec->inputs[0].name = strdup("your_data.csv");
    spec->inputs[0].content = (Blob){(uint8_t *)strdup("a,b\n"), 4};
    spec->canaries = calloc(1, sizeof *spec->canaries);
    spec->n_canaries = 1;
    spec->canaries[0].id = strdup("mail");
    spec->canaries[0].value = (Blob){(uint8_t *)strdup("secret"), 6};
    ck_assert_int_eq(text_list_append(&spec->protected_columns, "a"), 0);
    return job;
}

START_TEST(a_job_carries_everything_and_a_fresh_nonce) {
    const MarkerKey key = {{7}};
    const Limits limits = {1, 2, 3, 4, 5, 6, 7};
    char marker[MARKER_BYTES];
    marker_make(&key, "secret", 6, marker);
    Job *job = make_full_job();
    uint8_t nonces[2][CHANNEL_NONCE_BYTES];
    for (int i = 0; i < 2; i++) {
        ChannelFrame frame;
        ck_assert_int_eq(channel_encode_job(job, &limits, &key, &frame), 0);
        Tbw__Message *message = unpack(&frame);
        ck_assert_int_eq(message->body_case, TBW__MESSAGE__BODY_JOB);
        const Tbw__Job *sent = message->job;
        ck_assert_str_eq(sent->job_id, job->id);
        ck_assert_str_eq(sent->file_name, "generated.py");
        ck_assert_uint_eq(sent->code.len, 8);
        ck_assert_mem_eq(sent->code.data, "print(1)", 8);
        ck_assert_str_eq(sent->inputs[0]->name, "your_data.csv");
        ck_assert_mem_eq(sent->inputs[0]->content.data, "a,b\n", 4);
        ck_assert_str_eq(sent->protected_columns[0], "a");
        ck_assert_str_eq(sent->canaries[0]->id, "mail");
        ck_assert_mem_eq(sent->canaries[0]->value.data, "secret", 6);
        ck_assert_str_eq(sent->canaries[0]->marker, marker);
        ck_assert_uint_eq(sent->limits->wall_ms, 1);
        ck_assert_uint_eq(sent->limits->memory_bytes, 3);
        ck_assert_uint_eq(sent->limits->open_files, 7);
        ck_assert_uint_eq(sent->nonce.len, CHANNEL_NONCE_BYTES);
        memcpy(nonces[i], sent->nonce.data, CHANNEL_NONCE_BYTES);
        wire_message_free(&message->base);
    }
    ck_assert_mem_ne(nonces[0], nonces[1], CHANNEL_NONCE_BYTES);
    job_free(job);
}
END_TEST

/* ---- from the warden ---- */

START_TEST(ready_arrives_whole) {
    char *layers[] = {(char *)"session", (char *)"", (char *)"rlim\x1bits"};
    Tbw__Ready ready = TBW__READY__INIT;
    ready.version = (char *)"3.11\xff";
    ready.hash_randomized = 1;
    ready.hash_sample = UINT64_MAX - 1;
    ready.enforced = layers;
    ready.n_enforced = 3;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_READY;
    message.ready = &ready;
    ck_assert_int_eq(decode(&message), 0);
    ck_assert_int_eq(decoded.kind, CHANNEL_READY);
    ck_assert_str_eq(decoded.version, "3.11\xef\xbf\xbd"); /* well-formed from here on */
    ck_assert(decoded.hash_randomized);
    ck_assert_uint_eq(decoded.hash_sample, UINT64_MAX - 1);
    ck_assert_uint_eq(decoded.enforced.n_items, 2);
    ck_assert_str_eq(decoded.enforced.items[1], "rlim\\x1bits");
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(received_is_told) {
    Tbw__Received received = TBW__RECEIVED__INIT;
    Tbw__Message message = TBW__MESSAGE__INIT;
    message.body_case = TBW__MESSAGE__BODY_RECEIVED;
    message.received = &received;
    ck_assert_int_eq(decode(&message), 0);
    ck_assert_int_eq(decoded.kind, CHANNEL_RECEIVED);
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(a_survey_arrives_whole) {
    char *paths[] = {(char *)"/usr/bin/python3.11", (char *)"/lib\xff"};
    Tbw__Link link = TBW__LINK__INIT;
    Tbw__Link *links[] = {&link};
    link.path = (char *)"/lib";
    link.target = (char *)"usr/lib";
    Tbw__Root root = TBW__ROOT__INIT;
    root.paths = paths, root.n_paths = 2;
    root.links = links, root.n_links = 1;
    Tbw__MissingLayer one = TBW__MISSING_LAYER__INIT, other = TBW__MISSING_LAYER__INIT;
    Tbw__MissingLayer *missing[] = {&one, &other};
    one.name = (char *)"landlock", one.reason = (char *)"cannot\x1b use Landlock";
    other.name = (char *)"seccomp";
    Tbw__Survey survey = TBW__SURVEY__INIT;
    survey.root = &root;
    survey.missing = missing, survey.n_missing = 2;
    ck_assert_int_eq(decode_survey(&survey), 0);
    ck_assert_int_eq(decoded.kind, CHANNEL_SURVEY);
    const Survey *seen = &decoded.survey;
    ck_assert_uint_eq(seen->plan.paths.n_items, 2);
    ck_assert_str_eq(seen->plan.paths.items[0], "/usr/bin/python3.11");
    ck_assert_str_eq(seen->plan.paths.items[1], "/lib\xff"); /* otherwise another path */
    ck_assert_uint_eq(seen->plan.n_links, 1);
    ck_assert_str_eq(seen->plan.links[0].path, "/lib");
    ck_assert_str_eq(seen->plan.links[0].target, "usr/lib");
    ck_assert_uint_eq(seen->missing.n_items, 2);
    ck_assert_uint_eq(seen->reasons.n_items, 2);
    ck_assert_str_eq(seen->missing.items[0], "landlock");
    ck_assert_str_eq(seen->reasons.items[0], "cannot\\x1b use Landlock");
    ck_assert_str_eq(seen->missing.items[1], "seccomp");
    ck_assert_str_eq(seen->reasons.items[1], "no reason");
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(a_survey_without_a_root_is_malformed) {
    Tbw__MissingLayer one = TBW__MISSING_LAYER__INIT;
    Tbw__MissingLayer *missing[] = {&one};
    Tbw__Survey survey = TBW__SURVEY__INIT;
    survey.missing = missing, survey.n_missing = 1;
    ck_assert_int_eq(decode_survey(&survey), CHANNEL_E_MALFORMED);
    Tbw__Root root = TBW__ROOT__INIT;
    survey.root = &root;
    survey.n_missing = 0;
    ck_assert_int_eq(decode_survey(&survey), 0);
    ck_assert_uint_eq(decoded.survey.plan.paths.n_items + decoded.survey.plan.n_links, 0);
    ck_assert_uint_eq(decoded.survey.missing.n_items, 0);
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(invalid_needs_an_infrastructure_code) {
    static const char *const wrong[] = {"", "exited", "no_such_code", "canary_leak"};
    Tbw__Invalid invalid = TBW__INVALID__INIT;
    invalid.code = (char *)"layer_missing";
    invalid.detail = (char *)"rlimits";
    invalid.stderr_excerpt = (char *)"Fatal";
    invalid.dispatched = 1;
    ck_assert_int_eq(decode_invalid(&invalid), 0);
    ck_assert_int_eq(decoded.kind, CHANNEL_INVALID);
    ck_assert_int_eq(decoded.code, CODE_LAYER_MISSING);
    ck_assert_str_eq(decoded.detail, "rlimits");
    ck_assert_str_eq(decoded.stderr_excerpt, "Fatal");
    ck_assert(decoded.dispatched);
    channel_message_deinit(&decoded);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        invalid.code = (char *)wrong[i];
        ck_assert_int_eq(decode_invalid(&invalid), CHANNEL_E_MALFORMED);
    }
}
END_TEST

START_TEST(a_result_carries_the_end_of_the_run) {
    Tbw__PhaseTime started = TBW__PHASE_TIME__INIT;
    started.phase = PHASE_STARTED;
    started.at_us = 77;
    Tbw__PhaseTime *phases[] = {&started};
    Tbw__Result result = TBW__RESULT__INIT;
    result.phases = phases;
    result.n_phases = 1;
    result.exited = 1;
    result.exit_code = -3;
    result.signal = 9;
    result.killed_by_warden = 1;
    result.limit = (char *)"disk_limit";
    result.limit_detail = (char *)"too much";
    result.limit_subject = (char *)"pt\xffrace";
    result.excerpt = (char *)"Traceback";
    result.wall_us = 1;
    result.cpu_us = 2;
    result.peak_memory_bytes = 3;
    result.disk_bytes = 4;
    result.held = 1;
    result.fault = (char *)"staging_failed";
    result.fault_detail = (char *)"no room";
    ck_assert_int_eq(decode_result(&result), 0);
    ck_assert_int_eq(decoded.kind, CHANNEL_RESULT);
    const Facts *facts = decoded.facts;
    ck_assert(facts->seen[PHASE_STARTED] && !facts->seen[PHASE_ENDED]);
    ck_assert_uint_eq(facts->at_us[PHASE_STARTED], 77);
    ck_assert(facts->exited && facts->killed_by_warden && facts->held);
    ck_assert_int_eq(facts->exit_code, -3);
    ck_assert_int_eq(facts->signal, 9);
    ck_assert_int_eq(facts->limit, CODE_DISK_LIMIT);
    ck_assert_str_eq(facts->limit_detail, "too much");
    ck_assert_str_eq(facts->limit_subject, "pt\xef\xbf\xbdrace");
    ck_assert_str_eq(facts->excerpt, "Traceback");
    ck_assert_uint_eq(facts->wall_us, 1);
    ck_assert_uint_eq(facts->cpu_us, 2);
    ck_assert_uint_eq(facts->peak_memory_bytes, 3);
    ck_assert_uint_eq(facts->disk_bytes, 4);
    ck_assert_int_eq(facts->fault, CODE_STAGING_FAILED);
    ck_assert_str_eq(facts->fault_detail, "no room");
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(a_result_carries_what_was_found) {
    Tbw__Failure reject = TBW__FAILURE__INIT, finding = TBW__FAILURE__INIT;
    reject.code = (char *)"forbidden_import";
    reject.subject = (char *)"socket";
    reject.line = 3;
    finding.code = (char *)"canary_leak";
    finding.sink = (char *)"stdout";
    finding.transform = (char *)"literal";
    finding.offset = 1 << 30;
    Tbw__Failure *rejects[] = {&reject}, *findings[] = {&finding};
    Tbw__Result result = TBW__RESULT__INIT;
    result.rejects = rejects;
    result.n_rejects = 1;
    result.findings = findings;
    result.n_findings = 1;
    ck_assert_int_eq(decode_result(&result), 0);
    const Facts *facts = decoded.facts;
    ck_assert_int_eq(facts->rejects.items[0].code, CODE_FORBIDDEN_IMPORT);
    ck_assert_str_eq(facts->rejects.items[0].subject, "socket");
    ck_assert_uint_eq(facts->rejects.items[0].line, 3);
    ck_assert_int_eq(facts->findings.items[0].code, CODE_CANARY_LEAK);
    ck_assert_str_eq(facts->findings.items[0].sink, "stdout");
    ck_assert_str_eq(facts->findings.items[0].transform, "literal");
    ck_assert_uint_eq(facts->findings.items[0].offset, 1 << 30);
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(a_result_carries_outputs_and_files_as_bytes) {
    uint8_t hash[SHA256_BYTES] = {0xab, 0xcd};
    Tbw__Output out = TBW__OUTPUT__INIT, err = TBW__OUTPUT__INIT;
    out.head = (ProtobufCBinaryData){3, (uint8_t *)"a\0\xff"};
    out.tail = (ProtobufCBinaryData){1, (uint8_t *)"z"};
    out.total_bytes = 1000;
    out.omitted_bytes = 996;
    out.sha256 = (ProtobufCBinaryData){sizeof hash, hash};
    err.sha256 = (ProtobufCBinaryData){5, hash}; /* no hash at all */
    Tbw__ProducedFile file = TBW__PRODUCED_FILE__INIT, link = TBW__PRODUCED_FILE__INIT;
    file.name = (ProtobufCBinaryData){5, (uint8_t *)"x.csv"};
    file.size_bytes = 12;
    file.sha256 = out.sha256;
    link.name = (ProtobufCBinaryData){2, (uint8_t *)"\xffl"};
    link.note = (char *)"a symbolic link";
    Tbw__ProducedFile *produced[] = {&file, &link};
    Tbw__Result result = TBW__RESULT__INIT;
    result.stdout = &out;
    result.stderr = &err;
    result.produced = produced;
    result.n_produced = 2;
    ck_assert_int_eq(decode_result(&result), 0);
    static const uint8_t no_hash[SHA256_BYTES];
    const Facts *facts = decoded.facts;
    ck_assert_uint_eq(facts->out.head_bytes, 3);
    ck_assert_mem_eq(facts->out.head, "a\0\xff", 3);
    ck_assert_uint_eq(facts->out.tail_bytes, 1);
    ck_assert_uint_eq(facts->out.total_bytes, 1000);
    ck_assert_uint_eq(facts->out.omitted_bytes, 996);
    ck_assert_mem_eq(facts->out.sha256, hash, sizeof hash);
    ck_assert_mem_eq(facts->err.sha256, no_hash, sizeof no_hash);
    ck_assert_uint_eq(facts->n_produced, 2);
    ck_assert_str_eq((const char *)facts->produced[0].name, "x.csv");
    ck_assert_uint_eq(facts->produced[0].size_bytes, 12);
    ck_assert(facts->produced[0].has_sha256 && !facts->produced[1].has_sha256);
    ck_assert_uint_eq(facts->produced[1].name_bytes, 2);
    ck_assert_str_eq(facts->produced[1].note, "a symbolic link");
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(an_empty_result_is_empty_facts) {
    Tbw__Result result = TBW__RESULT__INIT;
    ck_assert_int_eq(decode_result(&result), 0);
    for (Phase phase = 0; phase < PHASE_COUNT; phase++) ck_assert(!decoded.facts->seen[phase]);
    ck_assert_int_eq(decoded.facts->limit, CODE_NONE);
    ck_assert_int_eq(decoded.facts->fault, CODE_NONE);
    ck_assert_ptr_null(decoded.facts->excerpt);
    ck_assert_ptr_null(decoded.facts->limit_subject);
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(an_unknown_code_is_no_reason) {
    Tbw__Failure failure = TBW__FAILURE__INIT;
    Tbw__Failure *failures[] = {&failure};
    failure.code = (char *)"no_such_code";
    failure.message = (char *)"freed on the way out";
    Tbw__Result result = TBW__RESULT__INIT;
    result.rejects = failures;
    result.n_rejects = 1;
    ck_assert_int_eq(decode_result(&result), CHANNEL_E_MALFORMED);
    result.n_rejects = 0;
    result.findings = failures;
    result.n_findings = 1;
    ck_assert_int_eq(decode_result(&result), CHANNEL_E_MALFORMED);
    result.n_findings = 0;
    result.limit = (char *)"no_such_code";
    ck_assert_int_eq(decode_result(&result), CHANNEL_E_MALFORMED);
    result.limit = (char *)"";
    result.fault = (char *)"no_such_code";
    ck_assert_int_eq(decode_result(&result), CHANNEL_E_MALFORMED);
}
END_TEST

START_TEST(the_ledger_is_checked) {
    Tbw__PhaseTime a = TBW__PHASE_TIME__INIT, b = TBW__PHASE_TIME__INIT;
    Tbw__PhaseTime *phases[] = {&a, &b};
    Tbw__Result result = TBW__RESULT__INIT;
    result.phases = phases;
    result.n_phases = 2;
    a.phase = b.phase = PHASE_STARTED;
    ck_assert_int_eq(decode_result(&result), CHANNEL_E_MALFORMED); /* twice */
    b.phase = PHASE_COUNT;
    ck_assert_int_eq(decode_result(&result), CHANNEL_E_MALFORMED); /* no such phase */
    b.phase = PHASE_ENDED;
    ck_assert_int_eq(decode_result(&result), 0);
    channel_message_deinit(&decoded);
}
END_TEST

START_TEST(what_no_warden_says_is_malformed) {
    Tbw__Message message = TBW__MESSAGE__INIT;
    ck_assert_int_eq(decode(&message), CHANNEL_E_MALFORMED);
    Tbw__Setup setup = TBW__SETUP__INIT;
    message.body_case = TBW__MESSAGE__BODY_SETUP;
    message.setup = &setup;
    ck_assert_int_eq(decode(&message), CHANNEL_E_MALFORMED);
    Tbw__Job job = TBW__JOB__INIT;
    message.body_case = TBW__MESSAGE__BODY_JOB;
    message.job = &job;
    ck_assert_int_eq(decode(&message), CHANNEL_E_MALFORMED);
    static const uint8_t garbage[] = {0xff, 0xff, 0xff};
    ck_assert_int_eq(channel_decode(garbage, sizeof garbage, &decoded), CHANNEL_E_MALFORMED);
    ck_assert_int_eq(channel_decode(garbage, 0, &decoded), CHANNEL_E_MALFORMED);
}
END_TEST

SUITE_MAIN("channel", setup_carries_the_profile, setup_carries_what_a_root_holds,
           a_survey_arrives_whole, a_survey_without_a_root_is_malformed,
           a_job_carries_everything_and_a_fresh_nonce, ready_arrives_whole, received_is_told,
           invalid_needs_an_infrastructure_code, a_result_carries_the_end_of_the_run,
           a_result_carries_what_was_found, a_result_carries_outputs_and_files_as_bytes,
           an_empty_result_is_empty_facts, an_unknown_code_is_no_reason, the_ledger_is_checked,
           what_no_warden_says_is_malformed)
