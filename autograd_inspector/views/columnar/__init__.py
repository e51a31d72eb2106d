"""Many records of one kind as columns, in which what is alike is written once: what JSON keeps of a long capture."""
