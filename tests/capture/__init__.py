"""What a capture observes, inside other people's modes and hooks."""
