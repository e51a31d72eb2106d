"""A checkpoint before it is loaded: what of it fits, by which lines."""
