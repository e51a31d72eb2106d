"""What each rule says of small programs: a sick one, and a healthy twin that uses the same constructs rightly."""
