"""Programs as people write them in many fields, sick and healthy, and what is known of each."""
