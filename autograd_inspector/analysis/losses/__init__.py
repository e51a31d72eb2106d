"""Losses: what they are given, and how they are weighted."""
