"""What ranks do together: wrappers that reduce gradients, collectives, samplers."""
