"""Memory that several tensors have, or had: assignments of ``.data``, copies, values that were put back."""
