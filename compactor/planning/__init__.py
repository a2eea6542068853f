"""What a compaction would do: pure functions from messages and policy to a plan."""
