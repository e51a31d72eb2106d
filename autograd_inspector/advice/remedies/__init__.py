"""What is to be changed in the program, in terms of what ran where."""
