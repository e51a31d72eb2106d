"""What the steps of a long run did to each parameter."""
