"""Differential fuzzing: random small programs, run with and without the inspector and against references."""
