#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generates decoder/riscv/generated/tables_*.c from LLVM's TableGen records of the RISC-V target.

Usage: tools/gen/instructions.py RECORDS.json[.xz] [DIRECTORY]

Documentation/instruction-tables.md says how to make the records and what the tables hold.
"""
import os
import re
import sys

import tablegen
from tablegen import name_of, names_of, number

LLVM_VERSION = '22'

CLASSES_MAX = 31  # RISCV_CLASS_NONE in decoder/riscv/tables.h
FEATURES_MAX = 5 * 64  # RISCV_FEATURE_WORDS in decoder/riscv/isa.h

# The order in which LLVM's disassembler asks its decoder tables, most specific first.
TABLE_ORDER = [
    'XCV', 'XRivos', 'Xqci', 'XVentana', 'XTHead', 'XSfvector', 'XSfsystem', 'XSfcease', 'XMIPS',
    'XAndes', 'XSMT', 'Xqccmp', 'Xwchc', 'Zicfiss', '', 'RV32Only', 'Zfinx', 'ZdinxRV32Only',
    'ZdinxGPRPairRV32', 'ZcOverlap',
]

# Register classes whose field holds the register's number less 8, or its rank in the class.
FIELD_LESS_8 = {'GPRC', 'FPR32C', 'FPR64C', 'GPRPairC'}
FIELD_RANK = {'SR07'}

REGISTER_NONE = 255
REGISTER_INVALID = 254
SPECIAL_REGISTERS = {
    'FFLAGS': 'PESA_REGISTER_FFLAGS', 'FRM': 'PESA_REGISTER_FRM', 'VL': 'PESA_REGISTER_VL',
    'VTYPE': 'PESA_REGISTER_VTYPE', 'VXRM': 'PESA_REGISTER_VXRM', 'VXSAT': 'PESA_REGISTER_VXSAT',
    'VLENB': 'PESA_REGISTER_VLENB', 'SSP': 'PESA_REGISTER_SSP',
}
REGISTER_FILES = {'X': 0, 'F': 32, 'V': 64, 'T': 104}

# Instructions whose kind no flag of the records tells.
TRAPS = {'ECALL', 'EBREAK', 'C_EBREAK', 'UNIMP', 'C_UNIMP', 'MRET', 'SRET', 'MNRET', 'DRET',
         'QC_C_MRET', 'QC_C_MNRET', 'QC_C_MILEAVERET'}
JUMP_AND_LINK = {'JAL', 'JALR', 'C_JAL', 'C_JALR', 'CM_JALT', 'QC_E_JAL'}
INDIRECT = {'JALR', 'C_JALR', 'C_JR', 'CM_JT', 'CM_JALT', 'CM_POPRET', 'CM_POPRETZ',
            'QC_CM_POPRET', 'QC_CM_POPRETZ'}
FENCES = re.compile(r'(s|h)?fence|(s|h)inval|th\.(sync|sfence)|qc\.(c\.)?sync|mips\.(ehb|ihb)')


class Tables:
    """Collects unique rows; an index is a row's place."""

    def __init__(self):
        self.rows = []
        self.index = {}

    def add(self, row):
        if row not in self.index:
            self.index[row] = len(self.rows)
            self.rows.append(row)
        return self.index[row]


class Generator:
    def __init__(self, records):
        self.records = records
        self.instances = records['!instanceof']
        self.experimental = {
            name for name in self.instances['RISCVExtension'] if records[name]['Experimental']}
        self.features = sorted(
            (records[name]['Name'], name) for name in self.instances['RISCVExtension']
            if name not in self.experimental)
        if len(self.features) > FEATURES_MAX:
            sys.exit(f'{len(self.features)} extensions: make RISCV_FEATURE_WORDS larger')
        self.conditions = Tables()
        self.conditions.add('')
        self.classes = Tables()
        self.types = Tables()
        self.operand_lists = []
        self.operand_index = {}
        self.segments = [(0, 0, 0)]
        self.segment_index = {(): 0}
        self.formats = Tables()
        self.scatters = Tables()
        self.scatters.add((0, ((0, 0, 0),) * 3))
        self.register_lists = Tables()
        self.register_lists.add(())
        self.opcodes = {}

    # ---- Conditions ------------------------------------------------------------------------

    def literal(self, dag_or_def):
        """'name', '!name', or None for an experimental feature (never there)."""
        name = name_of(dag_or_def)
        if name is not None:
            if name in self.experimental:
                return None
            return self.records[name]['Name']
        if name_of(dag_or_def['operator']) != 'not':
            sys.exit(f'predicate not understood: {dag_or_def["printable"]}')
        inner = self.literal(dag_or_def['args'][0][0])
        return None if inner is None else '!' + inner

    def condition(self, predicates):
        """The index of the condition that all predicates hold, or None if none can."""
        clauses = []
        for name in names_of(predicates):
            dag = self.records[name].get('AssemblerCondDag')
            if not dag:
                continue
            literals = [(value, self.literal(value)) for value, _ in dag['args']]
            if name_of(dag['operator']) == 'any_of':
                known = [text for _, text in literals if text is not None]
                if not known:
                    return None
                clauses.append('|'.join(sorted(known)))
                continue
            for value, text in literals:
                if text is not None:
                    clauses.append(text)
                elif name_of(value) is not None:
                    return None
        return self.conditions.add(' '.join(sorted(set(clauses))))

    # ---- Registers -------------------------------------------------------------------------

    def members(self, dag):
        """The names of the registers in a MemberList."""
        operator = name_of(dag['operator'])
        values = [value for value, _ in dag['args']]
        if operator == 'sequence':
            step = values[3] if len(values) > 3 else 1
            first, last = values[1], values[2]
            numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
            return [values[0].replace('%u', str(n)) for n in numbers]
        sets = []
        for value in values:
            name = name_of(value)
            if name is None:
                sets.append(self.members(value) if isinstance(value, dict) else value)
            elif 'MemberList' in self.records.get(name, {}):
                sets.append(self.members(self.records[name]['MemberList']))
            else:
                sets.append([name])
        if operator == 'add':
            return [name for names in sets for name in names]
        if operator == 'sub':
            return [name for name in sets[0] if not any(name in other for other in sets[1:])]
        if operator == 'decimate':
            return sets[0][::sets[1]]
        if operator == 'trunc':
            return sets[0][:sets[1]]
        sys.exit(f'register list not understood: {dag["printable"]}')

    @staticmethod
    def register(name):
        """(number in include/pesa/riscv.h, registers that it spans)."""
        match = re.fullmatch(r'([XFVT])(\d+)(_[A-Z]|_X\d+|_Pair|M\d)?', name)
        if not match:
            return None
        suffix = match[3] or ''
        spans = 2 if '_X' in suffix or suffix == '_Pair' else int(suffix[1:]) if suffix[:1] == 'M' else 1
        return REGISTER_FILES[match[1]] + int(match[2]), spans

    def register_class(self, name, mask_operand=False):
        numbers = [self.register(member) for member in
                   self.members(self.records[name]['MemberList'])]
        if None in numbers:
            sys.exit(f'register class {name} has registers that are not understood')
        base = REGISTER_FILES['X' if numbers[0][0] < 32 else 'F' if numbers[0][0] < 64 else
                              'V' if numbers[0][0] < 96 else 'T']
        values = sorted(n - base for n, _ in numbers)
        places = [REGISTER_INVALID] * 32
        if mask_operand:
            places[0], places[1] = base, REGISTER_NONE
        elif len(values) == 1:
            places[0] = base + values[0]
        else:
            for rank, value in enumerate(values):
                field = value - 8 if name in FIELD_LESS_8 else rank if name in FIELD_RANK else value
                places[field] = base + value
        title = name + ('_mask' if mask_operand else '')
        # RVE has no x16..x31, but LLVM does not look at pairs and at the classes of Zcmp.
        limited = base == 0 and not name.startswith('GPRPair') and name not in FIELD_RANK
        return self.classes.add((title, max(spans for _, spans in numbers), limited, tuple(places)))

    # ---- Operands --------------------------------------------------------------------------

    METHODS = [
        (r'decodeUImmOperand<(\d+)>', 'UNSIGNED', 0),
        (r'decodeUImmNonZeroOperand<(\d+)>', 'UNSIGNED', 1),
        (r'decodeUImmOperandGE<(\d+), *(\d+)>', 'UNSIGNED', None),
        (r'decodeUImmPlus1Operand<(\d+)>', 'PLUS_ONE', 0),
        (r'decodeUImmPlus1OperandGE<(\d+), *(\d+)>', 'PLUS_ONE', None),
        (r'decodeSImmOperand<(\d+)>', 'SIGNED', 0),
        (r'decodeSImmNonZeroOperand<(\d+)>', 'SIGNED', 1),
        (r'decodeSImmOperandAndLslN<(\d+), *(\d+)>', 'SIGNED', 0),
        (r'decodeUImmLog2XLenOperand', 'SHIFT_AMOUNT', 0),
        (r'decodeUImmLog2XLenNonZeroOperand', 'SHIFT_AMOUNT', 1),
        (r'decodeCLUIImmOperand', 'C_LUI', 1),
        (r'decodeFRMArg', 'ROUNDING_MODE', 0),
        (r'decodeRTZArg', 'ROUND_TO_ZERO', 0),
        (r'decodeUImmSlistOperand', 'STORE_LIST', 0),
        (r'decodeZcmpRlist', 'REGISTER_LIST', 4),
        (r'decodeXqccmpRlistS0', 'REGISTER_LIST', 5),
        (r'decodeImmThreeOperand', 'CONSTANT', 3),
        (r'decodeImmFourOperand', 'CONSTANT', 4),
        (r'', 'UNSIGNED', 0),
    ]

    PRINTERS = {
        'printOperand': 'PLAIN', 'printBranchOperand': 'PLAIN', 'printZeroOffsetMemOp': 'MEMORY',
        'printVMaskReg': 'MASK', 'printFRMArg': 'ROUNDING_MODE',
        'printFRMArgLegacy': 'ROUNDING_MODE_LEGACY', 'printFenceArg': 'FENCE',
        'printCSRSystemRegister': 'CSR', 'printVTypeI': 'VTYPE', 'printFPImmOperand': 'FLOAT',
        'printRegList': 'REGISTER_LIST', 'printStackAdj': 'STACK', 'printNegStackAdj': 'STACK_NEGATIVE',
        'printRegReg': 'REGISTER_OFFSET',
    }

    def operand_type(self, name, printer=None):
        """(index of the type, whether it is a register)."""
        record = self.records[name]
        printer = printer or record.get('PrintMethod') or 'printOperand'
        if printer not in self.PRINTERS:
            sys.exit(f'operand {name}: print method {printer} not understood')
        printer = self.PRINTERS[printer]
        if 'MemberList' in record or 'RegClass' in record:
            register_class = name if 'MemberList' in record else name_of(record['RegClass'])
            index = self.register_class(register_class, record.get('DecoderMethod') == 'decodeVMaskReg')
            return self.types.add((name, 'REGISTER', index, 0, 0, printer)), True
        for pattern, method, minimum in self.METHODS:
            match = re.fullmatch(pattern, record['DecoderMethod'])
            if not match:
                continue
            shift = 0
            if minimum is None:
                minimum = int(match[2])
            elif method == 'SIGNED' and len(match.groups()) == 2:
                shift = int(match[2])
            width = int(match[1]) if match.groups() else 0
            if record['OperandType'] == 'OPERAND_PCREL':
                method = 'TARGET'
            return self.types.add((name, method, width, shift, minimum, printer)), False
        sys.exit(f'operand {name}: decoder method {record["DecoderMethod"]} not understood')

    def machine_operands(self, record):
        """[(operand record, name, printer or None)], outputs first; the number of outputs."""
        result = []
        outputs = None
        for field in ('OutOperandList', 'InOperandList'):
            for value, name in record[field]['args']:
                definition = name_of(value)
                if definition is not None:
                    result.append((definition, name, None, name))
                    continue
                operand = self.records[name_of(value['operator'])]
                parts = operand['MIOperandInfo']['args']
                for place, ((part, _), (_, field_name)) in enumerate(zip(parts, value['args'])):
                    result.append((name_of(part), field_name,
                                   operand['PrintMethod'] if place == 0 else None,
                                   name if place == 0 else None))
            if outputs is None:
                outputs = len(result)
        return result, outputs

    def fields(self, record):
        """By variable: its bits as segments (place in the encoding, width, place in the value)."""
        places = {}
        for place, bit in enumerate(record['Inst']):
            if isinstance(bit, dict):
                places.setdefault(bit['var'], []).append((place, bit.get('index', 0)))
        result = {}
        for variable, bits in places.items():
            segments = []
            for place, index in sorted(bits):
                if segments:
                    start, width, low = segments[-1]
                    if start + width == place and low + width == index:
                        segments[-1] = (start, width + 1, low)
                        continue
                segments.append((place, 1, index))
            result[variable] = tuple(segments)
        return result

    def operands(self, name, record):
        """(index of the first operand in the table, operands, outputs, names to operand numbers)."""
        operands, outputs = self.machine_operands(record)
        fields = self.fields(record)
        ties = {}
        for left, right in re.findall(r'\$(\w+) *= *\$(\w+)', record['Constraints']):
            ties[left], ties[right] = right, left
        rows = []
        numbers = {}
        for place, (definition, variable, printer, printed) in enumerate(operands):
            numbers[printed] = place
            kind, _ = self.operand_type(definition, printer)
            segments = fields.get(variable) or fields.get(ties.get(variable))
            tied = REGISTER_NONE
            if variable in ties:
                tied = [entry[1] for entry in operands].index(ties[variable])
            if segments is None:
                if self.types.rows[kind][1] not in ('REGISTER', 'CONSTANT'):
                    sys.exit(f'{name}: operand {variable} has no encoding')
                segments = ((0, 0, 0),)
            first, more = segments[0], segments[1:]
            if more not in self.segment_index:
                self.segment_index[more] = len(self.segments)
                self.segments.extend(more)
            rows.append((kind,) + first + (len(more), self.segment_index[more], tied, place < outputs))
        key = tuple(rows)
        if key not in self.operand_index:
            self.operand_index[key] = len(self.operand_lists)
            self.operand_lists.extend(rows)
        return self.operand_index[key], len(rows), outputs, numbers

    def scatter(self, first, count):
        """The index of the second and further segments of the only operand that has some; 255 if the
        operands do not fit this scheme."""
        rows = self.operand_lists[first:first + count]
        if any(VALID.get(self.types.rows[row[0]][1]) is None for row in rows):
            return 255
        scattered = [place for place, row in enumerate(rows) if row[4]]
        if not scattered:
            return 0
        place = scattered[0]
        more, start = rows[place][4:6]
        if len(scattered) > 1 or more > 3 or place > 2:
            return 255
        parts = self.segments[start:start + more] + [(0, 0, 0)] * (3 - more)
        return self.scatters.add((place, tuple(parts)))

    def is_checked(self, first, count):
        """Whether not all bits are allowed in an immediate."""
        kinds = [self.types.rows[row[0]] for row in self.operand_lists[first:first + count]]
        return any(VALID.get(kind[1]) != 'ANY' or kind[1] != 'REGISTER' and kind[4] for kind in kinds)

    @staticmethod
    def split_assembly(text):
        parts = re.split(r'[\t ]', text, maxsplit=1)
        return parts[0], parts[1] if len(parts) > 1 else ''

    @staticmethod
    def format(text, numbers, what):
        def place(match):
            variable = match[1] or match[2]
            if variable not in numbers:
                sys.exit(f'{what}: "{text}" names {variable}, which is no operand')
            return f'%{numbers[variable]}'
        return re.sub(r'\$(?:\{(\w+)\}|(\w+))', place, text)

    def implicit(self, values):
        result = []
        for name in names_of(values):
            number_ = self.register(name)
            result.append(str(number_[0]) if number_ else SPECIAL_REGISTERS[name])
        return self.register_lists.add(tuple(result))

    def properties(self, name, record, mnemonic, first, count):
        kinds = [self.types.rows[row[0]] for row in self.operand_lists[first:first + count]]
        classes = {self.classes.rows[kind[2]][0] for kind in kinds if kind[1] == 'REGISTER'}
        word = number(record['Inst'])
        size = record['Size']
        major = word & 0x7f if size == 4 else 0
        flags = []
        direct = any(kind[1] == 'TARGET' for kind in kinds)
        call = name in JUMP_AND_LINK or record['isCall']
        trap = name in TRAPS
        if record['mayLoad']:
            flags.append('LOAD')
        if record['mayStore']:
            flags.append('STORE')
        jump = direct or name in INDIRECT
        if jump and not call:
            flags.append('BRANCH')
        if direct and not call and not record['isBarrier'] and name != 'QC_E_J':
            flags.append('CONDITIONAL')
        if name in INDIRECT:
            flags.append('INDIRECT')
        if call:
            flags.append('CALL')
        if record['isReturn']:
            flags.append('RETURN')
        if record['isTerminator']:
            flags.append('TERMINATOR')
        if record['isBarrier']:
            flags.append('BARRIER')
        if record['hasSideEffects']:
            flags.append('SIDE_EFFECTS')
        if major == 0x2f:
            flags.append('ATOMIC')
        if FENCES.match(mnemonic):
            flags.append('FENCE')
        if trap or major == 0x73 and (word >> 12 & 7) == 0:
            flags.append('SYSTEM')
        if any(kind[5] == 'CSR' for kind in kinds) or mnemonic.startswith('qc.csrrw'):
            flags.append('CSR')
        if any(title.startswith(('VR', 'VMV0')) for title in classes) or major == 0x57:
            flags.append('VECTOR')
        if size == 2:
            flags.append('COMPRESSED')
        if trap:
            flags.append('TRAP')
        if any(title.startswith('FPR') for title in classes):
            flags.append('FLOAT')
        return tuple(flags)

    def constraint(self, record):
        """RISCV_APART_* of decoder/riscv/tables.h: what LLVM keeps apart from the destination."""
        name = name_of(record.get('RVVConstraint'))
        return number(self.records[name]['Value']) if name else 0

    def instructions(self):
        for name in tablegen.encodable_instructions(self.records):
            record = self.records[name]
            condition = self.condition(record['Predicates'])
            if condition is None:
                continue
            if record['DecoderNamespace'] not in TABLE_ORDER:
                sys.exit(f'{name}: decoder table {record["DecoderNamespace"]} has no place in the order')
            mnemonic, rest = self.split_assembly(record['AsmString'])
            first, count, outputs, numbers = self.operands(name, record)
            self.opcodes[name] = {
                'id': len(self.opcodes), 'mnemonic': mnemonic,
                'format': self.formats.add(self.format(rest, numbers, name)),
                'match': number(record['Inst']),
                'mask': sum(1 << place for place, bit in enumerate(record['Inst']) if bit in (0, 1)),
                'table': TABLE_ORDER.index(record['DecoderNamespace']), 'condition': condition,
                'first': first, 'count': count, 'outputs': outputs,
                'checked': int(self.is_checked(first, count)), 'scatter': self.scatter(first, count),
                'defs': self.implicit(record['Defs']), 'uses': self.implicit(record['Uses']),
                'properties': self.properties(name, record, mnemonic, first, count),
                'size': record['Size'], 'record': record, 'constraint': self.constraint(record),
            }

    # ---- Aliases and compressed forms --------------------------------------------------------

    def in_order(self, class_name):
        """The records of a class in the order of their definition."""
        def key(name):
            match = re.fullmatch(r'anonymous_(\d+)', name)
            if not match:
                sys.exit(f'{class_name} {name}: has a name, so its place in the order is not known')
            return int(match[1])
        return [self.records[name] for name in sorted(self.instances[class_name], key=key)]

    def places(self, opcode, values):
        """The operand number of every argument of a dag: those tied to an output may be left out."""
        rows = self.operand_lists[opcode['first']:opcode['first'] + opcode['count']]
        everything = list(range(len(rows)))
        untied = [place for place in everything
                  if place < opcode['outputs'] or rows[place][6] >= opcode['outputs']]
        for result in (everything, untied):
            if len(result) == len(values):
                return result
        sys.exit(f'{opcode["mnemonic"]}: a pattern has {len(values)} operands')

    def row_type(self, opcode, place):
        return self.operand_lists[opcode['first'] + place][0]

    def is_mask(self, opcode, place):
        register_class = self.types.rows[self.row_type(opcode, place)][2]
        return self.classes.rows[register_class][0].endswith('_mask')

    def matches(self, opcode, arguments, where):
        """Conditions on the operands, and the operand number of every named argument."""
        result = []
        numbers = {}
        for place, (value, name) in zip(self.places(opcode, arguments), arguments):
            definition = name_of(value)
            if isinstance(value, dict) and value.get('kind') == 'dag':
                sys.exit(f'{where}: {value["printable"]} not understood')
            if definition is None:
                constant = value if isinstance(value, int) else number(value)
                result.append((place, 'NUMBER', constant))
                continue
            if definition == 'zero_reg':
                result.append((place, 'NUMBER', REGISTER_NONE))
                continue
            if 'MemberList' not in self.records[definition] and self.register(definition):
                result.append((place, 'NUMBER', self.register(definition)[0]))
                continue
            if name in numbers:
                result.append((place, 'SAME', numbers[name]))
            else:
                numbers[name] = place
            record = self.records[definition]
            predicate = record.get('MCOperandPredicate')
            if predicate and 'evaluateAsConstantImm' not in predicate:
                return None, None  # holds for symbols only
            if record.get('PrintMethod') == 'printXSfmmVType':
                result.append((place, 'WIDENING_VTYPE', 0))
                continue
            kind, is_register = self.operand_type(definition)
            own = self.row_type(opcode, place)
            if is_register:
                ours = self.types.rows[own][2]
                theirs = self.types.rows[kind][2]
                if self.classes.rows[ours][0].endswith('_mask'):
                    theirs = self.register_class(name_of(record['RegClass']))
                if ours != theirs and (numbers.get(name), 'CLASS', theirs) not in result:
                    result.append((place, 'CLASS', theirs))
            elif kind != own:
                result.append((place, 'TYPE', kind))
        return result, numbers

    def aliases(self, printed):
        """(opcode name, priority, condition, mnemonic, format, matches), best first for each opcode:
        those that are printed, or those that an assembler reads only."""
        result = []
        for record in self.in_order('InstAlias'):
            dag = record['ResultInst']
            name = name_of(dag['operator'])
            condition = self.condition(record['Predicates'])
            if (record['EmitPriority'] > 0) != printed or condition is None or name not in self.opcodes:
                continue
            opcode = self.opcodes[name]
            matches, numbers = self.matches(opcode, dag['args'], record['AsmString'])
            if matches is None:
                continue
            if not printed:  # a mask may be left out, which is no member of its class
                matches = [match for match in matches
                           if match[1] != 'CLASS' or not self.is_mask(opcode, match[0])]
            mnemonic, rest = self.split_assembly(record['AsmString'])
            text = self.format(rest, numbers, record['AsmString'])
            for place, kind, _ in matches:
                if kind == 'WIDENING_VTYPE':
                    text = text.replace(f'%{place}', f'%w{place}')
            result.append((opcode['id'], record['EmitPriority'], condition, mnemonic, text, matches))
        return sorted(result, key=lambda row: (row[0], -row[1]))

    def substitutions(self, what, by):
        """What an assembler (Input to Output) or a disassembler (Output to Input) puts in place of an
        instruction: (opcode, condition, matches, opcode in its place, its operands)."""
        result = []
        for record in self.in_order('CompressPat'):
            condition = self.condition(record['Predicates'])
            before, after = (name_of(record[side]['operator']) for side in (what, by))
            if record['isCompressOnly'] and what == 'Output' or condition is None:
                continue
            if before not in self.opcodes or after not in self.opcodes:
                continue
            matches, numbers = self.matches(self.opcodes[before], record[what]['args'], before)
            opcode = self.opcodes[after]
            sources = [None] * opcode['count']
            arguments = record[by]['args']
            for place, (value, name) in zip(self.places(opcode, arguments), arguments):
                definition = name_of(value)
                if name in numbers:
                    sources[place] = ('COPY', numbers[name])
                elif definition is not None:
                    sources[place] = ('REGISTER', self.register(definition)[0])
                else:
                    sources[place] = ('NUMBER', value)
            for place, source in enumerate(sources):
                if source is None:
                    tied = self.operand_lists[opcode['first'] + place][6]
                    sources[place] = sources[tied]
            result.append((self.opcodes[before]['id'], condition, matches, opcode['id'], sources))
        return sorted(result, key=lambda row: row[0])

    def csrs(self):
        """(number, condition, name) of every CSR name that LLVM prints, in its order of preference."""
        result = []
        for name in self.instances['SysReg']:
            record = self.records[name]
            if record['isAltName'] or record['isDeprecatedName']:
                continue
            needed = re.findall(r'RISCV::(\w+)', record['FeaturesRequired'])
            if any(feature in self.experimental for feature in needed):
                continue
            clauses = [self.records[feature]['Name'] for feature in needed]
            if record['isRV32Only']:
                clauses.append('!64bit')
            condition = self.conditions.add(' '.join(sorted(clauses)))
            result.append((number(record['Encoding']), condition, record['Name']))
        return sorted(result, key=lambda row: row[0])


HEADER = f'''/* SPDX-License-Identifier: GPL-2.0-or-later AND (Apache-2.0 WITH LLVM-exception) */
/*
 * Generated by tools/gen/instructions.py from the TableGen records of LLVM {LLVM_VERSION} (RISC-V target,
 * Apache-2.0 WITH LLVM-exception).  Do not edit: change the generator, see
 * Documentation/instruction-tables.md.
 */
#include "decoder/riscv/tables.h"

'''


def quote(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'


def emit(directory, name, blocks):
    path = os.path.join(directory, f'tables_{name}.c')
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(HEADER + '\n'.join(blocks))


def array(declaration, rows, terminator=None):
    lines = [f'const struct {declaration}[] = {{']
    lines += [f'\t{row},' for row in rows]
    if terminator:
        lines.append(f'\t{terminator},')
    return '\n'.join(lines + ['};', ''])


def numbered(rows):
    return [f'/* {place} */ {row}' for place, row in enumerate(rows)]


def count(name, value):
    return f'const unsigned int {name} = {value};\n'


VALID = {'REGISTER': 'ANY', 'UNSIGNED': 'ANY', 'SIGNED': 'ANY', 'TARGET': 'ANY',
         'SHIFT_AMOUNT': 'SHIFT_AMOUNT', 'ROUNDING_MODE': 'ROUNDING_MODE',
         'ROUND_TO_ZERO': 'ROUND_TO_ZERO'}
KINDS = {'REGISTER': 'REGISTER', 'TARGET': 'TARGET'}


def features(generator):
    records = generator.records
    rows = []
    for title, name in generator.features:
        record = records[name]
        implied = [records[other]['Name'] for other in names_of(record['Implies'])
                   if other not in generator.experimental]
        rows.append(f'{{ {quote(title)}, {record["MajorVersion"]}, {record["MinorVersion"]}, '
                    f'{quote(" ".join(implied))} }}')
    profiles = []
    for name in generator.instances['RISCVProfile']:
        record = records[name]
        if record['Experimental']:
            continue
        implied = names_of(record['Implies'])
        xlen = 64 if 'Feature64Bit' in implied else 32
        names = [records[other]['Name'] for other in implied
                 if other not in generator.experimental and other not in ('Feature32Bit', 'Feature64Bit')]
        profiles.append((record['Name'], f'{{ {quote(record["Name"])}, {xlen}, {quote(" ".join(names))} }}'))
    return [array('riscv_profile riscv_profiles', [row for _, row in sorted(profiles)]),
            count('riscv_profile_count', len(profiles)),
            array('riscv_feature riscv_features', rows), count('riscv_feature_count', len(rows)),
            'const char *const riscv_conditions[] = {\n' +
            ''.join(f'\t{row},\n' for row in numbered(map(quote, generator.conditions.rows))) + '};\n',
            count('riscv_condition_count', len(generator.conditions.rows))]


def operands(generator):
    classes = [f'{{ {quote(title)}, {spans}, {int(limited)}, {{ {", ".join(map(str, places))} }} }}'
               for title, spans, limited, places in generator.classes.rows]
    types = [f'{{ {quote(title)}, METHOD_{method}, PRINT_{printer}, {width}, {shift}, {minimum} }}'
             for title, method, width, shift, minimum, printer in generator.types.rows]
    rows = []
    for kind, place, width, low, more, first, _, output in generator.operand_lists:
        title, method, bits, shift, _, _ = generator.types.rows[kind]
        up = down = spans = 0
        register_class = 'NONE'
        valid = VALID.get(method, 'SPECIAL')
        if method == 'REGISTER':
            register_class = bits
            spans = generator.classes.rows[bits][1]
        elif method in ('SIGNED', 'TARGET'):
            up, down = 64 - bits + shift, 64 - bits
        rows.append(f'{{ {KINDS.get(method, "IMMEDIATE")}, {int(output)}, {spans or 1}, VALID_{valid}, '
                    f'{(1 << width) - 1:#x}, {place}, {low}, {up}, {down}, {more}, {first}, '
                    f'{register_class}, {kind} }} /* {title} */')
    segments = [f'{{ {place}, {width}, {low} }}' for place, width, low in generator.segments]
    lists = [f'{{ {len(row)}, {{ {", ".join(row) or 0} }} }}' for row in generator.register_lists.rows]
    if len(classes) > CLASSES_MAX:
        sys.exit(f'{len(classes)} register classes: make RISCV_CLASS_NONE larger')
    return [array('riscv_register_class riscv_register_classes', numbered(classes)),
            count('riscv_register_class_count', len(classes)),
            array('riscv_operand_type riscv_operand_types', numbered(types)),
            array('riscv_segment riscv_segments', numbered(segments)),
            '#define REGISTER PESA_OPERAND_REGISTER\n#define IMMEDIATE PESA_OPERAND_IMMEDIATE\n'
            '#define TARGET PESA_OPERAND_TARGET\n#define NONE RISCV_CLASS_NONE\n'
            '/* kind, output, registers, valid, mask, place, low, up, down, more, first, class, type */\n' +
            # The decoder always computes three operands: there must be something behind the last one.
            array('riscv_operand riscv_operands', numbered(rows + ['{ 0 }'] * 2)),
            array('riscv_scatter riscv_scatters', numbered(
                f'{{ {place}, {{ ' + ', '.join(
                    f'{{ {shift}, {low}, {(1 << width) - 1:#x} }}' for shift, width, low in parts) + ' } }'
                for place, parts in generator.scatters.rows)),
            array('riscv_register_list riscv_register_lists', numbered(lists)),
            'const char *const riscv_formats[] = {\n' +
            ''.join(f'\t{row},\n' for row in numbered(map(quote, generator.formats.rows))) + '};\n']


def opcodes(generator):
    rows = []
    for name, opcode in generator.opcodes.items():
        flags = ' | '.join(opcode['properties']) or '0'
        rows.append(
            f'{{ {{ "{name}", "{opcode["mnemonic"]}", {flags}, {opcode["size"]} }}, '
            f'{opcode["match"]:#x}, {opcode["mask"]:#x}, {opcode["table"]}, {opcode["condition"]}, '
            f'{opcode["first"]}, {opcode["count"]}, {opcode["outputs"]}, {opcode["format"]}, '
            f'{opcode["defs"]}, {opcode["uses"]}, {opcode["scatter"]}, {opcode["checked"]}, '
            f'{opcode["constraint"]} }}')
    flags = ['LOAD', 'STORE', 'BRANCH', 'CONDITIONAL', 'INDIRECT', 'CALL', 'RETURN', 'TERMINATOR',
             'BARRIER', 'SIDE_EFFECTS', 'ATOMIC', 'FENCE', 'SYSTEM', 'CSR', 'VECTOR', 'COMPRESSED',
             'TRAP', 'FLOAT']
    return [''.join(f'#define {flag} PESA_OPCODE_{flag}\n' for flag in flags),
            '/* name, mnemonic, properties, bytes, match, mask, decoder table, condition, first operand,\n'
            '   operands, outputs, format, implicit definitions, implicit uses, scatter, checked,\n   constraint */\n' +
            array('riscv_opcode riscv_opcodes', rows), count('riscv_opcode_count', len(rows))]


def csrs(generator):
    rows = [f'{{ {place:#x}, {condition}, {quote(name)} }}' for place, condition, name in generator.csrs()]
    return [array('riscv_csr riscv_csrs', rows), count('riscv_csr_count', len(rows))]


def matches(rows):
    if len(rows) > 4:
        sys.exit(f'too many conditions on the operands: {rows}')
    return '{ ' + (', '.join(f'{{ MATCH_{kind}, {place}, {value} }}' for place, kind, value in rows)
                   or '{ MATCH_END, 0, 0 }') + ' }'


def alias_rows(generator, rows):
    names = list(generator.opcodes)
    return [f'{{ {opcode}, {condition}, {quote(mnemonic)}, {quote(text)}, {matches(conditions)} }} '
            f'/* {names[opcode]} */'
            for opcode, _, condition, mnemonic, text, conditions in rows]


def substitution_rows(generator, rows):
    names = list(generator.opcodes)
    result = []
    for opcode, condition, conditions, other, sources in rows:
        operands = ', '.join(f'{{ SOURCE_{kind}, {value} }}' for kind, value in sources)
        result.append(f'{{ {opcode}, {other}, {condition}, {matches(conditions)}, '
                      f'{{ {operands or "{ SOURCE_NUMBER, 0 }"} }} }} '
                      f'/* {names[opcode]}: {names[other]} */')
    return result


def aliases(generator):
    rows = alias_rows(generator, generator.aliases(True))
    expansions = substitution_rows(generator, generator.substitutions('Output', 'Input'))
    return ['/* opcode, condition, mnemonic, format, conditions on operands */\n' +
            array('riscv_alias riscv_aliases', rows), count('riscv_alias_count', len(rows)),
            '/* opcode, opcode that it stands for, condition, conditions on operands, operands */\n' +
            array('riscv_substitution riscv_expansions', expansions),
            count('riscv_expansion_count', len(expansions))]


def assembly(generator):
    """What an assembler needs beyond the tables of the disassembler."""
    printed = generator.aliases(True)
    inputs = generator.aliases(False)
    compressions = substitution_rows(generator, generator.substitutions('Input', 'Output'))
    words = [(opcode['mnemonic'], 'OPCODE', opcode['id']) for opcode in generator.opcodes.values()]
    words += [(row[3], 'ALIAS', place) for place, row in enumerate(printed)]
    words += [(row[3], 'INPUT', place) for place, row in enumerate(inputs)]
    others = []
    for record in generator.in_order('MnemonicAlias'):
        condition = generator.condition(record['Predicates'])
        if condition is not None:
            others.append((record['FromMnemonic'], condition, record['ToMnemonic']))
    return ['/* opcode, condition, mnemonic, format, conditions on operands */\n' +
            array('riscv_alias riscv_input_aliases', alias_rows(generator, inputs)),
            '/* opcode, shorter opcode, condition, conditions on operands, operands */\n' +
            array('riscv_substitution riscv_compressions', compressions),
            count('riscv_compression_count', len(compressions)),
            '/* mnemonic, condition, mnemonic that it stands for */\n' +
            array('riscv_mnemonic_alias riscv_mnemonic_aliases',
                  [f'{{ {quote(name)}, {condition}, {quote(other)} }}'
                   for name, condition, other in others]),
            count('riscv_mnemonic_alias_count', len(others)),
            'const uint16_t riscv_mnemonics[] = {\n' +
            ''.join(f'\tMNEMONIC_{kind} | {place}, /* {name} */\n'
                    for name, kind, place in sorted(words)) + '};\n',
            count('riscv_mnemonic_count', len(words))]


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith('-'):
        sys.exit(__doc__.strip())
    directory = sys.argv[2] if len(sys.argv) == 3 else 'decoder/riscv/generated'
    generator = Generator(tablegen.load(sys.argv[1]))
    generator.instructions()
    emit(directory, 'csrs', csrs(generator))
    emit(directory, 'aliases', aliases(generator))
    emit(directory, 'assembly', assembly(generator))
    emit(directory, 'operands', operands(generator))
    emit(directory, 'opcodes', opcodes(generator))
    emit(directory, 'features', features(generator))


if __name__ == '__main__':
    main()
