"""Runs of the autograd engine, and the graphs that they walk."""
