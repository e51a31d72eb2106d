"""Text, for terminals, logs and notebooks that show nothing else."""
