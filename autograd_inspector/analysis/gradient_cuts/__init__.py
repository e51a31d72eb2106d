"""Where values go on and gradient does not: what cuts, why, and which cuts do harm."""
