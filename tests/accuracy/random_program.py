#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs drawn at random: C and C++ made of kernels whose shape, types and constants are drawn, and how they are compiled.

  tests/accuracy/random_program.py SEED [-o PROGRAM]     print the source, or build it

A program takes the number of rounds as its argument, and prints a checksum.  The same seed gives the same program.  What is drawn
is said in the first lines of the source.
"""
import argparse
import random
import subprocess
import sys

HEAD = """#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
"""
HEAD_CXX = """#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>
"""
INTEGERS = ["int32_t", "uint32_t", "int64_t", "uint64_t", "int16_t", "uint8_t"]
WIDE = ["int32_t", "uint32_t", "int64_t", "uint64_t"]
FLOATS = ["float", "double"]


class Draw:
    """What is drawn for one kernel; `name` is unique in the program."""

    def __init__(self, generator, name):
        self.generator, self.name = generator, name

    def one(self, *choices):
        return self.generator.choice(choices)

    def of(self, choices):
        return self.generator.choice(choices)

    def number(self, low, high):
        """Small numbers are as likely as large ones: the logarithm is uniform."""
        return int(round(low * (high / low) ** self.generator.random()))

    def odd(self, bits):
        return self.generator.getrandbits(bits) | 1

    def chance(self, probability):
        return self.generator.random() < probability


# ---- Expressions -----------------------------------------------------------------------------------------------------


def integer_term(draw, names, depth):
    if depth == 0 or draw.chance(0.15):
        return draw.of(names) if draw.chance(0.8) else str(draw.number(1, 5000))
    left, right = integer_term(draw, names, depth - 1), integer_term(draw, names, depth - 1)
    operation = draw.one("+", "-", "^", "&", "|", "+", "-", "*", "<<", ">>", "/", "%", "?", "rotate", "<", "*")
    if operation in ("<<", ">>"):
        return f"(({left}) {operation} {draw.number(1, 13)})"
    if operation == "/":
        return f"(({left}) / ({right} | 1))" if draw.chance(0.4) else f"(({left}) / {draw.number(2, 1000)})"
    if operation == "%":
        return f"(({left}) % (({right} & {draw.number(7, 1023)}) + 3))" if draw.chance(0.4) else f"(({left}) % {draw.number(2, 1000)})"
    if operation == "?":
        return f"((({left}) & {draw.number(1, 16)}) ? ({right}) : ({integer_term(draw, names, depth - 1)}))"
    if operation == "rotate":
        shift = draw.number(1, 31)
        return f"((uint32_t)({left}) << {shift} | (uint32_t)({left}) >> {32 - shift})"
    return f"(({left}) {operation} ({right}))"


def float_term(draw, names, kind, depth):
    if depth == 0 or draw.chance(0.15):
        return draw.of(names) if draw.chance(0.8) else f"({kind}){draw.number(1, 999) / 100}"
    left, right = float_term(draw, names, kind, depth - 1), float_term(draw, names, kind, depth - 1)
    suffix = "f" if kind == "float" else ""
    operation = draw.one("+", "-", "*", "+", "*", "-", "/", "sqrt", "fma", "min", "abs", "convert", "?", "/")
    if operation == "/":
        return f"({left} / ({right} * {right} + ({kind})1.5))"
    if operation == "sqrt":
        return f"sqrt{suffix}(fabs{suffix}({left}) + ({kind})0.5)"
    if operation == "fma":
        return f"({left} * {right} + {float_term(draw, names, kind, depth - 1)})"
    if operation == "min":
        return f"f{draw.one('min', 'max')}{suffix}({left}, {right})"
    if operation == "abs":
        return f"fabs{suffix}({left})"
    if operation == "convert":
        return f"({kind})({draw.one('int32_t', 'int64_t')})({left} * ({kind})0.25)"
    if operation == "?":
        return f"({left} < {right} ? {left} : {float_term(draw, names, kind, depth - 1)})"
    return f"({left} {operation} {right})"


# ---- Kernels: each returns the text of `uint64_t NAME(uint64_t seed)` and what it needs before it ---------------------


def integer_chain(draw):
    kind, count = draw.of(WIDE), draw.number(1, 5)
    names = [f"v{i}" for i in range(count)]
    lines = "".join(f"\t\t{draw.of(names)} {draw.one('=', '+=', '^=', '=')} ({kind})({integer_term(draw, names + ['i'], draw.number(1, 4))});\n"
                    for _ in range(draw.number(1, 6)))
    start = "".join(f"\t{kind} {name} = ({kind})(seed * {draw.odd(30)} + {i});\n" for i, name in enumerate(names))
    return "", f"{start}\tfor ({kind} i = 1; i < {draw.number(100, 3000) if kind not in ('int16_t', 'uint8_t') else 100}; i++) {{\n{lines}\t}}\n\treturn (uint64_t)({' ^ '.join(names)});\n"


def integer_array(draw):
    kind, size = draw.of(INTEGERS), draw.number(16, 20000)
    names = ["a[i]", "b[i]", "t", "(%s)i" % kind]
    if draw.chance(0.4):
        names.append(f"a[(i * {draw.odd(12)}u) % {size}]")
    body = integer_term(draw, names, draw.number(1, 3))
    end = draw.one("t += {0}", "b[i] = {0}", "t = {0}, b[i] ^= t", "if ({0} & 4) t += a[i]; else b[i] = t").format(f"({kind})({body})")
    return (f"static {kind} {draw.name}_a[{size}], {draw.name}_b[{size}];\n",
            f"\t{kind} *a = {draw.name}_a, *b = {draw.name}_b, t = ({kind})seed;\n\ta[seed % {size}] += ({kind})seed;\n"
            f"\tfor (unsigned int i = 0; i < {size}; i++) {{\n\t\t{end};\n\t}}\n\treturn (uint64_t)(t + b[seed % {size}]);\n")


def float_chain(draw):
    kind, count = draw.of(FLOATS), draw.number(1, 5)
    names = [f"v{i}" for i in range(count)]
    lines = "".join(f"\t\t{draw.of(names)} = {float_term(draw, names + ['k'], kind, draw.number(1, 3))};\n" for _ in range(draw.number(1, 5)))
    start = "".join(f"\t{kind} {name} = ({kind})(1 + (seed >> {i}) % 17) / 3;\n" for i, name in enumerate(names))
    clip = "".join(f"\t\tif (!({name} < ({kind})1e6 && {name} > ({kind})-1e6))\n\t\t\t{name} = k;\n" for name in names)
    return "", (f"{start}\tfor (int i = 1; i < {draw.number(100, 2000)}; i++) {{\n\t\t{kind} k = ({kind})i;\n{lines}{clip}\t}}\n"
                f"\treturn (uint64_t)(int64_t)({' + '.join(names)});\n")


def float_stream(draw):
    kind, size = draw.of(FLOATS), draw.number(32, 20000)
    names = ["a[i]", "b[i]", "c[i]", "s"]
    body = float_term(draw, names, kind, draw.number(1, 2))
    end = draw.one(f"c[i] = {body}", f"s += {body}", f"a[i] = b[i] + s * c[i]", f"c[i] = (a[i] + b[i]) * ({kind})0.5")
    return (f"static {kind} {draw.name}_a[{size}], {draw.name}_b[{size}], {draw.name}_c[{size}];\n",
            f"\t{kind} *a = {draw.name}_a, *b = {draw.name}_b, *c = {draw.name}_c, s = ({kind})(seed % 9);\n\ta[seed % {size}] = ({kind})1.25;\n"
            f"\tfor (unsigned int i = 0; i < {size}; i++)\n\t\t{end};\n\tif (!(s < ({kind})1e6))\n\t\ts = 1;\n"
            f"\tc[0] = 1;\n\treturn (uint64_t)(int64_t)s + (uint64_t)(c[seed % {size}] > 0);\n")


def pointer_chase(draw):
    count, pad = draw.number(16, 30000), draw.number(1, 12)
    return (f"struct {draw.name}_node {{ struct {draw.name}_node *next; uint64_t value[{pad}]; }};\n"
            f"static struct {draw.name}_node {draw.name}_nodes[{count}];\n",
            f"\tstruct {draw.name}_node *nodes = {draw.name}_nodes, *at = nodes;\n\tuint64_t sum = 0;\n"
            f"\tif (!nodes[0].next)\n\t\tfor (unsigned int i = 0; i < {count}; i++) {{\n\t\t\tnodes[i].next = &nodes[(i * {draw.odd(14)}ull + 1) % {count}];\n"
            f"\t\t\tnodes[i].value[0] = i;\n\t\t}}\n"
            f"\tfor (unsigned int i = 0; i < {draw.number(500, 6000)}; i++) {{\n\t\tsum {draw.one('+=', '^=')} at->value[{draw.one(0, 0, pad - 1)}]"
            f"{draw.one('', ' * 3', ' / 7', ' % 11')};\n{draw.one('', chr(9) * 2 + 'at->value[0]++;' + chr(10))}\t\tat = at->next;\n\t}}\n\treturn sum + seed;\n")


def hash_bytes(draw):
    size = draw.number(64, 8000)
    step = draw.one(f"h = (h ^ p[i]) * {draw.odd(40)}ull", f"h = h * {draw.one(31, 33, 65599)} + p[i]",
                    f"h += p[i], h += h << {draw.number(2, 12)}, h ^= h >> {draw.number(3, 15)}",
                    f"h = (h >> 8) ^ {draw.name}_table[(h ^ p[i]) & 255]", "a = (a + p[i]) % 65521, h = (h + a) % 65521")
    return (f"static uint8_t {draw.name}_p[{size}];\nstatic uint32_t {draw.name}_table[256];\n",
            f"\tuint8_t *p = {draw.name}_p;\n\t{draw.one('uint32_t', 'uint64_t')} h = {draw.odd(31)}, a = 1;\n\tp[seed % {size}]++;\n"
            f"\t{draw.name}_table[seed & 255] += (uint32_t)seed;\n"
            f"\tfor (unsigned int i = 0; i < {size}; i++)\n\t\t{step};\n\treturn h + a;\n")


def hash_table(draw):
    bits = draw.number(4, 14)
    return (f"static struct {{ uint32_t key, count; }} {draw.name}_slot[1u << {bits}];\n",
            f"\tuint32_t x = (uint32_t)seed | 1, found = 0;\n\tfor (unsigned int i = 0; i < {draw.number(200, 2000)}; i++) {{\n"
            f"\t\tx = x * {draw.odd(28)}u + {draw.odd(12)}u;\n\t\tuint32_t key = (x >> 8) % {max(3, int((1 << bits) * 0.7))} + 1, at = key * {draw.odd(32)}u >> {32 - bits};\n"
            f"\t\twhile ({draw.name}_slot[at].key && {draw.name}_slot[at].key != key)\n\t\t\tat = (at + 1) & {(1 << bits) - 1};\n"
            f"\t\t{draw.name}_slot[at].key = key;\n\t\tfound += ++{draw.name}_slot[at].count;\n\t}}\n\treturn found;\n")


def sort_callback(draw):
    kind, count = draw.of(WIDE + FLOATS), draw.number(20, 600)
    return (f"static int {draw.name}_compare(const void *l, const void *r)\n{{\n\t{kind} a = *(const {kind} *)l, b = *(const {kind} *)r;\n\n"
            f"\treturn {draw.one('a < b ? -1 : a > b', 'a > b ? -1 : a < b', '(a > b) - (a < b)')};\n}}\n",
            f"\t{kind} v[{count}];\n\tuint32_t x = (uint32_t)seed;\n\tfor (unsigned int i = 0; i < {count}; i++)\n"
            f"\t\tv[i] = ({kind})((x = x * 1664525u + 1013904223u) >> {draw.number(1, 24)});\n"
            f"\tqsort(v, {count}, sizeof(*v), {draw.name}_compare);\n\treturn (uint64_t)(int64_t)v[{count // 2}];\n")


def sort_own(draw):
    kind, count = draw.of(WIDE + FLOATS), draw.number(8, 120)
    return "", (f"\t{kind} v[{count}];\n\tuint32_t x = (uint32_t)seed;\n\tfor (unsigned int r = 0; r < {draw.number(1, 6)}; r++) {{\n\t\tfor (unsigned int i = 0; i < {count}; i++)\n"
                f"\t\t\tv[i] = ({kind})((x = x * 22695477u + 1) >> 16);\n"
                f"\t\tfor (unsigned int i = 1; i < {count}; i++) {{\n\t\t\t{kind} one = v[i];\n\t\t\tunsigned int j = i;\n\n"
                f"\t\t\tfor (; j && v[j - 1] > one; j--)\n\t\t\t\tv[j] = v[j - 1];\n\t\t\tv[j] = one;\n\t\t}}\n\t}}\n\treturn (uint64_t)(int64_t)v[{count // 2}];\n")


def random_numbers(draw):
    call = draw.one("(unsigned)rand() % i", "(unsigned)rand() & 255", "(unsigned)(random() / 3)", "(unsigned)rand() / 10000000 * i",
                    "(unsigned)(drand48() * i)", "(unsigned)rand_r(&state) % (i + 3)")
    return "", (f"\tuint64_t sum = 0;\n\tunsigned int state = (unsigned int)seed;\n\tfor (unsigned int i = 1; i < {draw.number(200, 1500)}; i++)\n"
                f"\t\tsum += {call};\n\treturn sum + state;\n")


def atomics(draw):
    order = draw.one("__ATOMIC_RELAXED", "__ATOMIC_ACQUIRE", "__ATOMIC_RELEASE", "__ATOMIC_SEQ_CST", "__ATOMIC_ACQ_REL")
    kind = draw.one("uint32_t", "uint64_t")
    load = order if order not in ("__ATOMIC_RELEASE", "__ATOMIC_ACQ_REL") else "__ATOMIC_SEQ_CST"
    store = order if order not in ("__ATOMIC_ACQUIRE", "__ATOMIC_ACQ_REL") else "__ATOMIC_SEQ_CST"
    step = draw.one(f"sum += __atomic_fetch_{draw.one('add', 'xor', 'or', 'and')}(p, ({kind})i, {order})",
                    f"sum += __atomic_exchange_n(p, ({kind})i, {order})",
                    f"{{ {kind} old = __atomic_load_n(p, {load}); while (!__atomic_compare_exchange_n(p, &old, old + 1, {draw.one(0, 1)}, __ATOMIC_SEQ_CST, {load})) ; sum += old; }}",
                    f"__atomic_store_n(p, ({kind})i, {store}); sum += __atomic_load_n(p, {load})",
                    "__atomic_thread_fence(__ATOMIC_SEQ_CST); sum += *p")
    extra = draw.one("", f"sum = sum * {draw.odd(20)} + i;", "sum ^= sum >> 7;", "if (sum & 8) sum += 3;")
    return (f"static {kind} {draw.name}_shared[8];\n",
            f"\tuint64_t sum = seed;\n\tfor (unsigned int i = 1; i < {draw.number(200, 2000)}; i++) {{\n\t\t{kind} *p = &{draw.name}_shared[{draw.one('0', 'i & 7')}];\n"
            f"\t\t{step};\n\t\t{extra}\n\t}}\n\treturn sum;\n")


def locks(draw):
    return (f"static pthread_mutex_t {draw.name}_lock = PTHREAD_MUTEX_INITIALIZER;\nstatic uint64_t {draw.name}_total;\n",
            f"\tfor (unsigned int i = 1; i < {draw.number(50, 500)}; i++) {{\n\t\tpthread_mutex_lock(&{draw.name}_lock);\n"
            f"\t\t{draw.name}_total += seed {draw.one('/', '%', '*', '+')} i;\n\t\tpthread_mutex_unlock(&{draw.name}_lock);\n\t}}\n\treturn {draw.name}_total;\n")


def strings(draw):
    size = draw.number(8, 2000)
    step = draw.one("sum += strlen(a)", f"memcpy(b, a, {size}); sum += (uint8_t)b[i % {size}]", f"sum += (unsigned)(memcmp(a, b, {size}) > 0); b[i % {size}] = 'x'",
                    f"sum += (uintptr_t)memchr(a, 'q', {size}) & 7", f"memset(b, (int)i & 31, {size}); sum += (uint8_t)b[3]",
                    "strcpy(b, a); sum += (uint8_t)b[i % 3]", f"memmove(a + 1, a, {size - 2}); a[0] = (char)('a' + i % 20)",
                    "sum += (unsigned)strcmp(a, b)", "sum += strspn(a, \"abcdefghij\")", "sum += (uintptr_t)strchr(a, 'z') & 3", "sum += (uintptr_t)strstr(a, \"qrs\") & 15")
    return (f"static char {draw.name}_a[{size + 8}], {draw.name}_b[{size + 8}];\n",
            f"\tchar *a = {draw.name}_a, *b = {draw.name}_b;\n\tuint64_t sum = 0;\n\tfor (unsigned int i = 0; i < {size - 1}; i++)\n\t\ta[i] = (char)('a' + (i * {draw.odd(6)} + seed) % 26);\n"
            f"\tfor (unsigned int i = 0; i < {draw.number(5, 100)}; i++) {{\n\t\t{step};\n\t}}\n\treturn sum;\n")


def numbers_as_text(draw):
    form = draw.one("%d", "%x", "%8.3f", "%s %d", "%lu:%c", "%e", "%g")
    value = {"%d": "(int)(seed * i)", "%x": "(unsigned int)(seed * i)", "%8.3f": "(double)seed / i", "%s %d": "\"item\", (int)i",
             "%lu:%c": "(unsigned long)seed * i, 'a' + (int)(i % 20)", "%e": "(double)i * 1e-7", "%g": "1.0 / i"}[form]
    back = draw.one("sum += strlen(text)", "sum += (uint64_t)strtol(text, NULL, 10)", "sum += (uint64_t)(strtod(text, NULL) > 0)", "sum += (uint64_t)atoi(text)")
    return "", (f"\tchar text[400];\n\tuint64_t sum = 0;\n\tfor (unsigned int i = 1; i < {draw.number(10, 120)}; i++) {{\n"
                f"\t\tsnprintf(text, sizeof(text), \"{form}\", {value});\n\t\t{back};\n\t}}\n\treturn sum;\n")


def output(draw):
    return "static FILE *sink;\n" if not draw.generator.sink else "", (
        f"\tif (!sink)\n\t\tsink = fopen(\"/dev/null\", \"w\");\n\tfor (unsigned int i = 0; i < {draw.number(10, 200)}; i++)\n"
        f"\t\t{draw.one('fprintf(sink, ' + chr(34) + '%u %lu' + chr(92) + 'n' + chr(34) + ', i, (unsigned long)seed)', 'fputc((int)i, sink)', 'fputs(' + chr(34) + 'some text' + chr(34) + ', sink)')};\n"
        f"{draw.one('', chr(9) + 'fflush(sink);' + chr(10), chr(9) + '(void)!write(fileno(sink), &seed, 8);' + chr(10))}\treturn seed + 1;\n")


def recursion(draw):
    name = draw.name
    what = draw.one("fibonacci", "queens", "ackermann", "tree", "power")
    if what == "fibonacci":
        return f"static uint64_t {name}_f(unsigned int n)\n{{\n\treturn n < 2 ? n : {name}_f(n - 1) + {name}_f(n - 2);\n}}\n", f"\treturn {name}_f({draw.number(8, 16)} + (seed & 1));\n"
    if what == "queens":
        size = draw.number(4, 7)
        return (f"static unsigned int {name}_q(unsigned int row, unsigned int columns, unsigned int left, unsigned int right)\n{{\n\tunsigned int count = 0;\n\n\tif (row == {size})\n\t\treturn 1;\n"
                f"\tfor (unsigned int free = ~(columns | left | right) & {(1 << size) - 1}u; free; free &= free - 1) {{\n\t\tunsigned int bit = free & -free;\n\n"
                f"\t\tcount += {name}_q(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);\n\t}}\n\treturn count;\n}}\n", f"\treturn {name}_q(0, 0, 0, 0) + seed;\n")
    if what == "ackermann":
        return f"static unsigned int {name}_a(unsigned int m, unsigned int n)\n{{\n\treturn !m ? n + 1 : !n ? {name}_a(m - 1, 1) : {name}_a(m - 1, {name}_a(m, n - 1));\n}}\n", f"\treturn {name}_a(2, {draw.number(3, 25)}) + seed;\n"
    if what == "tree":
        return (f"struct {name}_t {{ struct {name}_t *left, *right; uint32_t key; }};\nstatic struct {name}_t {name}_pool[{1000}];\n"
                f"static struct {name}_t *{name}_insert(struct {name}_t *at, struct {name}_t *one)\n{{\n\tif (!at)\n\t\treturn one;\n\tif (one->key < at->key)\n\t\tat->left = {name}_insert(at->left, one);\n"
                f"\telse\n\t\tat->right = {name}_insert(at->right, one);\n\treturn at;\n}}\n",
                f"\tstruct {name}_t *root = NULL;\n\tuint32_t x = (uint32_t)seed;\n\tfor (unsigned int i = 0; i < {draw.number(10, 400)}; i++) {{\n\t\tx = x * 1103515245u + 12345;\n"
                f"\t\t{name}_pool[i] = (struct {name}_t){{NULL, NULL, x >> 4}};\n\t\troot = {name}_insert(root, &{name}_pool[i]);\n\t}}\n\treturn root->key;\n")
    return f"static uint64_t {name}_p(uint64_t b, unsigned int e)\n{{\n\tuint64_t half;\n\n\tif (!e)\n\t\treturn 1;\n\thalf = {name}_p(b, e / 2) % 1000003;\n\treturn half * half % 1000003 * (e & 1 ? b : 1);\n}}\n", \
        f"\tuint64_t sum = 0;\n\tfor (unsigned int i = 1; i < {draw.number(20, 200)}; i++)\n\t\tsum += {name}_p(seed + i, i * {draw.odd(5)});\n\treturn sum;\n"


def indirect(draw):
    count = draw.number(2, 12)
    functions = "".join(f"static uint64_t {draw.name}_f{i}(uint64_t x)\n{{\n\treturn {integer_term(draw, ['x'], draw.number(1, 3))};\n}}\n" for i in range(count))
    return (functions + f"static uint64_t (*const {draw.name}_table[])(uint64_t) = {{{', '.join(f'{draw.name}_f{i}' for i in range(count))}}};\n",
            f"\tuint64_t x = seed;\n\tfor (unsigned int i = 0; i < {draw.number(100, 1500)}; i++)\n\t\tx += {draw.name}_table[{draw.one('i', '(x >> 3)', '(i * i >> 2)')} % {count}](x + i);\n\treturn x;\n")


def interpreter(draw):
    count, length = draw.number(4, 20), draw.number(8, 200)
    cases = "".join(f"\t\tcase {i}:\n\t\t\t{draw.one('a', 'b', 'c')} {draw.one('=', '+=', '^=')} {integer_term(draw, ['a', 'b', 'c', 'i'], draw.number(1, 2))};\n\t\t\tbreak;\n" for i in range(count))
    return (f"static uint8_t {draw.name}_code[{length}];\n",
            f"\tuint64_t a = seed, b = 3, c = 7;\n\tfor (unsigned int i = 0; i < {length}; i++)\n\t\t{draw.name}_code[i] = (uint8_t)((i * i * {draw.odd(5)} + {draw.one('0', 'seed')}) % {count});\n"
            f"\tfor (unsigned int i = 0; i < {draw.number(300, 3000)}; i++) {{\n\t\tswitch ({draw.name}_code[i % {length}]) {{\n{cases}\t\tdefault:\n\t\t\ta++;\n\t\t}}\n\t}}\n\treturn a + b + c;\n")


def matrices(draw):
    kind, size = draw.of(WIDE + FLOATS + FLOATS), draw.number(4, 40)
    order = draw.one("ijk", "ikj", "jki")
    loops = "".join(f"\tfor (unsigned int {x} = 0; {x} < {size}; {x}++)\n" for x in order)
    return (f"static {kind} {draw.name}_a[{size}][{size}], {draw.name}_b[{size}][{size}], {draw.name}_c[{size}][{size}];\n",
            f"\t{draw.name}_a[seed % {size}][0] = ({kind})1;\n\t{draw.name}_b[0][seed % {size}] = ({kind})2;\n\tmemset({draw.name}_c, 0, sizeof({draw.name}_c));\n"
            f"{loops}\t\t{draw.name}_c[i][j] += {draw.name}_a[i][k] * {draw.name}_b[k][j];\n\treturn (uint64_t)(int64_t){draw.name}_c[0][0] + seed;\n")


def stencil(draw):
    kind, size = draw.of(FLOATS + WIDE), draw.number(8, 90)
    return (f"static {kind} {draw.name}_g[2][{size}][{size}];\n",
            f"\t{kind} (*a)[{size}] = {draw.name}_g[seed & 1], (*b)[{size}] = {draw.name}_g[~seed & 1];\n\ta[1][seed % {size}] = ({kind})9;\n"
            f"\tfor (unsigned int i = 1; i < {size - 1}; i++)\n\t\tfor (unsigned int j = 1; j < {size - 1}; j++)\n"
            f"\t\t\tb[i][j] = (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) {draw.one('/ 4', '* 3', '/ 5 + a[i][j]')};\n\treturn (uint64_t)(int64_t)b[1][1] + seed;\n")


def allocation(draw):
    keep = draw.number(2, 64)
    return (f"static void *{draw.name}_kept[{keep}];\n",
            f"\tuint32_t x = (uint32_t)seed;\n\tfor (unsigned int i = 0; i < {draw.number(50, 500)}; i++) {{\n\t\tx = x * 69069u + 1;\n\t\tunsigned int at = (x >> 16) % {keep};\n\n"
            f"\t\tfree({draw.name}_kept[at]);\n\t\t{draw.name}_kept[at] = {draw.one('malloc(', 'malloc(', 'calloc(1, ')}(x >> 8) % {draw.number(16, 3000)} + 1);\n"
            f"\t\tif ({draw.name}_kept[at])\n\t\t\t*(char *){draw.name}_kept[at] = 1;\n\t}}\n\treturn x;\n")


def bits(draw):
    step = draw.one("sum += (unsigned)__builtin_popcountll(x)", "sum += (unsigned)__builtin_clzll(x | 1)", "sum += (unsigned)__builtin_ctzll(x | 4096)",
                    "sum += __builtin_bswap32((uint32_t)x)", "for (uint64_t y = x; y & 7; y >>= 1) sum++", "sum += (uint64_t)((unsigned __int128)x * seed >> 64)")
    return "", (f"\tuint64_t x = seed | 1, sum = 0;\n\tfor (unsigned int i = 0; i < {draw.number(100, 1500)}; i++) {{\n\t\tx ^= x << 13, x ^= x >> 7, x ^= x << 17;\n\t\t{step};\n\t}}\n\treturn sum;\n")


def sieve(draw):
    size = draw.number(200, 20000)
    return f"static uint8_t {draw.name}_s[{size}];\n", (f"\tunsigned int count = 0;\n\tmemset({draw.name}_s, 0, {size});\n\tfor (unsigned int i = 2; i < {size}; i++) {{\n\t\tif ({draw.name}_s[i])\n\t\t\tcontinue;\n\t\tcount++;\n"
            f"\t\tfor (unsigned int j = 2 * i; j < {size}; j += i)\n\t\t\t{draw.name}_s[j] = 1;\n\t}}\n\treturn count + seed;\n")


def binary_search(draw):
    kind, size = draw.of(WIDE + FLOATS), draw.number(16, 10000)
    return (f"static {kind} {draw.name}_v[{size}];\n",
            f"\tuint32_t x = (uint32_t)seed;\n\tuint64_t sum = 0;\n\tif (!{draw.name}_v[1])\n\t\tfor (unsigned int i = 0; i < {size}; i++)\n\t\t\t{draw.name}_v[i] = ({kind})(i * 3);\n"
            f"\tfor (unsigned int i = 0; i < {draw.number(50, 600)}; i++) {{\n\t\tunsigned int low = 0, high = {size};\n\n\t\tx = x * 1664525u + 1013904223u;\n"
            f"\t\twhile (low < high) {{\n\t\t\tunsigned int middle = (low + high) / 2;\n\n\t\t\tif ({draw.name}_v[middle] < ({kind})((x >> 8) % {3 * size}))\n\t\t\t\tlow = middle + 1;\n"
            f"\t\t\telse\n\t\t\t\thigh = middle;\n\t\t}}\n\t\tsum += low;\n\t}}\n\treturn sum;\n")


def mathematics(draw):
    call = draw.one("sin", "cos", "exp", "log", "tan", "atan", "cbrt", "sqrt", "floor", "round")
    suffix, kind = draw.one(("f", "float"), ("", "double"))
    return "", (f"\t{kind} sum = 0, x = ({kind})(seed % 100 + 1) / 50;\n\tfor (unsigned int i = 1; i < {draw.number(30, 400)}; i++) {{\n\t\tsum += {call}{suffix}(x);\n"
                f"\t\tx {draw.one('+=', '*=')} ({kind}){draw.one('1.01', '0.37', '1.3')};\n\t\tif (x > 50)\n\t\t\tx = ({kind})0.3;\n\t}}\n\treturn (uint64_t)(int64_t)(sum * 100);\n")


def parser(draw):
    size = draw.number(50, 3000)
    return (f"static char {draw.name}_t[{size}];\n",
            f"\tuint64_t sum = 0, value = 0;\n\tunsigned int state = 0;\n\tfor (unsigned int i = 0; i < {size}; i++)\n\t\t{draw.name}_t[i] = \"0123456789 +-,abc\\n\"[(i * i + i * {draw.odd(5)} + seed) % 18];\n"
            f"\tfor (unsigned int i = 0; i < {size}; i++) {{\n\t\tchar c = {draw.name}_t[i];\n\n\t\tif (c >= '0' && c <= '9') {{\n\t\t\tvalue = value * 10 + (unsigned)(c - '0');\n\t\t\tstate = 1;\n\t\t}} else if (c == ' ' || c == ',') {{\n"
            f"\t\t\tsum += state ? value : {draw.number(1, 9)};\n\t\t\tvalue = state = 0;\n\t\t}} else if (c == '-') {{\n\t\t\tsum -= value;\n\t\t}} else {{\n\t\t\tsum ^= (unsigned)c;\n\t\t}}\n\t}}\n\treturn sum;\n")


def digits(draw):
    kind = draw.of(WIDE)
    return "", (f"\tuint64_t sum = 0;\n\tfor ({kind} i = 1; i < {draw.number(50, 600)}; i++)\n\t\tfor ({kind} x = ({kind})(i * {draw.odd(20)}); x > 0; x /= {draw.one(10, 10, 7, 3, 16)})\n"
                f"\t\t\tsum += (uint64_t)(x % {draw.one(10, 10, 7, 3, 16)});\n\treturn sum + seed;\n")


def greatest_divisor(draw):
    kind = draw.of(WIDE)
    return "", (f"\tuint64_t sum = 0;\n\tfor (unsigned int i = 1; i < {draw.number(50, 500)}; i++) {{\n\t\t{kind} a = ({kind})(seed % 10007 + i * {draw.odd(9)}), b = ({kind})(i * {draw.odd(8)} + 1);\n\n"
                f"\t\twhile (b) {{\n\t\t\t{kind} rest = a % b;\n\n\t\t\ta = b;\n\t\t\tb = rest;\n\t\t}}\n\t\tsum += (uint64_t)a;\n\t}}\n\treturn sum;\n")


def store_forward(draw):
    return "", (f"\tunion {{ uint64_t all; uint32_t half[2]; uint8_t byte[8]; }} volatile u;\n\tuint64_t sum = 0;\n\tu.all = seed;\n\tfor (unsigned int i = 0; i < {draw.number(200, 2000)}; i++) {{\n"
                f"\t\t{draw.one('u.half[0] = i', 'u.byte[i & 7] = (uint8_t)i', 'u.all = sum')};\n\t\tsum += {draw.one('u.all', 'u.half[1]', 'u.byte[3]', 'u.half[0]')};\n\t}}\n\treturn sum;\n")


def long_jump(draw):
    return f"static jmp_buf {draw.name}_place;\nstatic void __attribute__((noinline)) {draw.name}_throw(int x)\n{{\n\tif (x & 1)\n\t\tlongjmp({draw.name}_place, x);\n}}\n", (
        f"\tvolatile uint64_t sum = 0;\n\tfor (volatile int i = 1; i < {draw.number(50, 300)}; i++) {{\n\t\tint got = setjmp({draw.name}_place);\n\n\t\tif (!got)\n\t\t\t{draw.name}_throw(i);\n"
        f"\t\tsum = sum + (uint64_t)got;\n\t}}\n\treturn sum + seed;\n")


def cxx_containers(draw):
    what = draw.one("map", "unordered", "vector", "string", "virtual", "exception", "sort")
    count = draw.number(50, 600)
    if what in ("map", "unordered"):
        kind = "std::map" if what == "map" else "std::unordered_map"
        return "", f"\t{kind}<{draw.one('int', 'uint64_t')}, {draw.one('int', 'double', 'std::string')}> m;\n\tfor (unsigned int i = 0; i < {count}; i++)\n\t\tm[(i * {draw.odd(12)} + seed) % {draw.number(10, 500)}] = {{}};\n\treturn m.size();\n"
    if what == "vector":
        return "", f"\tstd::vector<{draw.of(WIDE + FLOATS)}> v;\n\tfor (unsigned int i = 0; i < {count}; i++)\n\t\tv.push_back(i * 3 + seed % 5);\n\treturn (uint64_t)std::accumulate(v.begin(), v.end(), 0.0);\n"
    if what == "string":
        return "", f"\tstd::string s;\n\tfor (unsigned int i = 0; i < {count}; i++)\n\t\ts += std::to_string(i * seed % 1000) + \",\";\n\treturn s.size() + s.find(\"77\");\n"
    if what == "virtual":
        kinds = draw.number(2, 6)
        classes = f"struct {draw.name}_base {{ virtual uint64_t f(uint64_t x) = 0; virtual ~{draw.name}_base() = default; }};\n" + "".join(
            f"struct {draw.name}_c{i} final : {draw.name}_base {{ uint64_t n = {i}; uint64_t f(uint64_t x) override {{ return n += {integer_term(draw, ['x', 'n'], 2)}; }} }};\n" for i in range(kinds))
        return classes, ("\tstd::vector<std::unique_ptr<%s_base>> v;\n\tuint64_t x = seed;\n" % draw.name + "".join(f"\tv.emplace_back(new {draw.name}_c{i});\n" for i in range(kinds)) +
                         f"\tfor (unsigned int i = 0; i < {count * 3}; i++)\n\t\tx ^= v[{draw.one('i', 'x')} % {kinds}]->f(i);\n\treturn x;\n")
    if what == "exception":
        return f"static void __attribute__((noinline)) {draw.name}_throw(unsigned int i)\n{{\n\tif (i % {draw.number(3, 40)} == 0)\n\t\tthrow i;\n}}\n", (
            f"\tuint64_t sum = seed;\n\tfor (unsigned int i = 1; i < {count // 4 + 5}; i++) {{\n\t\ttry {{\n\t\t\t{draw.name}_throw(i);\n\t\t}} catch (unsigned int x) {{\n\t\t\tsum += x;\n\t\t}}\n\t}}\n\treturn sum;\n")
    return "", f"\tstd::vector<{draw.of(WIDE + FLOATS)}> v({count});\n\tuint32_t x = (uint32_t)seed;\n\tfor (auto &one : v)\n\t\tone = (x = x * 1664525u + 1013904223u) >> 9;\n\tstd::{draw.one('sort', 'stable_sort', 'make_heap')}(v.begin(), v.end());\n\treturn (uint64_t)(int64_t)v[{count // 2}];\n"


KERNELS = [integer_chain, integer_chain, integer_array, integer_array, float_chain, float_chain, float_stream, pointer_chase, hash_bytes,
           hash_table, sort_callback, sort_own, random_numbers, atomics, locks, strings, strings, numbers_as_text, output, recursion,
           indirect, interpreter, matrices, stencil, allocation, bits, sieve, binary_search, mathematics, parser, digits,
           greatest_divisor, store_forward, long_jump]


# ---- Programs --------------------------------------------------------------------------------------------------------


class Program:
    """A program drawn from a seed: its source, and the command that compiles it."""

    def __init__(self, seed):
        generator = random.Random(f"pesa {seed}")
        generator.sink = False
        self.seed = seed
        self.cxx = generator.random() < 0.25
        self.clang = generator.random() < 0.4 and not self.cxx
        self.vectors = self.clang and generator.random() < 0.5
        self.static = generator.random() < 0.6
        self.level = generator.choice(["-O0", "-O1", "-O2", "-O2", "-O3", "-Os"])
        kernels = KERNELS + [cxx_containers] * 25 if self.cxx else KERNELS
        self.kernels = [generator.choice(kernels) for _ in range(generator.choice([1, 1, 1, 2, 2, 3, 4, 6, 9]))]
        before, bodies, calls = [], [], []
        for i, kernel in enumerate(self.kernels):
            draw = Draw(generator, f"k{i}")
            above, body = kernel(draw)
            generator.sink |= kernel is output
            inline = generator.choice(["", "", "__attribute__((noinline)) "])
            before.append(above)
            bodies.append(f"static uint64_t {inline}k{i}(uint64_t seed)\n{{\n{body}}}\n\n")
            calls.append(f"\t\tx = x * 31 + k{i}(x % 4093 + 1);\n")
        flags = ["-march=rv64gcv"] if self.vectors else ["-march=rv64gc"] if self.clang else []
        self.flags = [self.level, "-w", "-fwrapv", *flags] + (["-static"] if self.static else [])
        self.source = (f"/* Program {seed}: {', '.join(kernel.__name__ for kernel in self.kernels)}; {' '.join(self.command('FILE', 'PROGRAM'))} */\n"
                       + HEAD + (HEAD_CXX if self.cxx else "") + "\n" + "".join(before) + "\n" + "".join(bodies) +
                       "int main(int argc, char **argv)\n{\n\tuint64_t x = 1;\n\tlong rounds = argc > 1 ? atol(argv[1]) : 1;\n\n"
                       "\tfor (long i = 0; i < rounds; i++) {\n" + "".join(calls) + "\t}\n\tprintf(\"%lu\\n\", (unsigned long)x);\n\treturn 0;\n}\n")

    def command(self, source, program):
        compiler = (["clang-22", "--target=riscv64-linux-gnu"] if self.clang else
                    ["riscv64-linux-gnu-g++"] if self.cxx else ["riscv64-linux-gnu-gcc"])
        return [*compiler, *self.flags, "-o", program, source, "-lm", "-lpthread"]

    def build(self, program):
        source = program + (".cc" if self.cxx else ".c")
        with open(source, "w", encoding="ascii") as file:
            file.write(self.source)
        subprocess.run(self.command(source, program), check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("-o", "--output", metavar="PROGRAM")
    arguments = parser.parse_args()
    drawn = Program(arguments.seed)
    if arguments.output:
        drawn.build(arguments.output)
    else:
        print(drawn.source, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
