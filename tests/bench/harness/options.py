# SPDX-License-Identifier: BSD-2-Clause
"""What the command lines of benchmarks have in common."""
import argparse


def list_of(known):
    """The type of an option that takes names, separated by commas."""
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name} is not one of {', '.join(known)}")
        return names
    return parse
