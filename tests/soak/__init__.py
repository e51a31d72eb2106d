"""Real architectures and training loops that are healthy: nothing may be said against them."""
