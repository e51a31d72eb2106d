"""A step tried on a copy of the model."""
