"""AG401 to AG409 before a load: what a checkpoint will do to the model and optimizer that it is for."""
