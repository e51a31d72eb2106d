"""Programs rewritten so that they do the same: what is said of them must stay the same."""
