"""Where in the program something happened, and what the source says there."""
