"""Documents as text: readers for plain text, Markdown, HTML and PDF, and the cut into chunks."""
