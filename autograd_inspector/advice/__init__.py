"""What findings say and propose: names, sentences, code."""
