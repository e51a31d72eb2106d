"""What modifies memory that backward needs, unseen by any version counter."""
