"""Torch calls: one record each, and what they do to grad mode, values and memory."""
