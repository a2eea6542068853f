"""From plan and summary to the messages that are handed back, repaired and checked."""
