"""Gradients: where they come from, who clears and rewrites them, what the program makes of them."""
