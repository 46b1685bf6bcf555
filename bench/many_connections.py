# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, rpma-uv contributors
"""The verdict of bench/many_connections.sh, out of callgrind's dumps: many_connections.py DUMPS CONNECTIONS"""

import collections
import glob
import sys

import callgrind

READS = 5  # of each connection
ALLOWED = 1.5  # times what it takes among few


def main(prefix, connections):
    found = collections.Counter()  # {(phase, whose, what): instructions}
    for path in glob.glob(f"{prefix}.*"):
        dump = callgrind.Dump(path)
        if not dump.name:
            continue
        phase, whose = dump.name.split(".")
        for (where, _), value in dump.own.items():
            what = "device" if where == "libsoftverbs.so" else "reactor"
            found[phase, whose, what] += value
            found[phase, whose, "both"] += value

    print("instructions per operation, both ends        many       few   ratio")
    is_missed = False
    for phase in "connect", "read", "close":
        operations = int(connections) * (READS if phase == "read" else 1)
        for what in "reactor", "device", "both":
            many, few = (found[phase, whose, what] / operations for whose in ("many", "few"))
            assert few > 0
            print(f"    {phase:8} {what:28}{many:10.1f}{few:10.1f}{many / few:8.2f}")
            is_missed |= what != "device" and many > few * ALLOWED
    if is_missed:
        sys.exit(f"more than {ALLOWED} times what it takes among few")


main(*sys.argv[1:])
