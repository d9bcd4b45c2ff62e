"""The other tiers: notes, the user profile, procedures, summaries, knowledge, the team's memory."""
