"""One small training for each trainer; run as a module, a training on several ranks."""
