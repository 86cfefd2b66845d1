# tbsandboxd: build, checks and tools. `make help` lists the targets. Everything is made under build/.

SANITIZE ?=
comma := ,
BUILD := build$(if $(SANITIZE),/sanitize-$(subst $(comma),-,$(SANITIZE)))
VERSION := 0.1.0
CC ?= gcc
OPT ?= -O2
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

# V=1 shows whole commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-8s%s\n' $(1) $(2))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# Goals that need no compiler flags must not install anything by themselves.
GOALS := $(if $(MAKECMDGOALS),$(MAKECMDGOALS),all)
ifneq ($(filter-out help deps deps-% clean lint,$(GOALS)),)
include $(BUILD)/flags.mk
endif

WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
        -Wpointer-arith -Wwrite-strings
ifeq ($(SANITIZE),)
HARDEN := -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection -fPIE
HARDEN_LD := -pie -Wl,-z,relro,-z,now,-z,noexecstack
else
HARDEN := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -fPIE
HARDEN_LD := -fsanitize=$(SANITIZE) -pie
endif
CPPFLAGS_ALL := -D_GNU_SOURCE -DTBSANDBOX_LIBEXEC='"$(PREFIX)/libexec/tbsandboxd"' -DTBSANDBOX_VERSION='"$(VERSION)"' -I. -Idaemon -Iproto -Itests/unit -Itests/bench -I$(BUILD)/generated
CFLAGS_ALL = -std=gnu11 $(OPT) -g $(WARN) $(HARDEN) $(CPPFLAGS_ALL) $(CFLAGS_LIBS) $(CFLAGS) -MMD -MP

objects = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(addsuffix /*.c,$(1))))

PROTO_NAMES := tbsandbox warden
PROTO_C := $(PROTO_NAMES:%=$(BUILD)/generated/%.pb-c.c)
PROTO_O := $(PROTO_C:.c=.o)
HARNESS_C := $(BUILD)/generated/harness_source.c $(BUILD)/generated/survey_source.c

FILTER_C := $(BUILD)/generated/filter_code.c

OBJ_COMMON := $(call objects,proto daemon/base daemon/config daemon/verdict daemon/platform \
              daemon/platform/posix daemon/platform/linux) $(PROTO_O) $(FILTER_C:.c=.o)
OBJ_BROKER := $(call objects,daemon/broker)
OBJ_WARDEN := $(filter-out $(BUILD)/daemon/warden/main.o,\
              $(call objects,daemon/warden daemon/warden/checks)) $(HARNESS_C:.c=.o)
OBJ_CLIENT := $(filter-out $(BUILD)/client/main.o,$(call objects,client))

PROGRAMS := $(BUILD)/tbsandboxd $(BUILD)/tbwarden $(BUILD)/tbclient
UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test-*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz-*.c))

all: $(PROGRAMS) ## build tbsandboxd, tbwarden and tbclient

# The packages of every goal at once, so that one message names all that are missing.
$(BUILD)/flags.mk: Makefile tools/deps.sh
	@tools/deps.sh build $(patsubst check-%,check,$(filter demo check check-% fuzz,$(GOALS)))
	@mkdir -p $(@D)
	@{ for lib in libevent_core libevent_extra libprotobuf-c yaml-0.1 libsodium jansson libseccomp; do \
	     pkg-config --exists "$$lib" || { echo "pkg-config does not find $$lib" >&2; exit 1; }; done; \
	   echo "CFLAGS_LIBS := $$(pkg-config --cflags libevent_core libprotobuf-c yaml-0.1 libsodium jansson)"; \
	   echo "LIBS_DAEMON := $$(pkg-config --libs libevent_core libprotobuf-c yaml-0.1 libsodium jansson)"; \
	   echo "LIBS_WARDEN := $$(pkg-config --libs libprotobuf-c libsodium jansson)"; \
	   echo "LIBS_CLIENT := $$(pkg-config --libs libprotobuf-c yaml-0.1 libsodium jansson)"; } > $@.new
	@mv $@.new $@

$(BUILD)/generated/%.pb-c.c $(BUILD)/generated/%.pb-c.h &: proto/%.proto
	@mkdir -p $(@D)
	$(call say,PROTOC,$<)
	$(Q)protoc-c --c_out=$(@D) -Iproto $<

$(HARNESS_C): $(BUILD)/generated/%_source.c: daemon/harness/%.py
	@mkdir -p $(@D)
	@{ echo '#include "harness/harness_source.h"'; \
	   echo 'const unsigned char $*_source[] = {'; \
	   od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; \
	   echo '};'; echo 'const unsigned long $*_source_bytes = sizeof $*_source;'; } > $@

# Runs while building: what it makes is all that is left of libseccomp.
$(BUILD)/tools/filter-compiler: tools/filter-compiler.c daemon/platform/linux/filter_table.h \
                                daemon/platform/linux/filter.h $(BUILD)/flags.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(WARN) $(CPPFLAGS_ALL) -o $@ $< $$(pkg-config --cflags --libs libseccomp)
$(FILTER_C): $(BUILD)/tools/filter-compiler
	@mkdir -p $(@D)
	$(Q)$< > $@

# Generated headers first; the compiler's own dependency files do the rest.
$(BUILD)/%.o: %.c $(BUILD)/flags.mk | $(PROTO_C)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(BUILD)/generated/%.o: $(BUILD)/generated/%.c $(BUILD)/flags.mk
	$(call say,CC,$<)
	$(Q)$(CC) $(CFLAGS_ALL) -c $< -o $@

$(BUILD)/libcommon.a: $(OBJ_COMMON)
$(BUILD)/libbroker.a: $(OBJ_BROKER)
$(BUILD)/libwarden.a: $(OBJ_WARDEN)
$(BUILD)/libclient.a: $(OBJ_CLIENT)
$(BUILD)/lib%.a:
	@rm -f $@
	$(call say,AR,$@)
	$(Q)$(AR) rcs $@ $^

$(BUILD)/tbsandboxd: $(BUILD)/daemon/main.o $(BUILD)/libbroker.a $(BUILD)/libcommon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LIBS_DAEMON)
$(BUILD)/tbwarden: $(BUILD)/daemon/warden/main.o $(BUILD)/libwarden.a $(BUILD)/libcommon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LIBS_WARDEN)
$(BUILD)/tbclient: $(BUILD)/client/main.o $(BUILD)/libclient.a $(BUILD)/libcommon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LIBS_CLIENT)

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libbroker.a $(BUILD)/libwarden.a \
                       $(BUILD)/libclient.a $(BUILD)/libcommon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LIBS_DAEMON) $$(pkg-config --libs check)

$(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.o $(BUILD)/tests/fuzz/replay.o $(BUILD)/libbroker.a \
                       $(BUILD)/libwarden.a $(BUILD)/libclient.a $(BUILD)/libcommon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LIBS_DAEMON)

.SECONDARY:
.PHONY: all install deps demo check check-tmp check-unit check-fuzz-corpus check-integration check-vm bench fuzz lint clean help \
        deps-check deps-demo deps-fuzz deps-lint deps-vm

deps: ## install every package that building, checking and linting need
	@tools/deps.sh build demo check lint fuzz
deps-demo deps-check deps-fuzz deps-vm:
	@tools/deps.sh $(@:deps-%=%)
# The analysers read the headers that building and the unit tests use.
deps-lint:
	@tools/deps.sh build check lint

demo: deps-demo all ## start a daemon of its own and see real verdicts on real pandas code
	@tests/demo.sh $(BUILD)

# The tests run stand-in interpreters from /tmp.
check-tmp:
	@f=$$(mktemp /tmp/tbsandbox-XXXXXX) && printf '#!/bin/sh\n' >"$$f" && chmod +x "$$f" && \
	if "$$f" 2>/dev/null; then rm -f "$$f"; else \
	    rm -f "$$f"; echo "no program may be run from /tmp (mounted noexec?), but the tests must" >&2; exit 1; fi

check: deps-check check-tmp all ## every test: unit, fuzz corpus, suites against a live daemon, faults, soak
	@$(MAKE) --no-print-directory check-unit check-fuzz-corpus check-integration

check-unit: deps-check check-tmp $(UNIT_TESTS) ## unit tests only
	$(call say,TEST,'unit tests: a minute or so')
	@tests/run-unit.sh $(UNIT_TESTS)

check-fuzz-corpus: deps-check $(FUZZERS:%=$(BUILD)/tests/fuzz/%) ## replay the fuzzers' corpora
	@for f in $(FUZZERS); do $(BUILD)/tests/fuzz/$$f tests/fuzz/corpus/$$f || exit 1; done

check-integration: deps-check check-tmp all ## suites and scripts against live daemons (TESTS=NN… picks some)
	$(call say,TEST,'against live daemons: minutes; 30-faults alone two')
	@tests/run-integration.sh $(BUILD) $(TESTS)

check-vm: deps-vm all ## tests that need systemd and control groups, in an emulated machine (as root)
	@tests/vm/run.sh $(BUILD)

$(BUILD)/tests/bench/bench: $(filter-out %/idle.o,$(call objects,tests/bench)) $(BUILD)/libclient.a \
                            $(BUILD)/libcommon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(HARDEN_LD) $(LDFLAGS) -o $@ $^ $(LIBS_CLIENT) -lm
# Static, so that a root with this file alone runs it.
$(BUILD)/tests/bench/idle: tests/bench/idle.c $(BUILD)/flags.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu11 $(OPT) $(WARN) -static -o $@ $<

bench: deps-demo all $(BUILD)/tests/bench/bench $(BUILD)/tests/bench/idle ## measure, beside the bounds (BENCH_ROUNDS=N, BENCH_JOBS=N, PARTS=… picks some)
	@$(BUILD)/tests/bench/bench $(abspath $(BUILD)) $(PARTS)

fuzz: deps-fuzz ## run every libFuzzer target for FUZZ_SECONDS each
	@tests/fuzz/run.sh $(FUZZ_SECONDS) $(FUZZERS)

lint: deps-lint ## layers, format, static analysis, shell scripts
	@tools/lint.sh

install: all ## install below PREFIX (/usr/local), in DESTDIR if given
	install -D -m 755 $(BUILD)/tbsandboxd $(DESTDIR)$(PREFIX)/bin/tbsandboxd
	install -D -m 755 $(BUILD)/tbclient $(DESTDIR)$(PREFIX)/bin/tbclient
	install -D -m 755 $(BUILD)/tbwarden $(DESTDIR)$(PREFIX)/libexec/tbsandboxd/tbwarden
	install -D -m 644 conf/tbsandboxd.yaml $(DESTDIR)$(PREFIX)/share/tbsandboxd/tbsandboxd.yaml

clean: ## remove build/
	rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 28
	@echo '  variables: SANITIZE=address,undefined  CC=clang  OPT=-O0  FUZZ_SECONDS=N  PREFIX=DIR  V=1'

-include $(patsubst %.o,%.d,$(OBJ_COMMON) $(OBJ_BROKER) $(OBJ_WARDEN) $(OBJ_CLIENT)) \
         $(patsubst %.c,$(BUILD)/%.d,$(wildcard tests/unit/*.c tests/fuzz/*.c tests/bench/*.c) \
           daemon/main.c daemon/warden/main.c client/main.c)
