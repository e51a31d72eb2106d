"""What ranks do together: exchanges between them, and whether gradients went through one before a step."""
