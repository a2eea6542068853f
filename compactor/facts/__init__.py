"""Recognisers of what later turns lean on."""
