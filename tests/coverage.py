#!/usr/bin/env python3
"""Coverage by file, the totals of each part of the project, and whether those reach their limits.

    tests/coverage.py [--report] SUMMARY

SUMMARY is what gcovr --json-summary wrote. Exits 1 when a limit is missed, --report: never.
"""

import json
import sys

# a part, and the least that is covered of it in percent: lines, branches, branches of each file; the first
# part that a file is of counts
PARTS = (
    ("src", 100, 95, 85),
    ("reactor/tools", 100, 95, 90),
    ("reactor", 100, 95, 90),
)


def percent(covered, total):
    """A hundred only when all is covered."""
    return 100.0 * covered / total if total else 100.0


def show(name, lines, branches):
    def cell(covered, total):
        tenths = int(10 * percent(covered, total))
        return f"{covered:6}/{total:<6}{tenths / 10:5.1f} %" if total else f"{'-':>21}"

    print(f"{name:34}{cell(*lines)}  {cell(*branches)}")


def main(arguments):
    is_report = arguments[0] == "--report"
    with open(arguments[-1], encoding="utf-8") as file:
        files = json.load(file)["files"]
    totals = {part: ([0, 0], [0, 0]) for part, *_ in PARTS}
    missed = []
    print(f"{'file':34}{'lines':>21}  {'branches':>21}")
    for entry in sorted(files, key=lambda entry: entry["filename"]):
        name = entry["filename"]
        part, _, _, least = next(part for part in PARTS if name.startswith(part[0] + "/"))
        counts = tuple((entry[what + "_covered"], entry[what + "_total"]) for what in ("line", "branch"))
        show(name, *counts)
        for total, count in zip(totals[part], counts):
            total[0] += count[0]
            total[1] += count[1]
        if percent(*counts[1]) < least:
            missed.append(f"{name}: less than {least} % of its branches")
    print()
    for part, *least, _ in PARTS:
        show(part, *totals[part])
        for what, total, limit in zip(("lines", "branches"), totals[part], least):
            if percent(*total) < limit:
                missed.append(f"{part}: less than {limit} % of its {what}")
    if not is_report:
        for line in missed:
            print(f"coverage: {line}")
    return 1 if missed and not is_report else 0


sys.exit(main(sys.argv[1:]))
