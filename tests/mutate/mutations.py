# SPDX-License-Identifier: GPL-2.0-or-later
"""Small changes of C sources, each of which a test should detect.

The source is split into tokens.  It must be formatted with .clang-format: a binary operator has blanks on both sides,
which distinguishes `a * b` from `*b`.
"""
import bisect
import dataclasses
import re

TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b(?!\.))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^<>=!~?:;,.(){}\[\]])
""", re.VERBOSE | re.MULTILINE | re.DOTALL)

BINARY = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
    "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"],
    "&": ["|"], "|": ["&"], "^": ["&"], "<<": [">>"], ">>": ["<<"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "|=": ["&="], "&=": ["|="], "<<=": [">>="], ">>=": ["<<="],
}
ANYWHERE = {"++": ["--"], "--": ["++"], "!": [""], "~": [""]}
WORDS = {"true": ["false"], "false": ["true"]}
# Words at the start of statements that are not expressions.
KEYWORDS = set("if else for while do switch case default return goto break continue struct union enum static const "
               "typedef extern unsigned signed int char long short void float double bool sizeof".split())


@dataclasses.dataclass(frozen=True)
class Mutation:
    """Replaces text[start:end] of a file by `by`; `inside`: the name of the function, "" outside of functions."""
    file: str
    start: int
    end: int
    by: str
    line: int
    inside: str
    before: str
    after: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.inside or '-'}: {self.before}  =>  {self.after}"


class Source:
    """A C file as tokens: (kind, word, start, end)."""

    def __init__(self, name, text):
        self.name = name
        self.text = text
        self.tokens = [(match.lastgroup, match.group(), match.start(), match.end())
                       for match in TOKEN.finditer(text) if match.lastgroup != "comment"]
        self.lines = [0] + [match.end() for match in re.finditer("\n", text)]
        self.code = [token for token in self.tokens if token[0] != "directive"]
        self.partner = self.find_partners()
        self.functions = self.find_functions()

    def line_of(self, offset):
        return bisect.bisect_right(self.lines, offset)

    def find_partners(self):
        """{index: index} of matching parentheses, brackets and braces, in both directions."""
        partner, open_ones = {}, []
        for index, (kind, word, _, _) in enumerate(self.code):
            if kind != "operator":
                continue
            if word in "({[":
                open_ones.append(index)
            elif word in ")}]" and open_ones:
                opening = open_ones.pop()
                partner[opening], partner[index] = index, opening
        return partner

    def find_functions(self):
        """[(start offset, end offset, name)] of the bodies of all functions."""
        found, index = [], 0
        while index < len(self.code):
            if self.code[index][1] == "{" and index in self.partner:
                last = self.partner[index]
                if index and self.code[index - 1][1] == ")":
                    name = self.code[self.partner[index - 1] - 1][1]
                    found.append((self.code[index][2], self.code[last][3], name))
                index = last
            index += 1
        return found

    def inside(self, offset):
        for first, last, name in self.functions:
            if first <= offset < last:
                return name
        return ""

    def shown(self, start, end, text):
        """The lines that contain text[start:end], with `text` in its place, joined to one line."""
        first = self.text.rfind("\n", 0, start) + 1
        last = self.text.find("\n", end)
        return " ".join((self.text[first:start] + text + self.text[end:last if last >= 0 else None]).split())

    def mutation(self, start, end, by, shown_by=None):
        old = self.text[start:end]
        by += "\n" * (old.count("\n") - by.count("\n"))  # keep the numbers of the following lines
        return Mutation(self.name, start, end, by, self.line_of(start), self.inside(start),
                        self.shown(start, end, old), self.shown(start, end, by if shown_by is None else shown_by))

    def is_binary(self, token):
        around = self.text[token[2] - 1:token[2]], self.text[token[3]:token[3] + 1]
        return all(space.isspace() for space in around)

    def of_tokens(self):
        for kind, word, start, end in self.tokens:
            if kind == "number":
                number = int(re.sub("[uUlL]+$", "", word), 16 if word[:2] in ("0x", "0X") else 10)
                suffix = re.search("[uUlL]*$", word).group()
                for other in {0: [1], 1: [0, 2]}.get(number, [number - 1, number + 1]):
                    yield self.mutation(start, end, f"{other}{suffix}")
            elif kind == "operator" and word in BINARY and self.is_binary((kind, word, start, end)):
                for other in BINARY[word]:
                    yield self.mutation(start, end, other)
            elif kind == "operator" and word in ANYWHERE:
                for other in ANYWHERE[word]:
                    yield self.mutation(start, end, other)
            elif kind == "name" and word in WORDS:
                for other in WORDS[word]:
                    yield self.mutation(start, end, other)
            elif kind == "directive":
                value = re.match(r"(\s*#\s*define\s+\w+\s+)((?:UINT64_C\()?)(\d+)", word)
                if value:
                    at = start + value.start(3)
                    yield self.mutation(at, at + len(value[3]), str(int(value[3]) + 1))

    def of_conditions(self):
        """Make the condition of an `if` always true or always false, and that of a `while` always false."""
        for index, (kind, word, _, _) in enumerate(self.code[:-1]):
            if kind == "name" and word in ("if", "while") and self.code[index + 1][1] == "(":
                closing = self.partner.get(index + 1)
                if closing is None:
                    continue
                start, end = self.code[index + 1][3], self.code[closing][2]
                for value in ("false", "true") if word == "if" else ("false",):
                    if self.text[start:end] != value:
                        yield self.mutation(start, end, value)

    def of_statements(self):
        """Remove expression statements, `break`, `continue`, and `return` without a value."""
        for index, (kind, word, start, _) in enumerate(self.code):
            if kind != "name" or not self.inside(start) or not self.begins_statement(index):
                continue
            if word in KEYWORDS and word not in ("break", "continue", "return"):
                continue
            end = index
            while end < len(self.code) and self.code[end][1] not in (";", "{", "}"):
                end = self.partner.get(end, end) + 1 if self.code[end][1] in "([" else end + 1
            if end >= len(self.code) or self.code[end][1] != ";":
                continue
            words = [token[1] for token in self.code[index:end]]
            if words[0] == "return" and len(words) > 1:
                continue
            # A declaration: two names, or a name and stars and a name.
            if len(words) > 1 and re.match(r"\w+ (\* )*[A-Za-z_]", " ".join(words)):
                continue
            yield self.mutation(start, self.code[end][3], ";", "/* deleted */;")

    def begins_statement(self, index):
        before = self.code[index - 1][1]
        if before in (";", "{", "}", "else", "do"):
            return not self.in_parentheses(index)
        if before == ":":
            return not self.in_parentheses(index) and self.code[index - 2][1] != "?" and \
                "?" not in [token[1] for token in self.code[max(index - 12, 0):index]]
        if before == ")":
            opening = self.partner.get(index - 1)
            return opening is not None and self.code[opening - 1][1] in ("if", "for", "while", "switch")
        return False

    def in_parentheses(self, index):
        """Return whether the preceding tokens belong to the head of a `for`."""
        depth = 0
        for _, word, _, _ in reversed(self.code[max(index - 60, 0):index]):
            if word == ")":
                depth += 1
            elif word == "(":
                if not depth:
                    return True
                depth -= 1
            elif word in "{}" and not depth:
                return False
        return False

    def mutations(self):
        found = [*self.of_tokens(), *self.of_conditions(), *self.of_statements()]
        return sorted(set(found), key=lambda mutation: (mutation.start, mutation.end, mutation.by))


def of_file(name, text):
    """All mutations of a C file, in the order of its text."""
    return Source(name, text).mutations()
