"""Capture -> the one graph that is drawn: ops, the autograd nodes that they made, the tensors between them."""
