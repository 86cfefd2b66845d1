/* Fuzzer of the warden's side of everything that comes as bytes: the first byte chooses between the
 * broker's set-up, the broker's job, and lines of the interpreter. What is taken is within the
 * bounds that the rest relies on. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "warden/channel.h"
#include "warden/harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

static bool has_limits(const Limits *limits) {
    return limits->wall_ms && limits->cpu_ms && limits->memory_bytes && limits->output_bytes &&
           limits->disk_bytes && limits->processes && limits->open_files;
}

static void take_setup(const uint8_t *data, size_t size) {
    Setup setup;
    const int r = warden_channel_decode_setup(data, size, &setup);
    require(r == 0 || r == WARDEN_CHANNEL_E_MALFORMED);
    if (r != 0) return;
    require(setup.directory[0] == '/' && setup.interpreter[0] == '/');
    require(has_limits(&setup.limits) && setup.ready_timeout_ms > 0);
    for (size_t i = 0; i < setup.root.paths.n_items; i++)
        require(setup.root.paths.items[i][0] == '/');
    for (size_t i = 0; i < setup.root.n_links; i++)
        require(setup.root.links[i].path[0] == '/' && setup.root.links[i].target[0] != '\0');
    setup_deinit(&setup);
}

static void take_order(const uint8_t *data, size_t size) {
    Order order;
    const int r = warden_channel_decode_order(data, size, &order);
    require(r == 0 || r == WARDEN_CHANNEL_E_MALFORMED);
    if (r != 0) return;
    require(strlen(order.nonce) == ORDER_NONCE_TEXT_BYTES - 1);
    require(text_is_file_name(order.file_name) && has_limits(&order.limits));
    for (size_t i = 0; i < order.n_inputs; i++) require(text_is_file_name(order.inputs[i].name));
    for (size_t i = 0; i < order.canaries.n_items; i++)
        require(order.canaries.items[i].value.n_bytes > 0);
    order_deinit(&order);
}

/* The first byte is the length of the pieces in which the rest comes. */
static void take_lines(const uint8_t *data, size_t size) {
    HarnessReader reader;
    if (size == 0) return;
    const size_t step = data[0] + 1U;
    data++;
    size--;
    require(harness_reader_init(&reader) == 0);
    strcpy(reader.nonce, "00112233445566778899aabbccddeeff");
    for (int r = HARNESS_E_MORE; size > 0 && r != HARNESS_E_MALFORMED;) {
        const size_t n = step < size ? step : size;
        HarnessMarker marker;
        harness_feed(&reader, data, n);
        while ((r = harness_next(&reader, &marker)) == 0) harness_marker_deinit(&marker);
        require(r == HARNESS_E_MORE || r == HARNESS_E_MALFORMED);
        require(!reader.is_hostile || r == HARNESS_E_MORE);
        data += n;
        size -= n;
    }
    harness_reader_deinit(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const takers[])(const uint8_t *, size_t) = {take_setup, take_order, take_lines};
    if (size == 0) return 0;
    takers[data[0] % 3](data + 1, size - 1);
    return 0;
}
