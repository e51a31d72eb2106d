"""Random programs of everything that a program may do around autograd: each must run the same under the inspector."""
