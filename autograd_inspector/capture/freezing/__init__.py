"""The end of a recording: what it becomes, and what only the source of the program can add to it."""
