"""Thousands of steps: old records are folded into facts."""
