"""Questions about a capture, asked of captures that are written by hand: no tensor is computed."""
