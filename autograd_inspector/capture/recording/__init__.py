"""What is observed as it grows, and what is derived of it while the program runs."""
