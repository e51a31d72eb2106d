"""Runs of the autograd engine."""
