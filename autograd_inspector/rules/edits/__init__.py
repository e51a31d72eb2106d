"""AG201 to AG203: memory that was modified while autograd needed it."""
