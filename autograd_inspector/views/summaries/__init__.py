"""What text and page both show, folded into few lines."""
