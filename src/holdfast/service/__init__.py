"""The interfaces: HTTP, command line, MCP, proxy, dialects of other tools, webhooks, keys."""
