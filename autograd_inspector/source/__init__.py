"""What the text of a program says, by its syntax alone: one index a file, built once."""
