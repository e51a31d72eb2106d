"""The only package that touches live tensors: observers write a tape, the tape freezes into records."""
