"""Graphs of earlier rounds that something still holds: chained from step to step, or freed."""
