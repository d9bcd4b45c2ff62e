"""Where data enters and leaves: the command line, HTTP."""
