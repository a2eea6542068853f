"""From folded messages to a summary: what is asked, who is asked, what is accepted."""
