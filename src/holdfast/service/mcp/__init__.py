"""The MCP server: tools, resources and prompts over a memory, on stdio and over HTTP.

`tools.py` lists the tools, `server.py` answers, `stdio.py` and `http.py` are the two ways in. Who
asks, and what they may, is an `Asker`; see docs/howto/mcp.md.
"""
