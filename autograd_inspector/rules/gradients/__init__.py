"""AG109 and AG301 to AG306: gradients that are missing, wrong, out of order or rewritten."""
