"""Frozen records -> what people read: text, pictures, one HTML file, JSON."""
