"""Faults of every kind, planted into training programs that have none: which of them does a report name, and where."""
