#include "broker/session.h"

#include <sys/socket.h>

#include "bench.h"
#include "suite.h"
#include "tbsandbox.pb-c.h"
#include "wire.h"

enum { CLIENT_BYTES = 1 << 20, MAX_FRAME_BYTES = 64 << 10, ALICE = 54321, BOB = 54322 };

/* A broker of its parts, without a socket of its own. */
static Bench bench;
static Broker broker;

/* A client at the other end of a session. */
typedef struct Client {
    int fd;
    uint8_t *bytes;
    size_t n_bytes;
    bool ended;
    ProtobufCMessage *reply; /* the last one */
} Client;

static void on_job_changed(Job *job) {
    session_job_changed(job);
}

static PeerRule *make_rule(const char *user) {
    AccessRule access = {{0}, {0}};
    PeerRule *rule = NULL;
    const char *unknown;
    if (user) ck_assert_int_eq(text_list_append(&access.users, user), 0);
    ck_assert_int_eq(peer_rule_new(&access, &unknown, &rule), 0);
    text_list_deinit(&access.users);
    return rule;
}

static void prepare(const char *script) {
    bench_prepare(&bench, script);
    bench.config->max_frame_bytes = MAX_FRAME_BYTES;
    bench.job_changed = on_job_changed;
}

static void start(void) {
    bench_start(&bench);
    broker = (Broker){.base = bench.loop.base, .config = bench.config, .generation = 1};
    broker.submit_rule = make_rule("*");
    broker.admin_rule = make_rule(NULL);
    broker.receive_budget = bench.config->queue_max_bytes;
    broker.started_ms = clock_mono_ms();
    list_init(&broker.sessions);
}

static void set_up(const char *script) {
    prepare(script);
    start();
}

/* The scheduler stays the bench's; the broker's is the same one while a session acts. */
static void share_scheduler(void);

static void tear_down(void) {
    session_free_all(&broker);
    ck_assert_uint_eq(broker.n_sessions, 0);
    peer_rule_free(broker.submit_rule);
    peer_rule_free(broker.admin_rule);
    bench_deinit(&bench);
}
