#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The ten instructions of a perf.data file that take the most cycles, by libpesa.so and ctypes.

    hottest.py perf.data
"""
import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p


# The members that are read, in the order of the header; the library makes them all.
class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("system_error", c_int), ("message", c_char_p)]


class Instruction(ctypes.Structure):
    _fields_ = [("dso", c_uint32), ("address", c_uint64), ("weight", c_uint64)]


class Totals(ctypes.Structure):
    _fields_ = [("samples", c_uint64), ("plain_samples", c_uint64), ("skidding_samples", c_uint64),
                ("weight", c_uint64)]


class Symbol(ctypes.Structure):
    _fields_ = [("name", c_char_p)]


def function(name, result, *arguments):
    found = getattr(library, name)
    found.restype = result
    found.argtypes = arguments
    return found


library = ctypes.CDLL("libpesa.so.0")
error_free = function("pesa_error_free", None, POINTER(Error))
profile_load = function("pesa_profile_load", POINTER(Error), c_char_p, c_void_p, POINTER(c_void_p))
profile_free = function("pesa_profile_free", None, c_void_p)
profile_totals = function("pesa_profile_totals", POINTER(Totals), c_void_p)
instruction_count = function("pesa_profile_instruction_count", c_size_t, c_void_p)
profile_instruction = function("pesa_profile_instruction", POINTER(Instruction), c_void_p, c_size_t)
symbols_create = function("pesa_symbols_create", POINTER(Error), c_void_p, c_char_p, POINTER(c_void_p))
symbols_free = function("pesa_symbols_free", None, c_void_p)
symbols_find = function("pesa_symbols_find", POINTER(Error), c_void_p, c_uint32, c_uint64, POINTER(POINTER(Symbol)))


def check(error):
    """An error of the library becomes the program's."""
    if error:
        message = error.contents.message.decode()
        error_free(error)
        sys.exit(f"hottest.py: {message}")


profile = c_void_p()
symbols = c_void_p()
check(profile_load(sys.argv[1].encode() if sys.argv[1:] else b"perf.data", None, byref(profile)))
check(symbols_create(profile, None, byref(symbols)))
weight_of_all = profile_totals(profile).contents.weight
instructions = [profile_instruction(profile, i).contents for i in range(instruction_count(profile))]
for one in sorted(instructions, key=lambda one: -one.weight)[:10]:
    symbol = POINTER(Symbol)()
    check(symbols_find(symbols, one.dso, one.address, byref(symbol)))
    name = symbol.contents.name.decode() if symbol and symbol.contents.name else "-"
    print(f"{one.weight / weight_of_all:.6f} {one.address:x} {name}")
symbols_free(symbols)
profile_free(profile)
