"""The read path: query -> rankings -> fused hits -> context."""
