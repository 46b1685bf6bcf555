# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, rpma-uv contributors
"""The table of bench/instructions.sh, out of callgrind's dumps: instructions.py OURS THEIRS"""

import sys

import callgrind

PROGRAM, LIBRARY = "instructions", "librpma.so.0"
JUDGED = ("rpma_read", "rpma_write", "rpma_send", "rpma_cq_get_wc")


def cost(dump):
    """what the library did, and had done for it; the device is the program's"""
    return dump.below[PROGRAM, LIBRARY] - dump.below[LIBRARY, PROGRAM]


def per_call(prefix):
    """{call: instructions}"""
    calls = {}
    for name, count, once, twice in callgrind.pairs(prefix):
        calls[name] = (cost(twice) - cost(once)) / count
        assert calls[name] > 0, name
    return calls


def main(ours_prefix, theirs_prefix):
    ours, theirs = per_call(ours_prefix), per_call(theirs_prefix)
    assert ours.keys() == theirs.keys() and ours.keys() >= set(JUDGED)
    print(f"{'instructions per call':24}{'ours':>8}{'theirs':>8}{'ratio':>8}")
    for name in ours:
        note = "" if name in JUDGED else "   for information"
        ratio = ours[name] / theirs[name]
        print(f"{name:24}{ours[name]:8g}{theirs[name]:8g}{ratio:8.2f}{note}")
    more = [name for name in JUDGED if ours[name] > theirs[name]]
    if more:
        sys.exit("more than theirs: " + ", ".join(more))


main(*sys.argv[1:])
