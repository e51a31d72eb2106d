"""Every name that torch calls private, in one table a theme, and nowhere else in the package.

Such a name may be gone in the next release. Each is declared with what it is used for and with what takes its place:
something that does the same, or a note of what a report then lacks, or, where nothing could be observed without it,
``UnsupportedTorch``, which ends the capture before it begins. What is read of a tensor or a node at every op is read
there, inline, under a name that is declared here.
"""
