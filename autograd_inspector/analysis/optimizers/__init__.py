"""Optimizers: what they are called, what they load, which of their steps change nothing."""
