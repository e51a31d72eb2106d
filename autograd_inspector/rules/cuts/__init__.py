"""AG101 to AG108: where data went on and gradient did not."""
