"""Python processes that have torch from the start: one process imports it, and each of them is a fork of that one.

Importing torch takes seconds, and hundreds of tests need a process of their own.
"""

from tests.forked.command import INSPECTOR, executable, forking, inspector, python

__all__ = ["INSPECTOR", "executable", "forking", "inspector", "python"]
