# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, rpma-uv contributors

"""Prose and code of a header as mdoc(7)."""

import errno
import re
import textwrap

WIDTH = 78

# an argument's name behind one of these is an English word: "peer is NULL", but "the peer is gone"
NOT_A_NAME = set("a an another any each every first its last local next no one other own private "
                 "remote same second some such that the their these this those whose".split())

MARKED = re.compile(r"""
    (?P<type>(?:struct|enum)\ \w+)
  | (?P<page>[a-z]\w*)\((?P<section>[1-8])\)
  | (?P<call>[a-z]\w*)\(\)
  | (?P<name>\*?[A-Za-z_]\w*(?:->\w+)*(?:\[\])?\*?)
""", re.X)

SPACED = {"rdma_cm", "io_uring"}  # underscores that belong to a name of the world
FIELDS = {"status", "result", "detail"}  # of a future


class Words:
    """Which words of a page are names, and of what."""

    def __init__(self, pages, types, own=(), params=(), fields=()):
        self.pages = pages  # functions that have a page
        self.types = types
        self.own = own
        self.params = params
        self.fields = fields
        self.mentioned = set()  # pages, (name, section)

    def macro(self, match, before):
        """The macro and its arguments for a piece of a word, or None for plain text."""
        if match["type"]:
            return f"Vt {match[0]}"
        if match["page"]:
            self.mentioned.add((match["page"], int(match["section"])))
            return f"Xr {match['page']} {match['section']}"
        name = match["call"] or match["name"]
        root = re.match(r"\*?(\w+)", name)[1]
        if name in self.fields or (root in self.params and not match["call"]):
            of_another = before.endswith("'s") and before[:-2] not in self.params
            english = before in NOT_A_NAME or of_another
            macro = "Fa" if root in self.params else "Va"
            return None if english else f"{macro} {name}"
        if root in self.own:
            return f"Fn {root}"
        if root in self.pages:
            self.mentioned.add((root, 3))
            return f"Xr {root} 3"
        if match["call"]:
            return f"Fn {name}"
        if root in self.types:
            return f"Vt {name}"
        if name == "errno":
            return "Va errno"
        if re.match(r"(RPMA|UV)_E_?[A-Z]", name) or root in errno.errorcode.values():
            return f"Er {name}"
        if name == "NULL" or re.fullmatch(r"[A-Z][A-Z0-9]*_[A-Z0-9_*]+", name):
            return f"Dv {name}"
        if "->" in name or (re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)+", name) and name not in SPACED):
            return f"Va {name}"
        return None


def escape(text):
    """Text for an input line or an argument of a macro; NAMES OF STATES are not hyphenated."""
    return re.sub(r"\b(?=[A-Z]{4})", r"\\%", text.replace("\\", "\\e"))


def argument(text):
    """A plain piece of a word as one argument that is no macro and no delimiter."""
    text = escape(text)
    return "\\&" + text if re.fullmatch(r"[A-Z%][a-z0-9]|[.,:;()\[\]?!|]", text) else text


def word(text, before, words):
    """The input line of a word that has a name in it, or None."""
    pieces = []
    at = 0
    for match in MARKED.finditer(text):
        macro = words.macro(match, before)
        if macro:
            pieces += [(False, text[at:match.start()]), (True, macro)]
            at = match.end()
    if not pieces:
        return None
    pieces = [p for p in pieces + [(False, text[at:])] if p[1]]
    line = ""
    for number, (is_macro, piece) in enumerate(pieces):
        if is_macro:
            line += ("." if not line else " ") + piece
        elif number == 0 and set(piece) <= set("(["):
            # delimiters stand before the first argument, behind the macro's name
            name, _, rest = pieces[1][1].partition(" ")
            pieces[1] = (True, f"{name} {' '.join(piece)} {rest}")
        elif number == 0:
            line = f".No {argument(piece)} Ns"
        elif number == len(pieces) - 1 and set(piece) <= set(".,:;)]?!"):
            line += " " + " ".join(piece)
        else:
            last = number == len(pieces) - 1
            line += f" Ns {argument(piece)}" + ("" if last else " Ns")
    return line


def prose(text, words):
    """Input lines; a sentence starts on a line of its own."""
    lines = []
    plain = []

    def flush():
        for line in textwrap.wrap(" ".join(plain), WIDTH, break_long_words=False,
                                  break_on_hyphens=False):
            lines.append("\\&" + line if line[0] in ".'" else line)
        plain.clear()

    before = ""
    for item in re.findall(r"[(\[]*(?:struct|enum) \w\S*|\S+", text):
        line = word(item, before, words)
        if line:
            flush()
            lines.append(line)
        else:
            plain.append(escape(item))
            if re.search(r"[.?!][)\"]*$", item):
                flush()
        before = item.strip("([").lower()
    flush()
    return lines


def sentence(text, words):
    """With a capital letter, unless it starts with a name, and with a full stop."""
    first = re.match(r"([a-z]+)(?:'s)?(?=[\s,:;-]|$)", text)
    if first and not words.macro(MARKED.match(first[1]), ""):
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".:?!" else text + "."


def folded(line):
    """A line of code as lines that fit into a display, which is indented."""
    width = WIDTH - 4
    line = line.expandtabs(8)
    if len(line) <= width or line.lstrip().startswith("*"):
        return [line]
    indent, code, comment = re.fullmatch(r"( *)(.*?) *(/\*.*\*/)?", line).groups()
    lines = []
    if comment:
        lines = [indent + comment]
        if len(lines[0]) > width:
            text = textwrap.wrap(comment[2:-2].strip(), width, initial_indent=indent + " * ",
                                 subsequent_indent=indent + " * ")
            lines = [indent + "/*"] + text + [indent + " */"]
    if code:
        lines.append(indent)
    for argument_text in re.findall(r"\S.*?(?:,|$)(?= |$)", code):
        if len(lines[-1]) + len(argument_text) > width:
            lines.append(indent + " " * 7)
        lines[-1] += " " * (lines[-1] != indent) + argument_text
    return lines


def literal(lines):
    """A display of code, tabs as eight blanks."""
    out = [part for line in lines for part in folded(line)]
    out = [("\\&" if part[:1] in (".", "'") else "") + part.replace("\\", "\\e") for part in out]
    return [".Bd -literal"] + out + [".Ed"]
