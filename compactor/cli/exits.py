"""The exit codes of the command; 0 is that of success."""

FAILED = 1
"""Nothing came of what was asked for, though it was asked in the right way."""

BAD_INPUT = 2
"""The input, the options or the policy are wrong."""

INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C ended."""
