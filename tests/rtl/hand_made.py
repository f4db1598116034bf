# SPDX-License-Identifier: GPL-2.0-or-later
"""Hand-made cycles for the sampling unit: what the specification and the decisions of Documentation/hardware.md say of each, by hand.

A cycle is what retires in it, oldest first, and after / what is behind:
  a b>t c+D c!   retire: b transfers control to t, c met D, c flushes the pipeline; - a slot in front that does not retire; a' is short
  /d /d* /d+I    d is the oldest in the reorder buffer: not done; done; it has met I so far
  ~x+D           flush in progress, by x, which did not retire; %x roll-back of the wrong path behind x
  ^ v @ =x       redirect; redirect due; rename blocked; x is the next to come, where the buffer is empty
  .              nothing
Causes: I instruction cache, T instruction TLB, M mispredict, D data cache, L data TLB, A alloc-blocked (bit 6), S bit 8.

The expected record of each cycle:
  R2:a>t@1!3+D   two retired from a on, a transfer to t behind the first, CAUSE D of the third; !3 alone: CAUSEOFFSET without CAUSE
  s:a f:a d:a    stalled, flushed, drained, on a; +D its causes
"""
import re

import vectors

BITS = {"I": 0, "T": 1, "M": 2, "D": 3, "L": 4, "A": 6, "S": 8}


def address(letter):
    return 0x1000 + 4 * (ord(letter) - ord("a"))


def causes(text):
    return sum(1 << BITS[letter] for letter in text)


def named(text):
    """Letter, causes and the rest of `a+D...`."""
    letter, _, cause = text.partition("+")
    return address(letter[0]), causes(cause)


def line(cycle):
    """A cycle as a line of the vector file."""
    front, _, behind = cycle.partition("/")
    flags = head_pc = head_cause = flush_pc = flush_cause = valid = 0
    slots = []
    words = front.split()
    if behind:
        head, *more = behind.split()
        words += ["/" + head] + more
    for word in words:
        if word == ".":
            continue
        if word[0] == "/":
            flags |= vectors.HEAD | (vectors.DONE if "*" in word else 0)
            head_pc, head_cause = named(word[1:].replace("*", ""))
        elif word[0] in "~%":
            flags |= vectors.FLUSH if word[0] == "~" else vectors.ROLLBACK
            flush_pc, flush_cause = named(word[1:])
        elif word[0] == "=":
            head_pc = address(word[1])
        elif word in "^v@":
            flags |= {"^": vectors.REDIRECT, "v": vectors.DUE, "@": vectors.BLOCKED}[word]
        else:
            match = re.fullmatch(r"(-?)([a-z])('?)(?:>([a-z]))?(!?)(?:\+([A-Z]+))?", word)
            if not match[1]:
                valid |= 1 << len(slots)
            slots.append((address(match[2]), bool(match[3]) | 2 * bool(match[4]) | 4 * bool(match[5]),
                          address(match[4]) if match[4] else 0xbad, causes(match[6] or "")))
    return " ".join("%x" % number for number in (1, flags, head_pc, head_cause, flush_pc, flush_cause, valid, len(slots))) \
        + "".join(" %x %x %x %x" % slot for slot in slots) + "\n"


def token(record, targets, short):
    pc, details, *bt = record

    def letter(value):
        whole, rest = divmod(value - 0x1000, 4)
        return (chr(ord("a") + whole) if 0 <= whole < 26 else hex(value)) + ("'" if rest == 2 and short else f"+{rest}" if rest else "")
    retired, state, transfers = details & 15, details >> 4 & 3, details >> 6 & 15
    offset, cause = details >> 18 & 15, details >> 22
    met = "".join(name for name, bit in BITS.items() if cause >> bit & 1)
    met = "+" + met if met else ""
    if state:
        wrong = "?" if retired or transfers or offset != bool(cause) else ""
        return "?sfd"[state] + ":" + letter(pc) + met + wrong
    jumps = "".join(f">{letter(bt[i]) if i < targets else ''}@{details >> (10 + 4 * i) & 15}" for i in range(min(transfers, 2)))
    return f"R{retired}:{letter(pc)}{jumps}" + (f">{transfers}" if transfers > 2 else "") + (f"!{offset}" if offset else "") + met


FOUR = {"Width": 4, "FrontCauses": "10'h43", "RefillCycles": 3, "MinimumBits": 0, "Depth": 8}
CASES = [
    (FOUR, [
        # Retirement and attribution
        ("one retires", "a/b*", "R1:a"),
        ("four retire: the width", "a b c d/e*", "R4:a"),
        ("a full cycle is not kept from more by what waits, but for its causes", "a b c d/e; e/f*", "R4:a R1:e"),
        ("slots in front do not retire", "-a -b c d/e*", "R2:c"),
        ("a slot in the middle does not", "a -b c/e*", "R2:a"),
        ("the same instruction twice in a cycle", "a>a a>a/a*", "R2:a>a@1>a@2"),
        # Transfers (decision 5)
        ("a transfer in the middle", "a b>t t u/v*", "R4:a>t@2"),
        ("a transfer of the last counts", "a b>t/t*", "R2:a>t@2"),
        ("two transfers", "a>t t u>c c/d*", "R4:a>t@1>c@3"),
        ("of three the first two are given", "a>t t>m m>c/c*", "R3:a>t@1>m@2>3"),
        ("of four likewise", "a>t t>m m>c c>x/x*", "R4:a>t@1>m@2>4"),
        ("a jump to the next address is one", "a>b b/c*", "R2:a>b@1"),
        # Who blocked (decision 4)
        ("the one behind is not done and met nothing", "a/b; b/c*", "R1:a!2 R1:b"),
        ("it met a miss, which is known when it leaves", "a/b; /b; b+D/c*", "R1:a!2+D s:b+D R1:b!1+D"),
        ("the blocker comes before those that retired", "a+D b/c; c+L/d*", "R2:a!3+L R1:c!1+L"),
        ("a blocker without events: the oldest that met one", "a b+D c+L/d; d/e*", "R3:a!2+D R1:d"),
        ("a done head does not block", "a/b*; b+D/c*", "R1:a R1:b!1+D"),
        ("an empty buffer: the one that arrives, with what it met before", "a; .; /b+I; b+ID/c*", "R1:a!2+I d:b+I s:b+ID R1:b!1+ID"),
        ("what it met before that nobody knows of yet does not count", "a; /b; b+D/c*", "R1:a s:b+D R1:b!1+D"),
        ("behind a flush nothing blocks", "a!+M ^; .; .; .; /b; b/c*", "R1:a!1+M f:a+M f:a+M d:b s:b R1:b"),
        ("behind a flush that is over, the one in the buffer does", "a!+M/b; b+D/c*", "R1:a!2+D R1:b!1+D"),
        ("one that retires behind the culprit ends the flush", "a!+M b; /c+I; c+I/d*", "R2:a!3+I s:c+I R1:c!1+I"),
        # Stalled
        ("stalled with all that it will have met", "/a+I; /a; a+IDS/b*", "s:a+IDS s:a+IDS R1:a!1+IDS"),
        ("stalled and done: held", "/a*; a/b*", "s:a R1:a"),
        ("stalled until it faults", "/a; ~a+L v; ~a+L; /h; h/i*", "s:a+L f:a+L f:a+L s:h R1:h"),
        # Drained
        ("drained on the one that arrives", ".; .; /a; a/b*", "d:a d:a s:a R1:a"),
        ("it arrives and retires in one cycle", ".; a+I/b*", "d:a+I R1:a!1+I"),
        ("causes behind the buffer are not of drained cycles", ".; a+TD/b*", "d:a+T R1:a!1+TD"),
        ("rename is blocked: a cause of the one that arrives", "@; @; /a; a/b*", "d:a+A d:a+A s:a R1:a"),
        ("rename was blocked in the last cycle", ".; @; a/b*", "d:a+A d:a+A R1:a"),
        ("rename blocked behind the head is no cause", "/a @; /a @; a; b/c*", "s:a s:a R1:a R1:b"),
        ("rename blocked behind what retires", "a @; b/c*", "R1:a!2+A R1:b"),
        # Flushed (decisions 1 and 2)
        ("flushed until the refill, then drained", "a!+M ^; .; .; .; .; /t+I; t+I/u*", "R1:a!1+M f:a+M f:a+M d:t+I d:t+I s:t+I R1:t!1+I"),
        ("redirected long before it retired: drained at once", "/a ^; /a; /a; a!+M; .; t/u*", "s:a+M s:a+M s:a+M R1:a!1+M d:t R1:t"),
        ("redirected two cycles before", "/a ^; a!+M; .; .; t/u*", "s:a+M R1:a!1+M f:a+M d:t R1:t"),
        ("a redirect that comes later", "a! v; .; .; ^; .; .; .; t/u*", "R1:a f:a f:a f:a f:a f:a d:t R1:t"),
        ("the youngest is the culprit", "a b!+S v; .; t/u*", "R2:a!2+S f:b+S R1:t"),
        ("an older culprit in the group is none", "a! b v; .; t/u*", "R2:a d:t R1:t"),
        ("an arrival ends the flush", "a! v; /b; b; .; c/d*", "R1:a s:b R1:b d:c R1:c"),
        ("a fault right behind what retires", "a/b*; ~b v; ~b; ~b ^; /h; h/i*", "R1:a f:b f:b f:b s:h R1:h"),
        ("a fault whose restart misses: drained", "/b; ~b ^; ~b; ~b; ~b; /h+I; h+I/i*", "s:b f:b f:b f:b d:h+I s:h+I R1:h!1+I"),
        ("a load is fetched again while older ones retire", "a/b* ~d v; b ~d; ~d; /d; d+D/e*", "R1:a R1:b f:d s:d+D R1:d!1+D"),
        ("an older one is stalled meanwhile", "/b ~d+D ^; b+L ~d+D; ~d+D; /d; d/e*", "s:b+L R1:b!1+L f:d+D s:d R1:d"),
        ("a roll-back holds a done head", "/a* %x+M; /a*; a/b*", "f:x+M s:a R1:a"),
        ("a head that is not done is no victim of it", "/a %x+M; a/b*", "s:a R1:a"),
        ("an interrupt is a transfer behind the last, and flushes", "a b>h! ^; .; h/i*", "R2:a>h@2 f:b R1:h"),
    ]),
    ({**FOUR, "RefillCycles": 0}, [
        ("without a refill a flush lasts until an arrival", "a!+M; .; .; .; .; t+I/u*", "R1:a!1+M f:a+M f:a+M f:a+M f:a+M R1:t!1+I"),
    ]),
    ({**FOUR, "AllocCause": 6, "Late": 0}, [
        ("at once: a stalled load has no miss yet", "/b; b+D/c*", "s:b R1:b!1+D"),
        ("at once: what is known of the head", "a/b+D; /b+D; b+D/c*", "R1:a!2+D s:b+D R1:b!1+D"),
        ("at once: the next PC, rename blocked", "=a @; a/b*", "d:a+A R1:a"),
    ]),
    ({**FOUR, "RowPc": 1, "Width": 8}, [
        ("a row: the first retires", "a b/c*", "R2:a"),
        ("a row, of which three retired before", "-a -b -c d e/f*", "R2:d"),
        ("16-bit instructions in front", "-a' -a' b c/d*", "R2:b"),
        ("one 16-bit instruction in front", "-a' b/c*", "R1:a'"),
        ("behind a transfer of the row", "-a -b>t t u/v*", "R2:t"),
        ("the culprit in a row", "-a b c!+M v; .; t/u*", "R2:b!2+M f:c+M R1:t"),
    ]),
    ({**FOUR, "Width": 8, "Targets": 1}, [
        ("one target: both offsets nevertheless", "a>t t u>c c d e f g/h*", "R8:a>t@1>@3"),
    ]),
    ({**FOUR, "Targets": 0}, [
        ("no target: both offsets nevertheless", "a>t t u>c c/d*", "R4:a>@1>@3"),
    ]),
    ({**FOUR, "Causes": 0}, [
        ("no causes: nothing waits for them", "a+D/b; /b; .; b+D/c*", "R1:a!2 s:b d:b R1:b"),
    ]),
    ({**FOUR, "Causes": 4, "FrontCauses": "10'h3"}, [
        ("four causes: the others are 0", "/b; b+DS/c*; c+S/d*", "s:b+D R1:b!1+D R1:c"),
    ]),
    ({**FOUR, "Xlen": 32, "Width": 1, "Compressed": 0}, [
        ("RV32, one instruction a cycle", "a>t!+M v; .; /t; t+D/u; .; u/v*", "R1:a>t@1!1+M f:a+M s:t+D R1:t!1+D d:u R1:u"),
    ]),
]
