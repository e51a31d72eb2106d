"""Frozen records: what a capture holds once every live tensor is gone."""
