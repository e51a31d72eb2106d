"""Checkpoints that are looked at, not loaded."""
