# layers.awk: reads C files named by their path from the top of the tree and prints file:line: rule for
# every #include that goes up or across, and every platform test outside the platform layer. The exit
# status is 1 when there is one. Reads lines only; it does not run the preprocessor.

BEGIN {
    rank["base"] = 0; rank["config"] = 1; rank["verdict"] = 2; rank["platform"] = 3
    rank["harness"] = 3; rank["broker"] = 4; rank["warden"] = 4; rank["main"] = 5

    # Files that may know the generated messages and the framing.
    public_codecs = "^(daemon/broker/(request|reply|connection|journal)\\.c|client/[^/]*|proto/[^/]*|tests/.*)$"
    private_codecs = "^(daemon/(broker|warden)/channel\\.c|tests/.*)$"
    framing = "^(daemon/broker/(request|reply|connection|channel|environment|journal)\\.c|daemon/warden/channel\\.c|client/[^/]*|proto/[^/]*|tests/.*)$"

    yaml_users = "^daemon/config/document[a-z_]*\\.c$"
    event_users = "^(daemon/broker/[^/]*|daemon/main\\.c|tests/.*)$"
    client_may = "^(base/.*|config/(document|problem|units)\\.h)$"
    bench_files = "^tests/bench/"
    bench_may = "^((base|client)/.*|platform/[^/]*|tbsandbox\\.pb-c\\.h|[^/]*)$"
    platform_tests = "^(daemon/platform/.*|client/transport_[a-z]*\\.c)$"
}

function complain(rule) {
    printf "%s:%d: %s\n", FILENAME, FNR, rule
    bad = 1
}

# base, config, ... of a file under daemon/, "main" for daemon/main.c, else its top folder.
function layer_of(path,    part) {
    split(path, part, "/")
    if (part[1] != "daemon") return part[1]
    return part[3] == "" ? "main" : part[2]
}

function check_codec(name) {
    if (name == "tbsandbox.pb-c.h" && FILENAME !~ public_codecs)
        complain("only request, reply, connection, journal and the client may include " name)
    if (name == "warden.pb-c.h" && FILENAME !~ private_codecs)
        complain("only the two channel codecs may include " name)
    if (name == "wire.h" && FILENAME !~ framing)
        complain("only the codecs, the readers of sockets and the client may include " name)
}

function check_daemon(name, own,    target) {
    target = layer_of("daemon/" name)
    if (!(target in rank)) return complain("no such layer: " name)
    if (target == own) return
    if (target == "harness" && own != "warden") return complain("only warden may include " name)
    if (target == "warden" || (target == "broker" && own != "main"))
        return complain(own " may not include " target ": " name)
    if (rank[target] >= rank[own]) complain(own " lies below " target " and may not include " name)
}

function check_ours(name, own) {
    if (name ~ /(^|\/)\.\.?\//) return complain("an include names its path from daemon/: " name)
    if (FILENAME ~ bench_files && (name ~ /^(warden\.pb-c|wire)\.h$/ || name !~ bench_may))
        return complain("the benchmark may include base, platform and the client only: " name)
    if (name ~ /\.pb-c\.h$/ || name == "wire.h") return check_codec(name)
    if (own == "tests") return
    if (name ~ /^platform\/[a-z]+\// && own != "platform")
        return complain("a platform's own header, use the contract in platform/: " name)
    if (own == "client") {
        if (name ~ /\// && name !~ /^client\// && name !~ client_may)
            complain("client may include base and the document, problem and units of config only: " name)
    } else if (own == "proto") {
        if (name !~ /^base\//) complain("proto may include base only: " name)
    } else {
        check_daemon(name, own)
    }
}

function check_system(name) {
    if (name == "yaml.h" && FILENAME !~ yaml_users)
        complain("only config/document may include <yaml.h>")
    if (name ~ /^event2\// && FILENAME !~ event_users)
        complain("only broker and daemon/main.c may include <" name ">")
}

/^[ \t]*#[ \t]*include/ {
    name = $0
    if (sub(/^[ \t]*#[ \t]*include[ \t]*"/, "", name)) {
        sub(/".*/, "", name)
        check_ours(name, layer_of(FILENAME))
    } else if (sub(/^[ \t]*#[ \t]*include[ \t]*</, "", name)) {
        sub(/>.*/, "", name)
        check_system(name)
    } else {
        complain("an include names its file")
    }
}

/^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)/ && /_WIN32|_WIN64|__linux__|__APPLE__|__unix__|__MINGW/ {
    if (FILENAME !~ platform_tests) complain("a platform test outside daemon/platform")
}

END { exit bad }
