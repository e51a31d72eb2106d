"""What a notebook file keeps of a report."""
