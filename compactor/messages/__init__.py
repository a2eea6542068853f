"""The conversation as values, and the formats it comes in."""
