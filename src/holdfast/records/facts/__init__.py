"""Facts: claims about the user and their world, and how a new one meets those that are known."""
