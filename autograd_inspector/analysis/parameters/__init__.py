"""Parameters of the program: when they require grad, which of them no optimizer steps and no module has."""
