"""What ``autograd-inspect run`` runs: scripts and notebooks."""
