# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, rpma-uv contributors

"""Read a public header: its groups, its declarations, and what the comments say about them.

A comment of functions reads

    NAME[, NAME ...] - SUMMARY

    Label: text, in as many lines as it takes, indented alike
           TERM    a list: the term, two blanks or more, the text;
                   what continues an entry is indented further

and stands right before its declarations. The labels of the file's own comment are what holds for
each function whose comment does not have them. A comment with an empty line after it is the heading
of a group.
"""

import re
from dataclasses import dataclass, field

LABELS = ("Shape", "Units", "Liveness", "Ownership", "Storage", "Completion", "Threads",
          "Callbacks", "Returns", "Errors", "Source")


class Wrong(Exception):
    """What is wrong with a header, with the place."""


@dataclass
class Text:
    text: str


@dataclass
class Entry:
    term: str
    text: str


@dataclass
class Comment:
    title: str
    sections: dict = field(default_factory=dict)  # label: list of Text and Entry
    free: list = field(default_factory=list)  # paragraphs without a label


@dataclass
class Function:
    name: str
    returns: str
    params: list  # as declared

    def param_names(self):
        return [re.search(r"(\w+)(\[\w*\])?$", p)[1] for p in self.params]

    def kind(self):
        """What its results are alike: void, int, future or value."""
        if self.returns in ("void", "int"):
            return self.returns
        return "future" if re.fullmatch(r"\w+_future_t \*", self.returns) else "value"


@dataclass
class Chunk:
    """Declarations without an empty line between them, and the comment before them."""
    line: int
    group: str
    comment: list  # lines, or None
    code: list  # lines
    functions: list
    names: set  # types and constants that it defines


class Header:
    def __init__(self, path):
        self.path = path
        self.chunks = []
        self.groups = []
        self.about = None
        with open(path, encoding="ascii") as file:
            text = file.read()
        # what is for C++ only goes, its lines stay
        text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", lambda m: "\n" * m[0].count("\n"), text,
                      flags=re.S)
        self._read(text.split("\n"))

    def _read(self, lines):
        at = 0
        group = ""
        while at < len(lines):
            if not lines[at]:
                at += 1
                continue
            start = at
            comment = None
            if lines[at].startswith("/*"):
                while not lines[at].endswith("*/"):
                    at += 1
                at += 1
                comment = [plain(line) for line in lines[start:at]]
                comment = comment[1:-1] if len(comment) > 1 else comment
            code = []
            while at < len(lines) and not ends_chunk(lines[at], code):
                code.append(lines[at])
                at += 1
            if code:
                self.chunks.append(Chunk(start + 1, group, comment, code, *declared(code)))
            elif self.about is None and " - " in comment[0]:
                self.about = read_comment(comment, f"{self.path}:{start + 1}")
            elif self.about is not None:
                group = " ".join(comment).strip("- ")
                self.groups.append(group)

    def functions(self):
        return [f for chunk in self.chunks for f in chunk.functions]


def plain(line):
    return re.sub(r"^(/\*| \*/?) ?|\s*\*/$", "", line).rstrip()


def ends_chunk(line, code):
    if "".join(code).count("{") > "".join(code).count("}"):
        return False
    return not line or line.startswith("/*")


def declared(code):
    """(functions, names of types and constants)"""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(code), flags=re.S)
    names = set(re.findall(r"^#define (\w+)", text, flags=re.M))
    names.update(re.findall(r"\b((?:struct|enum) \w+)\s*\{", text))
    for enum in re.findall(r"\benum \w+\s*\{(.*?)\}", text, flags=re.S):
        names.update(re.findall(r"\b[A-Z]\w+", enum))
    names.update(re.findall(r"\}\s*(\w+);", text))
    if "{" in text or text.lstrip().startswith("#"):
        return [], names
    # callbacks: pointers to functions, or function types
    names.update(re.findall(r"\btypedef [\w *]*?\(?\*?(\w+)\)?\(", text))
    if "typedef" in text:
        return [], names
    functions = []
    for statement in text.split(";"):
        match = re.fullmatch(r"\s*([\w\s*]+?)\s*\b(rpma\w+)\s*\((.*)\)\s*", statement, flags=re.S)
        if match:
            params = [" ".join(p.split()) for p in match[3].split(",")]
            returns = " ".join(match[1].split())
            functions.append(Function(match[2], returns, [p for p in params if p != "void"]))
    return functions, names


def read_comment(lines, place):
    paragraphs = "\n".join(lines).strip("\n").split("\n\n")
    comment = Comment(" ".join(paragraphs[0].split()))
    section, column = None, 0
    for paragraph in paragraphs[1:]:
        for number, line in enumerate(paragraph.split("\n")):
            label = re.match(r"( {0,2})([A-Z][a-z]+): *", line)  # a file's own are indented
            indent = len(line) - len(line.lstrip())
            if label and label[2] in LABELS:
                if label[2] in comment.sections:
                    raise Wrong(f"{place}: a second {label[2]}")
                section = comment.sections.setdefault(label[2], [])
                column = label.end()
                add_line(section, line[column:], 0)
            elif section is not None and indent >= column:
                add_line(section, line.lstrip(), indent - column)
            elif indent > 0:
                raise Wrong(f"{place}: neither a label nor a line of one: {line.strip()}")
            elif number and section is None:
                comment.free[-1] += " " + line
            else:
                section = None
                comment.free.append(line)
    return comment


def add_line(section, line, deeper):
    entry = re.fullmatch(r"(\S+(?: \S+)*?)  +(\S.*)", line)
    if entry and deeper == 0:
        section.append(Entry(entry[1], entry[2]))
    elif section and (deeper > 0 or isinstance(section[-1], Text)):
        section[-1].text += " " + line
    elif line:
        section.append(Text(line))
