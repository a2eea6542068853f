"""Policies: what they may say, how they are read and found."""
