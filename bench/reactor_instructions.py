# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, rpma-uv contributors
"""The table of bench/reactor_instructions.sh, out of callgrind's dumps: reactor_instructions.py READS"""

import collections
import sys

import callgrind

DEVICE = ("device_post_send", "device_poll_cq", "device_req_notify_cq")
LIBRARY = "librpma_uv.so.0"
TOP = 12

# of a read on the reactor, over one in a loop of verbs alone
ALLOWED = 900


def per_read(once, twice, count):
    """{(object, function): instructions}; the device, and its view of the clock, left out"""
    reads = twice.own.copy()
    reads.subtract(once.own)
    return {
        (where, function): value / count
        for (where, function), value in reads.items()
        if function not in DEVICE and where != "libsoftverbs.so"
    }


def main(prefix):
    # the first thread is the loop's
    found = {
        name: per_read(once, twice, count)
        for name, count, once, twice in callgrind.pairs(prefix, "-01")
    }
    reactor, bare = sum(found["reactor"].values()), sum(found["bare"].values())
    assert bare > 0

    print(f"{'instructions per read':32}{reactor:8.1f}")
    print(f"{'in a loop of verbs alone':32}{bare:8.1f}")
    print(f"{'over that':32}{reactor - bare:8.1f}   of at most {ALLOWED}")
    objects = collections.Counter()
    for (where, _), value in found["reactor"].items():
        objects[where] += value
    print("\nwhere the reactor's are")
    for where, value in objects.most_common():
        if value > 0:  # the first dump binds a symbol or two
            print(f"    {where:28}{value:8.1f}")
    print(f"\nof {LIBRARY}, without what is called")
    functions = {f: value for (where, f), value in found["reactor"].items() if where == LIBRARY}
    for function, value in collections.Counter(functions).most_common(TOP):
        print(f"    {function:28}{value:8.1f}")
    if reactor - bare > ALLOWED:
        sys.exit("more than allowed")


main(*sys.argv[1:])
