# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads LLVM's TableGen records as llvm-tblgen -dump-json writes them (JSON, or xz-compressed JSON).

How to make the file: see Documentation/instruction-tables.md.
"""
import json
import lzma
import sys


def load(path):
    """The records: a dict by name, and in '!instanceof' the names of the records of every class."""
    opener = lzma.open if path.endswith('.xz') else open
    try:
        with opener(path, 'rt', encoding='utf-8') as stream:
            records = json.load(stream)
    except (OSError, ValueError, lzma.LZMAError) as error:
        sys.exit(f'{path}: {error}; it must be the output of llvm-tblgen -dump-json')
    if '!instanceof' not in records:
        sys.exit(f'{path}: no "!instanceof": not the output of llvm-tblgen -dump-json')
    return records


def name_of(value):
    """The name of the record that a field, a list element or a dag argument refers to, or None."""
    return value.get('def') if isinstance(value, dict) else None


def names_of(values):
    return [name_of(value) for value in values]


def arguments(dag):
    """The (value, name) pairs of a dag."""
    return [(value, name) for value, name in dag['args']]


def number(bits):
    """The value of a `bits<N>` field, least significant bit first; unset bits count as 0."""
    return sum(1 << index for index, bit in enumerate(bits) if bit == 1)


def encodable_instructions(records, namespace='RISCV'):
    """The names, sorted, of the instructions that have an encoding and that a disassembler knows."""
    result = []
    for name in records['!instanceof']['Instruction']:
        record = records[name]
        if record.get('Namespace') != namespace or record['isPseudo'] or record['isCodeGenOnly']:
            continue
        if 'Inst' in record and any(bit is not None for bit in record['Inst']):
            result.append(name)
    return sorted(result)
