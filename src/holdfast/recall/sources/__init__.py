"""Where candidates and their scores come from, and how they become one score."""
