"""Remedies + the text of the program -> edits: what a rule wants done, written into the program by its syntax."""
