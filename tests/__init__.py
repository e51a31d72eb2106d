"""Tests of the autograd inspector."""
