# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, rpma-uv contributors
"""The table of bench/instructions.sh, out of callgrind's dumps: instructions.py OURS THEIRS"""

import glob
import os
import sys

JUDGED = ("rpma_read", "rpma_write", "rpma_send", "rpma_cq_get_wc")


def dump(path):
    """the trigger of a dump, and the instructions that librpma took in it, the device's left out"""
    trigger, caller, callee, is_call, cost = None, "", "", False, 0
    for line in open(path):
        key, _, value = line.rstrip("\n").partition("=")
        if line.startswith("desc: Trigger: Client Request: "):
            trigger = line.split(": ")[-1].strip()
        elif key == "ob":
            caller = os.path.basename(value)
        elif key == "fn":
            callee = caller  # a call within the object does not name it
        elif key == "cob":
            callee = os.path.basename(value)
        elif key == "calls":
            is_call = True
        elif is_call:
            # all that was done below this call
            inclusive = int(line.split()[1])
            if (caller, callee) == ("instructions", "librpma.so.0"):
                cost += inclusive
            elif (caller, callee) == ("librpma.so.0", "instructions"):
                cost -= inclusive
            callee, is_call = caller, False
    return trigger, cost


def per_call(prefix):
    """{call: instructions}, in the order of the program"""
    paths = sorted(glob.glob(prefix + ".*"), key=lambda path: int(path.rsplit(".", 1)[1]))
    dumps = [found for found in map(dump, paths) if found[0]]
    calls = {}
    for (once, few), (twice, many) in zip(dumps[::2], dumps[1::2]):
        name, count = once.split()
        assert twice == f"{name} {2 * int(count)}", (once, twice)
        calls[name] = (many - few) / int(count)
        assert calls[name] > 0, name
    return calls


def main(ours_prefix, theirs_prefix):
    ours, theirs = per_call(ours_prefix), per_call(theirs_prefix)
    assert ours.keys() == theirs.keys() and ours.keys() >= set(JUDGED)
    more = [name for name in JUDGED if ours[name] > theirs[name]]
    print(f"{'instructions per call':24}{'ours':>8}{'theirs':>8}{'ratio':>8}")
    for name in ours:
        note = "" if name in JUDGED else "   for information"
        ratio = ours[name] / theirs[name]
        print(f"{name:24}{ours[name]:8g}{theirs[name]:8g}{ratio:8.2f}{note}")
    if more:
        sys.exit("more than theirs: " + ", ".join(more))


main(*sys.argv[1:])
