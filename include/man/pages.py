#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, rpma-uv contributors

"""Manual pages out of the comments of a public header.

For each function that the library's map exports there is a page in section 3, or a link to the page
of the functions that share its comment; and there is one page in section 7, whose source is filled
in with the list of functions, the result codes and a program. A function without a comment, or with
one that lacks what its page needs, fails the build.
"""

import argparse
import datetime
import os
import re
import shutil
import sys

import mdoc
from header import Entry, Header, Text, Wrong, read_comment


def exported(path):
    """The public names in a linker's version script."""
    with open(path, encoding="ascii") as file:
        text = re.sub(r"#.*", "", file.read())
    nodes = re.findall(r"(\w[\w.]*)\s*\{(.*?)\}", text, flags=re.S)
    return {name for node, names in nodes if "PRIVATE" not in node
            for name in re.findall(r"\b(rpma\w+);", names)}


def date_of(changelog, version):
    """SOURCE_DATE_EPOCH's, else the date in the newest heading of the change log; as mdoc wants."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch:
        date = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
    else:
        with open(changelog, encoding="utf-8") as file:
            heading = next(line for line in file if line.startswith("## "))
        match = re.match(r"## (\S+), .*?(\d{4}-\d\d-\d\d)", heading)
        if not match or match[1] != version:
            raise Wrong(f"{changelog}: the first heading is not '## {version}, ... YYYY-MM-DD'")
        date = datetime.date.fromisoformat(match[2])
    return f"{date:%B} {date.day}, {date.year}"


class Page:
    """The functions of one comment."""

    def __init__(self, library, chunk):
        header = library.header
        self.library = library
        self.chunk = chunk
        self.functions = chunk.functions
        self.names = [f.name for f in chunk.functions]
        self.place = f"{header.path}:{chunk.line}: {self.names[0]}"
        if chunk.comment is None:
            raise Wrong(f"{self.place}: no comment")
        self.comment = read_comment(chunk.comment, self.place)
        names, _, self.summary = self.comment.title.partition(" - ")
        if names.split(", ") != self.names or not self.summary:
            raise Wrong(f"{self.place}: its comment has to start with "
                        f"'{', '.join(self.names)} - summary'")
        params = {name for f in self.functions for name in f.param_names()}
        fields = mdoc.FIELDS if any(f.kind() == "future" for f in self.functions) else ()
        self.words = mdoc.Words(library.pages, library.types, self.names, params, fields)
        self.check()

    def check(self):
        sections = self.comment.sections
        if self.comment.free:
            raise Wrong(f"{self.place}: text without a label: {self.comment.free[0]}")
        needed = ["Shape", "Source"]
        kinds = {f.kind() for f in self.functions}
        if "value" in kinds:
            needed.append("Returns")
        if kinds & {"int", "future"} and "Returns" not in sections:
            needed.append("Errors")
        rules = self.library.header.about.sections
        needed += [label for label in ("Ownership", "Threads") if label not in rules]
        for label in needed:
            if label not in sections:
                raise Wrong(f"{self.place}: its comment has no {label}")
        for block in sections.get("Errors", []):
            if isinstance(block, Text):
                raise Wrong(f"{self.place}: not a code, two blanks and a text: {block.text}")
        sources = sections["Source"][0].text.split(", ")
        code = "".join(self.library.source(path, self.place) for path in sources)
        for name in self.names:
            if not re.search(rf"\b{name}\(", code):
                raise Wrong(f"{self.place}: its Source has no {name}")

    def blocks(self, label):
        return self.comment.sections.get(label, [])

    def rule(self, label):
        """What holds for functions like these, of the header's own comment."""
        blocks = self.library.header.about.sections.get(label, [])
        terms = {f.kind() for f in self.functions} | {b.term for b in self.blocks("Errors")}
        return [Text(b.text) if isinstance(b, Entry) else b for b in blocks
                if isinstance(b, Text) or b.term in terms]

    # ---- parts of the page

    def body(self, blocks):
        lines = []
        in_list = False
        for block in blocks:
            is_entry = isinstance(block, Entry)
            if in_list and not is_entry:
                lines.append(".El")
            if lines and not is_entry:
                lines.append(".Pp")
            if is_entry and not in_list:
                lines.append(".Bl -tag -width Er")
            in_list = is_entry
            if is_entry:
                lines.append(tag(block.term))
            lines += mdoc.prose(mdoc.sentence(block.text, self.words), self.words)
        return lines + [".El"] * in_list

    def synopsis(self):
        lines = [f".In {os.path.basename(self.library.header.path)}"]
        for function in self.functions:
            lines += [f".Ft {function.returns}", f".Fo {function.name}"]
            lines += [f'.Fa "{p}"' for p in function.params or ["void"]]
            lines.append(".Fc")
        return lines + [".Pp", "Link with", f".Fl l{self.library.name.removeprefix('lib')} ,",
                        "or with what", ".Xr pkg-config 1",
                        "says of the module", f".Pa {self.library.module} ."]

    def declarations(self):
        """Types and constants of the header that the prototypes and the text name."""
        text = " ".join([p for f in self.functions for p in f.params] +
                        [b.text for l in ("Shape", "Units") for b in self.blocks(l)])
        chunks = []
        for header in self.library.headers:
            for chunk in header.chunks:
                if chunk.functions or not any(self.names_it(n, text) for n in chunk.names):
                    continue
                if chunk.group == self.chunk.group or not has_private(chunk):
                    chunks.append(chunk)
        return chunks

    @staticmethod
    def names_it(name, text):
        if name.startswith(("RPMA_E_", "RPMA_UV_PENDING")):
            return False  # the overview has the codes
        wild = any(name.startswith(w) for w in re.findall(r"(\w+_)\*", text))
        return wild or re.search(rf"\b{name}\b", text) is not None

    def see_also(self):
        library = self.library
        others = {(f, 3) for c in library.header.chunks if c.group == self.chunk.group
                  for f in (g.name for g in c.functions)}
        others |= self.words.mentioned | {(library.name, 7)}
        others = sorted((o for o in others if o[0] not in self.names), key=lambda o: (o[1], o[0]))
        return [f".Xr {name} {section}" + (" ," if number < len(others) else "")
                for number, (name, section) in enumerate(others, 1)]

    def returns(self):
        own = self.body(self.blocks("Returns") or self.rule("Returns"))
        return own or [f".Fn {self.names[0]}", "returns no value."]

    def text(self):
        out = self.library.top(self.names[0], 3)
        out += [".Sh NAME"] + [f".Nm {name}" + (" ,") * (name != self.names[-1])
                               for name in self.names]
        out += [".Nd " + self.summary, ".Sh SYNOPSIS"] + self.synopsis()
        # what a comment says goes on from its first line
        out += [".Sh DESCRIPTION"] + self.body([Text(self.summary)]) + self.body(self.blocks("Shape"))
        for label in ("Units", "Liveness"):
            if self.blocks(label):
                out += [f".Ss {label}"] + self.body(self.blocks(label))
        declarations = self.declarations()
        if declarations:
            out += [".Ss Declarations"]
            for chunk in declarations:
                out += mdoc.literal(public_part(chunk))
        has_op = any("op" in f.param_names() for f in self.functions)
        own = (self.blocks("Ownership") or self.rule("Ownership")) + self.rule("Storage") * has_op
        out += [".Sh OWNERSHIP"] + self.body(own)
        is_async = any(f.kind() == "future" for f in self.functions)
        completion = self.blocks("Completion") + self.rule("Completion") * is_async
        if completion:
            out += [".Sh COMPLETION"] + self.body(completion)
        callbacks = self.blocks("Callbacks") or self.rule("Callbacks")
        out += [".Sh THREADS"] + self.body(self.threads() + callbacks)
        out += [".Sh RETURN VALUES"] + self.returns()
        errors = self.blocks("Errors")
        out += [".Sh ERRORS"] + (self.body(errors + self.rule("Errors")) if errors else
                                 ["None are reported."])
        return "\n".join(out + [".Sh SEE ALSO"] + self.see_also()) + "\n"

    def threads(self):
        """Own words, with those the header explains put in full, else the header's."""
        own = self.blocks("Threads")
        rules = self.library.header.about.sections.get("Threads", [])
        if not own:
            return rules
        meaning = own[0].text
        for rule in rules:
            pattern = getattr(rule, "term", "").replace("X", "(.*)")
            match = pattern and re.fullmatch(pattern, own[0].text)
            if match:
                meaning = re.sub(r"\bX\b", match[1], rule.text) if match.groups() else rule.text
        return [Text(meaning)] + own[1:] + [r for r in rules if isinstance(r, Text)]


def tag(term):
    """The head of an entry: codes, or words."""
    codes = term.split(", ")
    is_code = all(re.fullmatch(r"[A-Z][A-Z0-9_*]+", code) for code in codes)
    return ".It " + " , ".join(f"Er {code}" for code in codes) if is_code else f".It {term}"


def has_private(chunk):
    return re.search(r"/\* private|\bu_\w+;", "\n".join(chunk.code)) is not None


def public_part(chunk):
    """Comment and code without private members."""
    comment = ["/* " + " ".join(chunk.comment) + " */"] if chunk.comment else []
    code = []
    is_hidden = rest_is_private = False
    for line in chunk.code:
        rest_is_private |= re.match(r"\s+/\* private", line) is not None
        if line.startswith("}"):
            code += ["\t/* and private members */"] * is_hidden
            is_hidden = rest_is_private = False
        elif rest_is_private or re.search(r"\bu_\w+(\[\d+\])?;|/\* private", line):
            is_hidden = True
            continue
        code.append(line)
    return comment + code


class Library:
    def __init__(self, args):
        self.name = args.library
        self.module = args.module
        self.root = args.root
        self.version = args.version
        self.date = date_of(args.changelog, args.version)
        self.header = Header(args.header)
        self.headers = [self.header] + [Header(path) for path in args.known]
        self.pages = {f.name for h in self.headers for f in h.functions()}
        self.types = {n for h in self.headers for c in h.chunks for n in c.names
                      if re.match(r"[a-z]", n)}
        self.types |= {m for h in self.headers for c in h.chunks for line in c.code
                       for m in re.findall(r"^typedef struct \w+ (\w+);", line)}

    def source(self, path, place):
        try:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                return file.read()
        except OSError as error:
            raise Wrong(f"{place}: {error}") from error

    def top(self, title, section):
        return [f'.\\" Made of the comments in {os.path.basename(self.header.path)}.',
                f".Dd {self.date}", f".Dt {title.upper()} {section}", f".Os rpma-uv {self.version}"]

    def all_pages(self, map_path):
        """The pages; all that is wrong with them is told at once."""
        wrong = []
        pages = []
        for chunk in self.header.chunks:
            if chunk.functions:
                try:
                    pages.append(Page(self, chunk))
                except Wrong as error:
                    wrong.append(str(error))
        declared_names = {f.name for f in self.header.functions()}
        names = exported(map_path)
        wrong += [f"{self.header.path}: {name} is exported and not declared"
                  for name in names - declared_names]
        wrong += [f"{map_path}: {name} is declared and not exported"
                  for name in declared_names - names]
        if wrong:
            raise Wrong("\n".join(sorted(wrong)))
        return pages

    def overview(self, path, pages, program):
        with open(path, encoding="ascii") as file:
            text = file.read()
        fill = {"TOP": self.top(self.name, 7), "FUNCTIONS": self.function_list(pages),
                "CODES": self.codes(), "PROGRAM": program_text(program)}
        return re.sub(r"^@(\w+)@$", lambda m: "\n".join(fill[m[1]]), text, flags=re.M)

    def function_list(self, pages):
        out = []
        for group in self.header.groups:
            members = [p for p in pages if p.chunk.group == group]
            if not members:
                continue
            title, _, about = group.partition(": ")
            out.append(".Ss " + title[0].upper() + title[1:])
            if about:
                out += mdoc.prose(mdoc.sentence(about, members[0].words), members[0].words)
            out.append(".Bl -tag -width Ds -compact")
            for page in members:
                out.append(".It " + " , ".join(f"Xr {name} 3" for name in page.names))
                out += mdoc.prose(page.summary, page.words)
            out.append(".El")
        return out

    def codes(self):
        out = [".Bl -tag -width Er"]
        words = mdoc.Words(self.pages, self.types)
        for chunk in self.header.chunks:
            for code, text in re.findall(r"^#define (RPMA_E_\w+) +\S+ /\* (.*) \*/",
                                         "\n".join(chunk.code), flags=re.M):
                out += [f".It Er {code}"]
                out += mdoc.prose(mdoc.sentence(text, words), words)
        return out + [".El"]


def program_text(path):
    """A program without the comments that say whose it is."""
    with open(path, encoding="ascii") as file:
        text = re.sub(r"\A(/\* .* \*/\n)+\n*", "", file.read())
    return mdoc.literal(text.rstrip("\n").split("\n"))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("library", "module", "header", "map", "overview", "program", "changelog", "version",
                 "root", "out"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--known", action="append", default=[],
                        help="a header whose functions have pages elsewhere")
    args = parser.parse_args()
    try:
        library = Library(args)
        pages = library.all_pages(args.map)
    except Wrong as error:
        sys.exit(str(error))

    shutil.rmtree(args.out, ignore_errors=True)  # with what is no longer made
    for page in pages:
        write(f"{args.out}/man3/{page.names[0]}.3", page.text())
        for name in page.names[1:]:
            write(f"{args.out}/man3/{name}.3", f".so man3/{page.names[0]}.3\n")
    overview = library.overview(args.overview, pages, args.program)
    write(f"{args.out}/man7/{args.library}.7", overview)


if __name__ == "__main__":
    main()
