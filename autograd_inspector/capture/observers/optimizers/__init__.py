"""Optimizers: what they hold, where it lives, what their steps and loads do."""
