"""Warnings of the program's: at their place, as often as without us, through the program's own filters."""
