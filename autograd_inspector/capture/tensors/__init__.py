"""What is read of the program's tensors, without any of its code noticing."""
