"""Questions that several rules ask of a capture, each answered in one place."""
