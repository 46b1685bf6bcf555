# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, rpma-uv contributors
"""Callgrind's dumps, as written with --compress-strings=no --compress-pos=no"""

import collections
import glob
import os


class Dump:
    """the counters of one stretch"""

    def __init__(self, path):
        self.name = None  # what the program called it
        self.own = collections.Counter()  # {(object, function): without what it calls}
        self.below = collections.Counter()  # {(object, object called): all that was done below}
        caller = callee = function = ""
        is_call = False
        for line in open(path):
            key, _, value = line.rstrip("\n").partition("=")
            if line.startswith("desc: Trigger: Client Request: "):
                self.name = line.split(": ")[-1].strip()
            elif key == "ob":
                caller = callee = os.path.basename(value)
            elif key == "fn":
                function, callee = value, caller  # a call within an object does not name it
            elif key == "cob":
                callee = os.path.basename(value)
            elif key == "calls":
                is_call = True
            elif is_call:
                self.below[caller, callee] += int(line.split()[1])
                callee, is_call = caller, False
            elif line[0].isdigit():
                self.own[caller, function] += int(line.split()[1])


def pairs(prefix, suffix=""):
    """(name, count, dump of count, dump of 2 * count), in the order of the program"""
    paths = glob.glob(f"{prefix}.*{suffix}")
    paths.sort(key=lambda path: int(path[len(prefix) + 1 :].split("-")[0]))
    dumps = [dump for dump in map(Dump, paths) if dump.name]
    assert dumps and len(dumps) % 2 == 0
    for once, twice in zip(dumps[::2], dumps[1::2]):
        name, count = once.name.split()
        assert twice.name == f"{name} {2 * int(count)}", (once.name, twice.name)
        yield name, int(count), once, twice
