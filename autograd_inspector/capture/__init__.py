"""The only package that touches live tensors: observers write a recording, which freezes into records."""
