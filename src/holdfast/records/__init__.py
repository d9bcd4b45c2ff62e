"""What is kept beside the turns: notes, profile, procedures, knowledge, facts, graph."""
