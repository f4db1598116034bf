# SPDX-License-Identifier: GPL-2.0-or-later
#
# make            build build/bin/pesa, the library and the virtual core
# make demo       install what the demo needs, build pesa and the virtual core, profile a real program
# make emulator   build a qemu-riscv64 that has plugins, where the distribution's has none
# make check      install what is missing, build, run every test
# make parity     N=blocks per processor: compare pesa mca with llvm-mca-22
# make board      install what is missing, build the emulated board: emulator, kernel, root file system
# make check-system  the tests that run on that board, and on its debug kernel
# make overhead   count what an interrupt costs, on that board: Documentation/overhead.md
# make check-rtl  the sampling unit in SystemVerilog beside pesa import: tools/rtl/README.md
# make check-all  make check, check-rtl and check-system, with one sum
# make llvm-tests LLVM's own tests of llvm-mca, with pesa mca in its place
# make pictures   run the tutorials, write what they print and their pictures: Documentation/tutorials
# make accuracy   measure sampled profiles of real programs against exact ones: Documentation/accuracy.md
# make ablation   what a profile loses without each field of shpmsdetails, and what it saves: Documentation/ablation.md
# make pgo        what compilers win by profiles of pesa, and how near they are to exact ones (hours): Documentation/pgo.md
# make core-loops N=loops per core: compare the virtual core with llvm-mca-22
# make check-unit-file   the daemon's unit under a real systemd (root, systemd-nspawn)
# make profile-stores  what pesad pushes beside what the stores' own clients (npm registry) read and send
# make check-fresh  make demo in clean systems of Debian 12 and 13 (root, debootstrap): Documentation/testing.md
# make package    Debian packages, built and tried in clean systems (root, debootstrap): build/packages
# make mutate     FILES=... N=... SEED=...: changes of the code that no unit test sees: Documentation/testing.md
# make format-check, make lint   clang-format, clang-tidy and cppcheck have nothing to say
# make coverage   lines and branches that tests execute, by folder
# make bench      benchmarks: ratios against a peer in the same run
# make doc        the reference of the library (doxygen): build/doc/html
# make version    print the version and the commit
# make dist       the release: build/pesa-VERSION.tar.gz, the same bytes for the same commit
# make install    DESTDIR= and PREFIX= are honoured, and UNITDIR= for the daemon's systemd unit
# make install-driver-source  the kernel driver's sources, where DKMS finds them: Documentation/driver.md
#
# Variables: O=DIR (out of tree), V=1 (show commands), SAN=1 (ASan and UBSan), OPT='-O0 -g' (for a debugger),
# CC=clang, BUILD_CC= (what runs here, where CC is for another machine), JOBS=N (tests), WITH_PESAD=0 (no daemon).
# A file added to a directory below is built: no list to edit.

V ?= 0
SAN ?= 0
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
ifeq ($(SAN),1)
O ?= build-san
else
O ?= build
endif

# One spelling of the directory, so that the dependencies that the compiler wrote match.
override O := $(abspath $(O))

ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
PKG_CONFIG ?= pkg-config
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' $(1) $(2);)

# The one place that has the version.  The major number is the soname's.
VERSION := 0.2.0
# Of a tarball (tools/dist), or of a clone.
COMMIT = $(shell cat COMMIT 2>/dev/null || { [ -e .git ] && git -c safe.directory='*' describe --always --dirty \
	--abbrev=12 --exclude='*' 2>/dev/null; } || echo unknown)
version_major := $(word 1,$(subst ., ,$(VERSION)))
PACKAGES := libelf libdw json-c libzstd zlib liblzma libprotobuf-c
# Only what the daemon is linked with: pesa itself starts faster without.
DAEMON_PACKAGES := libbpf libcurl libmicrohttpd gnutls libseccomp libcap
TOP_PACKAGES := libcurl ncursesw
# pesa report on a terminal: the demo has it, and no libcurl.
BROWSE_PACKAGES := ncursesw
FLEET_PACKAGES := libcurl
# What the library alone needs.
LIBRARY_PACKAGES := libelf libdw libzstd zlib libprotobuf-c
LIBDIR ?= $(PREFIX)/lib
LIBEXEC := $(PREFIX)/libexec/pesa
DATADIR := $(PREFIX)/share/pesa
UNITDIR ?= $(PREFIX)/lib/systemd/system

WARN := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wshadow -Wvla -Wformat=2 -Wundef
# Functions and lines, no variables, which take a quarter of the compiler's time: with a debugger, OPT='-O0 -g'.
OPT ?= -O2 -g1
# Asked once: what is expanded for every file would ask for every file.
packages_cflags := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
packages_libs := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null)
CPPFLAGS_ALL = -Iinclude -I. -I$(O)/gen -D_GNU_SOURCE $(packages_cflags) $(CPPFLAGS)
# Hidden but for what include/pesa declares (pesa/api.h), which nobody may put something else in place of.
CFLAGS_ALL = -std=gnu11 $(OPT) -fPIC -fvisibility=hidden -fno-semantic-interposition $(WARN) $(CFLAGS)
# RISC-V has no atomic instructions for bytes: gcc before 14 calls a library.
byte_atomics := $(if $(findstring riscv,$(shell $(CC) -dumpmachine 2>/dev/null)),-l:libatomic.a)
private_libs := -liberty -lcxsparse $(byte_atomics) -lpthread -lm
LDLIBS_ALL = $(packages_libs) $(private_libs) $(LDLIBS)
DAEMON_LDLIBS := $(shell $(PKG_CONFIG) --libs $(DAEMON_PACKAGES) 2>/dev/null)
TOP_LDLIBS := $(shell $(PKG_CONFIG) --libs $(TOP_PACKAGES) 2>/dev/null)
FLEET_LDLIBS := $(shell $(PKG_CONFIG) --libs $(FLEET_PACKAGES) 2>/dev/null)
BROWSE_LDLIBS := $(shell $(PKG_CONFIG) --libs $(BROWSE_PACKAGES) 2>/dev/null)
LDFLAGS_ALL = -Wl,--as-needed $(LDFLAGS)
ifeq ($(SAN),1)
comma := ,
# With clang, the fuzz targets are linked of the same objects: libFuzzer needs to see which ways they take.
SANFLAGS := -fsanitize=$(if $(findstring clang,$(CC)),fuzzer-no-link$(comma))address,undefined \
	-fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_ALL += $(SANFLAGS)
LDFLAGS_ALL += $(SANFLAGS)
endif

# All C files below folders.
sources_in = $(sort $(shell find $(1) -name '*.c'))

lib_sources := $(call sources_in,decoder daemon/events daemon/machine daemon/record daemon/vcore)
# The library for others is what include/pesa declares and what that needs: not the text of pesa mca's views,
# and not the readers of files that only the tools take.
public_sources := $(filter-out $(wildcard decoder/mca/views/*.c decoder/fleet/*.c) \
	decoder/base/unpack.c decoder/base/archive_extract.c decoder/base/nearest.c decoder/base/wall_time.c decoder/base/secret.c,$(call sources_in,decoder))
# WITH_PESAD=0: neither the daemon nor the libraries that only it has; the tests need both.
WITH_PESAD ?= 1
daemon_main := $(if $(filter 0,$(WITH_PESAD)),,daemon/pesad/main.c)
bpf_sources := $(wildcard daemon/pesad/bpf/*.bpf.c)
daemon_sources := $(filter-out daemon/pesad/main.c $(bpf_sources),$(call sources_in,daemon/pesad))
# The plugin, the board and what is drawn on terminals are no parts of the program pesa.
tool_sources := tools/top/command.c tools/fleet/command.c tools/start/commands.c \
	$(filter-out tools/gen/% tools/vcore/% tools/board/% tools/top/% tools/fleet/% tools/screen/% tools/browse/% tools/start/%,$(call sources_in,tools))
# The program pesa has only pesa mca, without what reads ELF files, and loads everything else: tools/start/commands_object.h.
start_sources := $(filter-out tools/start/commands.c,$(wildcard tools/start/*.c)) \
	$(filter-out tools/mca/program.c tools/mca/object.c tools/mca/path_profile.c,$(wildcard tools/mca/*.c)) \
	tools/files/paths.c tools/files/temporary_directory.c \
	$(patsubst %,tools/ui/%.c,json large_pages output_files safe_output standard_output terminal)
# pesa top, and pesa report on a terminal: programs of their own, which pesa runs.
browse_sources := $(foreach room,browse screen report groups store table ui files completion perf why plain names,$(wildcard tools/$(room)/*.c)) \
	tools/compare/setup.c tools/compare/text.c tools/record/virtual_core.c tools/record/emulator.c tools/explain/reasons.c
top_sources := $(filter-out tools/top/command.c,$(wildcard tools/top/*.c)) tools/record/event_options.c $(wildcard tools/screen/*.c) $(wildcard tools/completion/*.c tools/perf/*.c) \
	$(wildcard tools/files/*.c) \
	$(patsubst %,tools/ui/%.c,cycle_stack output_files profile_options standard_output json pager terminal text safe_output)
# pesa store, and what reads a database: a program of its own too.
fleet_sources := $(filter-out tools/fleet/command.c,$(wildcard tools/fleet/*.c)) $(wildcard tools/completion/*.c tools/perf/*.c) \
	$(wildcard tools/files/*.c) \
	$(patsubst %,tools/ui/%.c,output_files profile_options standard_output json pager terminal text safe_output)
vcore_sources := $(call sources_in,tools/vcore)
test_sources := $(wildcard tests/unit/test_*.c)
test_tool_sources := $(wildcard tests/tools/*.c)
bench_sources := $(wildcard tests/bench/bench_*.c)
fuzz_sources := $(wildcard tests/fuzz/fuzz_*.c)
version_header := $(O)/gen/pesa/version.h
headers := $(wildcard include/pesa/*.h) $(version_header)
manuals := $(wildcard $(addprefix Documentation/*.,1 5 8))

object = $(patsubst %.c,$(O)/obj/%.o,$(1))
# Readers and writers of messages, generated from their descriptions, and the built-in processor models as constants.
proto_sources := $(O)/gen/pprof.pb-c.c
model_names := $(patsubst decoder/mca/generated/models/%.model,%,$(wildcard decoder/mca/generated/models/*.model))
model_sources := $(patsubst %,$(O)/gen/models/%.c,$(model_names))
generated_sources := $(proto_sources) $(model_sources)
lib_objects := $(call object,$(lib_sources)) $(patsubst $(O)/gen/%.c,$(O)/obj/gen/%.o,$(generated_sources))
public_objects := $(filter $(call object,$(public_sources)) $(O)/obj/gen/%,$(lib_objects))
library := libpesa.so.$(VERSION)
soname := libpesa.so.$(version_major)
# Archive of the public library: in a directory of its own, since the tools link internal functions too.
libraries := $(addprefix $(O)/lib/,$(library) $(soname) libpesa.so public/libpesa.a)
daemon_objects := $(call object,$(daemon_sources))
bpf_objects := $(call object,$(bpf_sources))
tool_objects := $(call object,$(tool_sources))
start_objects := $(call object,$(start_sources))
top_objects := $(call object,$(top_sources))
browse_objects := $(call object,$(browse_sources))
fleet_objects := $(call object,$(fleet_sources))
tests := $(patsubst tests/unit/%.c,$(O)/tests/%,$(test_sources))
test_tools := $(patsubst tests/tools/%.c,$(O)/tests/tools/%,$(test_tool_sources))
benches := $(patsubst tests/bench/%.c,$(O)/bench/%,$(bench_sources))
fuzzers := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(fuzz_sources))

# QEMU 7.2 takes plugins of API version 1, QEMU 9 and newer version 2 and up: one file each.
plugins := $(if $(vcore_sources),$(O)/libexec/pesa-vcore-1.so $(O)/libexec/pesa-vcore-2.so)

.PHONY: all lib tests benches fuzzers plugins tuned emulator version dist clean ablation install install-driver-source uninstall deps doc demo pictures accuracy pgo check check-unit core-loops \
	check-integration check-fuzz check-sanitized check-rtl check-system check-all board bench parity llvm-tests profile-stores \
	check-unit-file check-fresh package commands mutate format format-check lint coverage
.DELETE_ON_ERROR:
.SECONDARY:
# Data files stand in the build directory as they do when installed.
cores := $(patsubst tools/vcore/cores/%,$(O)/share/pesa/cores/%,$(wildcard tools/vcore/cores/*))
maps := $(patsubst tools/maps/%,$(O)/share/pesa/maps/%,$(wildcard tools/maps/*))
event_files := $(patsubst tools/events/%,$(O)/share/pesa/events/%,$(shell find tools/events -type f))
all: $(O)/bin/pesa $(if $(daemon_main),$(O)/bin/pesad) $(O)/libexec/pesa-top $(O)/libexec/pesa-report \
	$(O)/libexec/pesa-fleet $(O)/lib/libpesa.a $(libraries) $(plugins) \
	$(cores) $(maps) $(event_files)
lib: $(libraries)
# Completion for shells, made of the option tables.  Where pesa is compiled for another machine,
# COMPLETION_PESA= names one that runs here.
COMPLETION_PESA ?= $(O)/bin/pesa
completions := $(addprefix $(O)/share/completion/,bash zsh fish)
all: $(completions)
$(completions): $(O)/share/completion/%: tools/gen/completion $(O)/bin/pesa $(O)/libexec/pesa-top $(O)/libexec/pesa-fleet $(cores)
	@mkdir -p $(@D)
	$(call say,GEN,$@)tools/gen/completion $(COMPLETION_PESA) $* > $@
tests: $(tests) $(test_tools)
benches: $(benches)
ifeq ($(SAN)$(findstring clang,$(CC)),1clang)
fuzzers: $(fuzzers)
else
fuzzers:
	$(Q)$(MAKE) --no-print-directory O=$(O)-san SAN=1 CC=clang fuzzers
endif

# The plugin is loaded by an emulator that is not ours and has no sanitizer runtime.
# Its speed is that of every recording.
# The model's parts are files of their own, and inlined into each other at link time (clang would
# need another linker for that).
plugin_flags := $(filter-out $(SANFLAGS),$(CFLAGS_ALL)) -DPESA_STATIC -O3 $(if $(findstring clang,$(CC)),,-flto=auto)
# `make tuned`: once to see which ways its code takes, then with what was seen, until `make clean`.
PROFILE ?= $(if $(wildcard $(O)/tuned),use)
plugin_flags += $(if $(filter generate,$(PROFILE)),-fprofile-generate -fprofile-update=atomic -DVCORE_PROFILED)
plugin_flags += $(if $(filter use,$(PROFILE)),-fprofile-use -Wno-missing-profile -Wno-coverage-mismatch -Wno-error)
# Rebuild everything when the compiler or the flags change.
flags_now := $(CC) $(CFLAGS_ALL) $(CPPFLAGS_ALL) $(LDFLAGS_ALL) $(LDLIBS_ALL)
remember = @mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || \
	printf '%s\n' '$(subst ','\'',$(1))' > $@
$(O)/flags: FORCE
	$(call remember,$(flags_now))
$(O)/plugin-flags: FORCE
	$(call remember,$(CC) $(plugin_flags) $(CPPFLAGS_ALL))

# The parts of the library that the plugins have, too.
plugin_lib := $(addprefix decoder/base/,digest.c distinct.c error.c hash_index.c regular_file.c terminal_text.c utf8.c) \
	$(addprefix decoder/binary/,code.c jitdump_name.c program.c) \
	decoder/core/capabilities.c decoder/core/core.c decoder/topdown/nodes.c \
	$(call sources_in,decoder/riscv decoder/mca/model)

# Where the program is installed to concerns few files, so that installing compiles no other again.
$(O)/paths: FORCE
	$(call remember,$(LIBEXEC) $(DATADIR))
paths_objects := $(O)/obj/tools/files/paths.o $(O)/obj/daemon/pesad/base/config_keys.o
$(paths_objects): $(O)/paths
$(paths_objects): private CPPFLAGS_ALL += -DPESA_LIBEXEC='"$(LIBEXEC)"' -DPESA_DATADIR='"$(DATADIR)"'
.PHONY: FORCE

$(O)/version: FORCE
	$(call remember,$(VERSION))
$(version_header): include/pesa/version.h.in $(O)/version
	@mkdir -p $(@D)
	$(call say,GEN,$@)sed $(foreach part,1:MAJOR 2:MINOR 3:PATCH,\
		-e 's/@$(lastword $(subst :, ,$(part)))@/$(word $(firstword $(subst :, ,$(part))),$(subst ., ,$(VERSION)))/g') \
		$< > $@

# What pesa --version tells: one file, since each commit changes it.
built_with = $(CC) $(shell $(CC) -dumpfullversion -dumpversion 2>/dev/null) for $(shell $(CC) -dumpmachine 2>/dev/null)$(shell \
	for package in $(sort $(PACKAGES) $(if $(daemon_main),$(DAEMON_PACKAGES))); do \
		printf ', %s %s' $$package "$$($(PKG_CONFIG) --modversion $$package 2>/dev/null)"; done)
parts_with = $(if $(daemon_main),pesad) $(if $(filter use,$(PROFILE)),tuned-virtual-core) $(if $(filter 1,$(SAN)),sanitizers)
parts_without = $(filter-out $(parts_with),pesad tuned-virtual-core sanitizers)
build_header := $(O)/gen/pesa_build.h
$(build_header): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '/* Written by the Makefile. */' '#define PESA_COMMIT "$(COMMIT)"' '#define PESA_BUILT_WITH "$(built_with)"' \
		'#define PESA_PARTS "$(strip $(parts_with))"' '#define PESA_MISSING_PARTS "$(strip $(parts_without))"' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(call object,$(wildcard tools/start/*.c)): $(build_header)

# Comparisons of cycles tell libFuzzer nothing, and a call for each takes two thirds of the time of test_mca_steady.
ifneq ($(findstring fuzzer,$(SANFLAGS)),)
$(patsubst %.c,$(O)/obj/%.o,$(call sources_in,decoder/mca/engine decoder/mca/fast)): private CFLAGS_ALL += -fno-sanitize-coverage=trace-cmp
endif

$(O)/obj/%.o: %.c $(O)/flags | $(version_header)
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

PROTOC_C ?= protoc-c
$(O)/gen/%.pb-c.c $(O)/gen/%.pb-c.h: decoder/export/%.proto
	@mkdir -p $(O)/gen
	$(call say,PROTOC,$<)$(PROTOC_C) --proto_path=decoder/export --c_out=$(O)/gen $<
$(O)/obj/gen/%.o: $(O)/gen/%.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<
$(O)/obj/decoder/export/pprof.o: $(O)/gen/pprof.pb-c.h

# What runs while pesa is built is for this machine: the machine's own compiler where pesa is for another one.
BUILD_CC ?= $(if $(filter $(shell uname -m)-%,$(shell $(CC) -dumpmachine 2>/dev/null)),$(CC),cc)
model_tables := $(O)/gen/model_tables
model_tables_sources := tools/gen/model_tables.c $(filter-out %/builtin.c decoder/core/% decoder/topdown/% decoder/binary/%,$(plugin_lib))
$(O)/build-obj/%.o: %.c $(O)/flags | $(version_header)
	@mkdir -p $(@D)
	$(call say,BUILDCC,$<)$(BUILD_CC) -Iinclude -I. -I$(O)/gen -D_GNU_SOURCE -std=gnu11 -O1 -MMD -MP -c -o $@ $<
$(model_tables): $(patsubst %.c,$(O)/build-obj/%.o,$(model_tables_sources))
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(BUILD_CC) -o $@ $^ -lpthread -lm
$(model_sources): $(O)/gen/models/%.c: decoder/mca/generated/models/%.model $(model_tables)
	@mkdir -p $(@D)
	$(call say,GEN,$@)$(model_tables) $* $< > $@

# Their texts are included by the assembler, which no compiler reports.
$(O)/obj/decoder/mca/model/builtin.o: $(wildcard decoder/mca/generated/models/*.model)

# So are the styles and scripts of pages: those of tools/report/html/ by tools/report/html.c.
page_parts := $(wildcard tools/*/html/*.css tools/*/html/*.js)
$(foreach part,$(page_parts),$(eval $(O)/obj/$(patsubst %/,%.o,$(dir $(part))): $(part)))

# For the programs that are linked here: its members stay where they are.
$(O)/lib/libpesa.a: $(lib_objects)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)$(AR) qcs --thin $@ $^

# Nothing is left to be found by the program that loads it, but the sanitizers' functions.
shared_flags := -shared $(if $(filter 1,$(SAN)),,-Wl,-z,defs)
library_flags := $(shared_flags) -Wl,-soname,$(soname) -Wl,--version-script=decoder/libpesa.map -Wl,-Bsymbolic-functions \
	-Wl,--gc-sections
$(O)/lib/$(library): $(public_objects) decoder/libpesa.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) $(library_flags) -o $@ $(public_objects) $(LDLIBS_ALL)
$(O)/lib/$(soname) $(O)/lib/libpesa.so: $(O)/lib/$(library)
	@ln -sf $(library) $@

# One object, in which the internal names are local, so that they are in no user's way.
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)
$(O)/lib/public/libpesa.a: $(public_objects)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,LD,$@)$(CC) -r -nostdlib -o $(@:.a=.o) $^
	$(Q)$(OBJCOPY) --localize-hidden $(@:.a=.o)
	$(Q)$(AR) qcs $@ $(@:.a=.o)

$(O)/bin/pesa: $(start_objects) $(O)/lib/libpesa.a | $(O)/libexec/pesa-commands.so $(cores) $(maps) $(event_files)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS_ALL)

$(O)/libexec/pesa-commands.so: $(tool_objects) $(O)/lib/libpesa.a tools/start/commands_object.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) $(shared_flags) -Wl,-Bsymbolic -Wl,--version-script=tools/start/commands_object.map \
		-o $@ $(filter-out %.map,$^) $(LDLIBS_ALL)

$(O)/libexec/pesa-top: screen_libs = $(TOP_LDLIBS)
$(O)/libexec/pesa-top: $(top_objects) $(O)/lib/libpesa.a
$(O)/libexec/pesa-report: screen_libs = $(BROWSE_LDLIBS)
$(O)/libexec/pesa-report: $(browse_objects) $(O)/lib/libpesa.a
$(O)/libexec/pesa-fleet: screen_libs = $(FLEET_LDLIBS)
$(O)/libexec/pesa-fleet: $(fleet_objects) $(O)/lib/libpesa.a
$(O)/libexec/pesa-top $(O)/libexec/pesa-report $(O)/libexec/pesa-fleet:
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(screen_libs) $(LDLIBS_ALL)

# The daemon's parts, for itself and for its tests.
$(O)/lib/libpesad.a: $(daemon_objects)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)$(AR) qcs $@ $^

$(O)/bin/pesad: $(call object,$(daemon_main)) $(O)/lib/libpesad.a $(O)/lib/libpesa.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(DAEMON_LDLIBS) $(LDLIBS_ALL)

# Programs for the kernel, included by the assembler in the files that load them.  They are the same for
# every machine; the system's headers are where the compiler has them for this one.
BPF_CC ?= clang
bpf_include = $(shell $(PKG_CONFIG) --cflags libbpf 2>/dev/null) $(shell $(BPF_CC) -v -E -x c - </dev/null 2>&1 | \
	sed -n '/^.include <...>/,/^End of/s/^ \(.*\)/-idirafter \1/p')
$(O)/obj/%.bpf.o: %.bpf.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,BPFCC,$<)$(BPF_CC) -target bpf -mcpu=v3 -Iinclude -I. $(bpf_include) -std=gnu11 -O2 -g \
		-Wall -Wextra -Werror -MMD -MP -c -o $@ $<

$(O)/obj/daemon/pesad/aggregate.o: $(bpf_objects)
$(O)/obj/daemon/pesad/aggregate.o: private CPPFLAGS_ALL += \
	-DPESA_BPF_DIRECTORY='"$(O)/obj/daemon/pesad/bpf"'

$(O)/share/pesa/cores/%: tools/vcore/cores/%
	@mkdir -p $(@D)
	@cp $< $@

$(O)/share/pesa/events/%: tools/events/%
	@mkdir -p $(@D)
	@cp $< $@

$(O)/share/pesa/maps/%: tools/maps/%
	@mkdir -p $(@D)
	@cp $< $@

# The files that see QEMU's header are compiled for each version of its API.
plugin_api_sources := $(shell grep -rl --include='*.c' 'qemu_plugin\.h"' tools/vcore)
plugin_sources := $(filter-out $(plugin_api_sources),$(vcore_sources) $(plugin_lib))
plugin_objects := $(patsubst %.c,$(O)/vcore/%.o,$(plugin_sources)) $(patsubst $(O)/gen/%.c,$(O)/vcore/gen/%.o,$(model_sources))
$(O)/vcore/%.o: %.c $(O)/plugin-flags
	@mkdir -p $(@D)
	$(call say,CC,"$< (plugin)")$(CC) $(CPPFLAGS_ALL) $(plugin_flags) -MMD -MP -c -o $@ $<
$(O)/vcore/gen/%.o: $(O)/gen/%.c $(O)/plugin-flags
	@mkdir -p $(@D)
	$(call say,CC,"$< (plugin)")$(CC) $(CPPFLAGS_ALL) $(plugin_flags) -MMD -MP -c -o $@ $<
define plugin_rules
$(O)/vcore-$(1)/%.o: %.c $(O)/plugin-flags
	@mkdir -p $$(@D)
	$$(call say,CC,"$$< (plugin API $(1))")$$(CC) $$(CPPFLAGS_ALL) -DQEMU_PLUGIN_API=$(1) $$(plugin_flags) \
		-MMD -MP -c -o $$@ $$<
$(O)/libexec/pesa-vcore-$(1).so: $(patsubst %.c,$(O)/vcore-$(1)/%.o,$(plugin_api_sources)) $(plugin_objects)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)$$(CC) $$(plugin_flags) -shared -Wl,-Bsymbolic -o $$@ $$^ -lpthread -lm
endef
$(foreach version,1 2,$(eval $(call plugin_rules,$(version))))

$(O)/tests/%: $(O)/obj/tests/unit/%.o $(O)/lib/libpesad.a $(O)/lib/libpesa.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(filter-out %.o,$^) -lcmocka $(DAEMON_LDLIBS) $(LDLIBS_ALL)

# These are of the virtual core, which is no library.
$(O)/tests/test_call_stack: $(patsubst %,$(O)/obj/tools/vcore/stack/%.o,call_stack stack_use)
$(O)/tests/test_register_log: $(O)/obj/tools/vcore/stack/register_log.o
$(O)/tests/test_windows: $(O)/obj/tools/vcore/windows/windows.o

# Programs that integration tests run: they make or print files, or are parts of the daemon alone.
$(O)/tests/tools/%: $(O)/obj/tests/tools/%.o $(O)/lib/libpesad.a $(O)/lib/libpesa.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(filter-out %.o,$^) $(DAEMON_LDLIBS) $(LDLIBS_ALL)

# This one is of pesa compare, which is no library.
$(O)/tests/tools/patch_tablegen: $(patsubst %,$(O)/obj/tools/compare/%.o,model_text tablegen tablegen_change \
	tablegen_files tablegen_resource tablegen_site)

$(O)/bench/%: $(O)/obj/tests/bench/%.o $(O)/lib/libpesa.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS_ALL)

# Fuzz targets need clang's libFuzzer, and the objects of SAN=1, where unit tests have them: that tree has both.
$(O)/fuzz/%: $(O)/obj/tests/fuzz/%.o $(O)/lib/libpesad.a $(O)/lib/libpesa.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer -o $@ $^ $(DAEMON_LDLIBS) $(LDLIBS_ALL)

# The reference of the library, made of its headers; a public name without a comment is an error.
DOC ?= $(O)/doc
doc: $(version_header)
	@mkdir -p $(DOC)
	$(call say,DOXYGEN,$(DOC)/html)(cat Documentation/Doxyfile; printf '%s\n' 'PROJECT_NUMBER = $(VERSION)' \
		'INPUT = include/pesa $(version_header) Documentation/library.md' 'STRIP_FROM_INC_PATH = include $(O)/gen' \
		'STRIP_FROM_PATH = include $(O)/gen' 'OUTPUT_DIRECTORY = $(DOC)') | doxygen -

version:
	@printf 'version %s\ncommit %s\n' '$(VERSION)' '$(COMMIT)'

dist:
	$(Q)tools/dist $(O)

deps:
	$(Q)tools/dependencies

plugins: $(plugins)
tuned: all
	$(if $(findstring clang,$(CC)),$(error make tuned: needs gcc, not $(CC)))
	$(Q)rm -f $(O)/tuned
	$(Q)find $(O)/vcore $(O)/vcore-* -name '*.gcda' -delete
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) PROFILE=generate plugins
	$(Q)tools/tune $(O)
	$(Q)touch $(O)/tuned
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) plugins

# Neither the daemon nor pesa top, which need more packages; one plugin, the one for the emulator that is here.  It is
# first, so that its link, one long process, runs beside other compilers.
demo:
	$(Q)tools/dependencies demo
	$(Q)tools/emulator --link $(O)/libexec > /dev/null
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) $(O)/libexec/$$(tools/emulator --plugin) $(O)/bin/pesa $(O)/libexec/pesa-report
	$(Q)tools/demo $(O)

# The link is where pesa looks for it first.
emulator:
	$(Q)tools/emulator --link $(O)/libexec

check: deps
	$(Q)O=$(O) tests/run

# The commit's state, in minimal systems made by debootstrap; as root.
check-fresh:
	$(Q)O=$(O) tests/fresh/run $(if $(CHECK),--check) $(if $(WRITE),--write) $(SUITES)

package:
	$(Q)O=$(O) JOBS=$(JOBS) tests/fresh/package $(if $(WRITE),--write) $(SUITES)

check-unit check-integration check-fuzz check-sanitized:
	$(Q)O=$(O) tests/run $(patsubst check-%,%,$@)

# What it is made of ends up in ~/.cache/pesa/board: see Documentation/board.md.
board:
	$(Q)tools/dependencies board
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) all
	$(Q)JOBS=$(JOBS) tools/board/build

check-system:
	$(Q)O=$(O) JOBS=$(JOBS) tests/run system system-debug

# Simulators and synthesis are installed where the distribution has them.
check-rtl:
	$(Q)tools/dependencies rtl
	$(Q)O=$(O) JOBS=$(JOBS) tests/run rtl

check-all: deps
	$(Q)tools/dependencies rtl
	$(Q)O=$(O) JOBS=$(JOBS) tests/run build lint unit sanitized integration rtl fuzz coverage tuned system system-debug

overhead: all
	$(Q)O=$(O) JOBS=$(JOBS) tools/board/overhead --write

# As many random blocks for every processor as wanted, against llvm-mca-22.
N ?= 1000
SEED ?= 1
parity: all
	$(Q)PESA=$(abspath $(O)/bin/pesa) PARITY_BLOCKS=$(N) PARITY_SEED=$(SEED) tests/integration/mca_parity.t

# As many loops for every core as wanted, on the virtual core and in llvm-mca-22.
core-loops: all
	$(Q)O=$(O) CORE_LOOPS=$(or $(filter-out 1000,$(N)),200) tests/integration/core_loops.t

# Fetches the source package of LLVM (197 MB) unless the cache has its tests.
llvm-tests: all
	$(Q)PESA=$(abspath $(O)/bin/pesa) JOBS=$(JOBS) tests/llvm-mca/run

# The daemon's unit under a real systemd; as root.
check-unit-file: all
	$(Q)O=$(O) PYTHONPATH=tests/integration tests/systemd/unit.t

# Fetches the clients of profile stores from the npm registry.
profile-stores: all $(O)/tests/tools/push_profiles
	$(Q)O=$(O) tests/stores/check.py

# How a file is compiled and what a unit test is linked with, for tests/mutate.
commands:
	@echo '$(subst ','\'',$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL))'
	@echo '$(LDFLAGS_ALL) $(O)/lib/libpesad.a $(O)/lib/libpesa.a -lcmocka $(DAEMON_LDLIBS) $(LDLIBS_ALL)'

# FILES: C files or folders, N: how many changes of them (0: all), SEED: which.
FILES ?= decoder daemon
mutate:
	$(Q)O=$(O) tests/mutate/mutate -n $(if $(filter file,$(origin N)),200,$(N)) --seed $(SEED) -j $(JOBS) $(FILES)

# Needs a browser.
pictures: all
	$(Q)O=$(O) tests/integration/tutorials.t --write

accuracy: all
	$(Q)O=$(O) PESA=$(O)/bin/pesa tests/accuracy/accuracy.py -o Documentation/accuracy.md
	$(Q)O=$(O) PESA=$(O)/bin/pesa tests/accuracy/accuracy.py --sampled -o Documentation/accuracy.md
	$(Q)O=$(O) PESA=$(O)/bin/pesa tests/accuracy/accuracy.py --timed -o Documentation/accuracy.md

# Cost of the unit, what it discards, what each field is worth.
ablation: all tests
	$(Q)tools/dependencies rtl
	$(Q)tests/rtl/cost.py -o Documentation/rtl-cost.md
	$(Q)tools/programs -o $(O)/programs bzip2-static
	$(Q)O=$(O) PESA=$(O)/bin/pesa tests/rtl/discarded.py -o Documentation/ablation.md
	$(Q)O=$(O) PESA=$(O)/bin/pesa tests/accuracy/ablation.py -o Documentation/ablation.md --svg Documentation/ablation.svg
	$(Q)O=$(O) PESA=$(O)/bin/pesa tests/accuracy/ablation_use.py -o Documentation/ablation.md

# Each goes on where an earlier run was interrupted.  PROGRAMS=, COMPILERS=, CORES=: lists with commas.
pgo: all tests
	$(Q)O=$(O) tests/pgo/flow.py -o Documentation/pgo.md
	$(Q)O=$(O) tests/pgo/pgo.py $(if $(PROGRAMS),--programs $(PROGRAMS)) $(if $(COMPILERS),--compilers $(COMPILERS)) \
		$(if $(CORES),--cores $(CORES)) -o Documentation/pgo.md

bench: all benches
	$(Q)O=$(O) tests/bench/run

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include/pesa \
		$(DESTDIR)$(LIBEXEC) $(DESTDIR)$(DATADIR)/cores $(DESTDIR)$(DATADIR)/maps \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/man,1 5 8)
	install -m 755 $(O)/bin/pesa $(DESTDIR)$(PREFIX)/bin/
	$(if $(daemon_main),install -m 755 $(O)/bin/pesad $(DESTDIR)$(PREFIX)/bin/)
	$(if $(daemon_main),install -d $(DESTDIR)$(UNITDIR))
	$(if $(daemon_main),sed 's|@PREFIX@|$(PREFIX)|' tools/pesad.service > $(DESTDIR)$(UNITDIR)/pesad.service)
	install -m 644 $(O)/lib/public/libpesa.a $(O)/lib/$(library) $(DESTDIR)$(LIBDIR)/
	ln -sf $(library) $(DESTDIR)$(LIBDIR)/$(soname)
	ln -sf $(soname) $(DESTDIR)$(LIBDIR)/libpesa.so
	install -m 644 $(headers) $(DESTDIR)$(PREFIX)/include/pesa/
	install -m 755 $(addprefix $(O)/libexec/pesa-,top report fleet commands.so) $(plugins) $(DESTDIR)$(LIBEXEC)/
	$(if $(wildcard $(O)/libexec/qemu-riscv64),install -m 755 $(O)/libexec/qemu-riscv64 $(DESTDIR)$(LIBEXEC)/)
	$(if $(wildcard tools/vcore/cores/*),install -m 644 $(wildcard tools/vcore/cores/*) $(DESTDIR)$(DATADIR)/cores/)
	$(if $(wildcard tools/maps/*),install -m 644 $(wildcard tools/maps/*) $(DESTDIR)$(DATADIR)/maps/)
	cp -r $(O)/share/pesa/events $(DESTDIR)$(DATADIR)/
	install -D -m 644 -t $(DESTDIR)$(DATADIR)/grafana tools/grafana/*.json
	$(foreach shell,bash:bash-completion/completions/pesa zsh:zsh/site-functions/_pesa fish:fish/vendor_completions.d/pesa.fish, \
		install -D -m 644 $(O)/share/completion/$(firstword $(subst :, ,$(shell))) \
			$(DESTDIR)$(PREFIX)/share/$(lastword $(subst :, ,$(shell))) &&) :
	$(foreach section,1 5 8,install -m 644 $(filter %.$(section),$(manuals)) \
		$(DESTDIR)$(PREFIX)/share/man/man$(section)/ &&) :
	sed -e '/^#/d' -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
		-e 's|@VERSION@|$(VERSION)|' -e 's|@PACKAGES@|$(LIBRARY_PACKAGES)|' -e 's|@LIBS@|$(strip $(private_libs))|' \
		decoder/libpesa.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/libpesa.pc

# What DKMS builds the driver from.
driver_source = $(DESTDIR)/usr/src/pesa-$(VERSION)
driver_headers = $(addprefix include/pesa/,csr.h raw_sample.h transfer.h)
install-driver-source:
	install -d $(driver_source)
	install -m 644 kernel/Kbuild $(wildcard kernel/*.[ch]) $(driver_headers) $(driver_source)/
	sed 's|@VERSION@|$(VERSION)|' kernel/dkms.conf > $(driver_source)/dkms.conf

uninstall:
	rm -rf $(addprefix $(DESTDIR)$(PREFIX)/bin/,pesa pesad) $(DESTDIR)$(PREFIX)/include/pesa $(DESTDIR)$(LIBEXEC) $(DESTDIR)$(DATADIR) \
		$(addprefix $(DESTDIR)$(LIBDIR)/,libpesa.a libpesa.so $(soname) $(library) pkgconfig/libpesa.pc) \
		$(DESTDIR)$(UNITDIR)/pesad.service \
		$(addprefix $(DESTDIR)$(PREFIX)/share/,bash-completion/completions/pesa zsh/site-functions/_pesa fish/vendor_completions.d/pesa.fish) \
		$(foreach manual,$(manuals),$(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $(manual)))/$(notdir $(manual)))

# Version 14, whose output the sources have; the driver's satisfy the kernel's checkpatch.
formatted = $(shell git ls-files '*.c' '*.h' | grep -v -e '/generated/' -e '^kernel/')
format:
	clang-format-14 -i $(formatted)

format-check:
	$(Q)clang-format-14 --dry-run --Werror $(formatted)

lint:
	$(Q)$(MAKE) --no-print-directory O=$(O) $(O)/gen/pprof.pb-c.h $(build_header) $(version_header)
	$(Q)O=$(O) JOBS=$(JOBS) tests/lint/run

# Lines and branches that unit and integration tests execute, into Documentation/testing.md.
coverage:
	$(Q)O=$(O) JOBS=$(JOBS) tests/coverage/run --files -o Documentation/testing.md

clean:
	rm -rf $(O)

-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)
