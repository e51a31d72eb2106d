"""What watches the program run: each observer one kind of event, all of them writing to the recording."""
