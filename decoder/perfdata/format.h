/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf.data file format: constants and layouts shared by reader and writer.
 *
 * Sources in the kernel tree: tools/perf/Documentation/perf.data-file-format.txt,
 * tools/lib/perf/include/perf/event.h and include/uapi/linux/perf_event.h.  All numbers are in the
 * byte order of the recording machine, which the reader detects from the magic number.
 */
#ifndef DECODER_PERFDATA_FORMAT_H
#define DECODER_PERFDATA_FORMAT_H

#include <stdint.h>

#define PERFDATA_MAGIC	       0x32454c4946524550ull /* "PERFILE2" */
#define PERFDATA_MAGIC_SWAPPED 0x50455246494c4532ull

struct perfdata_section {
	uint64_t offset, size; /* bytes from the start of the file, bytes */
};

struct perfdata_header {
	uint64_t magic;
	uint64_t size;	    /* of this header; sizeof(struct perfdata_pipe_header) in pipe mode */
	uint64_t attr_size; /* of one entry of the attribute section: attr, then its id section */
	struct perfdata_section attributes, data, event_types;
	uint64_t features[4]; /* bit map: feature sections present after the data */
};

struct perfdata_pipe_header {
	uint64_t magic, size;
};

/* Record types that perf adds to those of the kernel. */
enum perfdata_record_type {
	PERFDATA_RECORD_USER_FIRST = 64,
	PERFDATA_RECORD_ATTRIBUTE = 64,
	PERFDATA_RECORD_EVENT_TYPE = 65,
	PERFDATA_RECORD_TRACING_DATA = 66,
	PERFDATA_RECORD_BUILD_ID = 67,
	PERFDATA_RECORD_FINISHED_ROUND = 68,
	PERFDATA_RECORD_ID_INDEX = 69,
	PERFDATA_RECORD_AUXTRACE_INFO = 70,
	PERFDATA_RECORD_AUXTRACE = 71,
	PERFDATA_RECORD_AUXTRACE_ERROR = 72,
	PERFDATA_RECORD_EVENT_UPDATE = 78,
	PERFDATA_RECORD_FEATURE = 80,
	PERFDATA_RECORD_COMPRESSED = 81,
	PERFDATA_RECORD_FINISHED_INIT = 82,
	PERFDATA_RECORD_COMPRESSED2 = 83,
	PERFDATA_RECORD_USER_LAST = 127, /* far above the types of any version of perf */
};

#define PERFDATA_EVENT_UPDATE_NAME 2

enum perfdata_feature {
	PERFDATA_FEATURE_TRACING_DATA = 1,
	PERFDATA_FEATURE_BUILD_ID = 2,
	PERFDATA_FEATURE_HOSTNAME = 3,
	PERFDATA_FEATURE_OSRELEASE = 4,
	PERFDATA_FEATURE_VERSION = 5,
	PERFDATA_FEATURE_ARCH = 6,
	PERFDATA_FEATURE_NRCPUS = 7,
	PERFDATA_FEATURE_CPUDESC = 8,
	PERFDATA_FEATURE_CPUID = 9,
	PERFDATA_FEATURE_TOTAL_MEM = 10,
	PERFDATA_FEATURE_CMDLINE = 11,
	PERFDATA_FEATURE_EVENT_DESC = 12,
	PERFDATA_FEATURE_CPU_TOPOLOGY = 13,
	PERFDATA_FEATURE_PMU_MAPPINGS = 16,
	PERFDATA_FEATURE_SAMPLE_TIME = 21,
	PERFDATA_FEATURE_COMPRESSED = 27,
	PERFDATA_FEATURE_CPU_PMU_CAPS = 28,
	PERFDATA_FEATURE_PMU_CAPS = 31,
	PERFDATA_FEATURE_END = 32, /* pipe: no more features (perf 6.1's number of known ones) */
	PERFDATA_FEATURES = 256,   /* bits of the map */
};

#define PERFDATA_RECORD_MAX	   65535 /* bytes: the size field has 16 bits */
#define PERFDATA_COMPRESSION_ZSTD  1
#define PERFDATA_COUNTS_PMU	   "pesa_counts"    /* PMU_CAPS: its values are counts */
#define PERFDATA_RECORDING_PMU	   "pesa_recording" /* PMU_CAPS: facts of a merged recording */
#define PERFDATA_STRING_ALIGNMENT  64	     /* perf pads strings of feature sections to this */
#define PERFDATA_BUILD_ID_BYTES	   24	     /* of a build id field: 20, size, 3 reserved */
#define PERFDATA_BUILD_ID_HAS_SIZE (1 << 15) /* misc: byte 20 of the field is the size */

/* struct perf_event_header without the kernel's bit fields */
struct perfdata_record {
	uint32_t type;
	uint16_t misc;
	uint16_t size; /* bytes, this header included */
};

#endif
