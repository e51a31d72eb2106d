"""Losses: what they are computed from, and which of them no backward() was called on."""
