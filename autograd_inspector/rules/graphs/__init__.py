"""AG501 to AG503: graphs that are freed, kept or sent away."""
