"""Reports of version 1 as reports of the present one: JSON in, JSON out, as Python's lists and dictionaries."""
