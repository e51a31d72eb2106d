"""What records in C, where it was compiled: the same records, at half the cost. The functions in Python are the reference.

Without a compiler, with another torch than it knows, and with ``AUTOGRAD_INSPECTOR_PURE_PYTHON=1``, Python does it all.
"""
