"""Reports as files: what is written is read back, what is damaged is refused in one line."""
