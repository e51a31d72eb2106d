"""A report as the columns of the wire."""
