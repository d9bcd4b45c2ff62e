/** The first memory in three lines: for Python, a shell, and an MCP client. */

export type SnippetName = "python" | "curl" | "mcp";

interface Place {
  url: string;
  user: string;
  /** Null: a placeholder. */
  key: string | null;
}

interface Snippet {
  title: string;
  hint: string;
  write: (place: Place) => string;
}

/** What a key looks like; nothing else is put into an example that somebody runs. */
export const isKey = (text: string) => /^rk_[A-Za-z0-9_-]{8,}$/.test(text);

const PLACEHOLDER = "rk_...";
/** A text of JSON is a text of Python, too. */
const quoted = (text: string) => JSON.stringify(text);
/** For a shell: in single quotes, which only they themselves can end. */
const inShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function python({ url, user, key }: Place): string {
  return [
    "import holdfast",
    `memory = holdfast.open(${quoted(url)}, api_key=${quoted(key ?? PLACEHOLDER)})`,
    `memory.remember("I moved to Lisbon in May.", user=${quoted(user)})`,
  ].join("\n");
}

function curl({ url, user, key }: Place): string {
  const head = `-H "authorization: Bearer $KEY" -H 'content-type: application/json'`;
  const send = (fields: object) => inShell(JSON.stringify({ user_id: user, ...fields }));
  return [
    `KEY=${key ?? PLACEHOLDER}`,
    `curl -sS ${url}/v1/memories ${head} -d ${send({ messages: "I moved to Lisbon in May." })}`,
    `curl -sS ${url}/v1/context ${head} -d ${send({ messages: "Where do I live?" })}`,
  ].join("\n");
}

function mcp({ url, key }: Place): string {
  const server = { url: `${url}/mcp`, headers: { Authorization: `Bearer ${key ?? PLACEHOLDER}` } };
  return `{"mcpServers": {"holdfast": {\n  "url": ${quoted(server.url)},\n  "headers": ${JSON.stringify(server.headers)}}}}`;
}

export const SNIPPETS: Record<SnippetName, Snippet> = {
  python: { title: "Python", write: python, hint: "With the package holdfast, where your agent runs. Then ask here: Where do I live?" },
  curl: { title: "curl", write: curl, hint: "Any language that speaks HTTP does the same." },
  mcp: { title: "MCP", write: mcp, hint: "For Cursor and most clients that take a JSON file; a key of one user says whose memory it is." },
};
