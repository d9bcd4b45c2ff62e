// The official OpenAI client for Node.js before the proxy: what a program with a memory calls.
import assert from "node:assert/strict";
import OpenAI from "openai";

const baseURL = process.env.HOLDFAST_URL + "/v1/proxy";
const apiKey = process.env.HOLDFAST_KEY;
const modelRoot = process.env.HOLDFAST_UPSTREAM.replace(/\/v1$/, "");

const client = (user = "ann", { headers = {}, ...more } = {}) =>
  new OpenAI({
    baseURL,
    apiKey,
    maxRetries: 0,
    timeout: 60_000,
    defaultHeaders: { "X-Holdfast-User": user, ...headers },
    ...more,
  });
const said = (content) => [{ role: "user", content }];
const chat = (asking, body = {}, options = {}) =>
  asking.chat.completions.create({ model: "m", messages: said("Hello."), ...body }, options);
const seen = async () => (await fetch(modelRoot + "/seen")).json();
const lastCall = async () => JSON.parse((await seen()).at(-1).raw);

const scenarios = {
  async chat() {
    const answer = await chat(client());
    assert.equal(answer.choices[0].message.content, "You said: Hello.");
  },
  async "chat-knows-what-was-said-before"() {
    const bea = client("bea");
    await chat(bea, { messages: said("My order is INV-2026-0417.") });
    const until = Date.now() + 60_000; // it is remembered after the answer
    const options = { headers: { "X-Holdfast-Remember": "false" } };
    do {
      assert.ok(Date.now() < until, "it never came back");
      await chat(bea, { messages: said("Which order is mine?") }, options);
    } while (!JSON.stringify(await lastCall()).includes("INV-2026-0417"));
    await chat(client("cleo"), { messages: said("Which order is mine?") });
    assert.ok(!JSON.stringify(await lastCall()).includes("INV-2026-0417"));
  },
  async "chat-choices"() {
    assert.equal((await chat(client(), { n: 2 })).choices.length, 2);
  },
  async "chat-usage"() {
    assert.equal((await chat(client(), { model: "counts" })).usage.total_tokens, 100);
  },
  async "chat-stream"() {
    let text = "";
    for await (const chunk of await chat(client(), { stream: true })) {
      text += chunk.choices[0].delta.content ?? "";
    }
    assert.equal(text, "You said: Hello.");
  },
  async "chat-stream-helper"() {
    const stream = client().chat.completions.stream({ model: "m", messages: said("A b.") });
    assert.equal(await stream.finalContent(), "You said: A b.");
  },
  async tools() {
    const tool = { type: "function", function: { name: "look", parameters: {} } };
    const answer = await chat(client(), { model: "tools", tools: [tool] });
    assert.equal(answer.choices[0].message.tool_calls[0].function.name, "look");
  },
  async "structured-output"() {
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const answer = await client().chat.completions.parse({
      model: "repeats",
      messages: said('{"city": "Lisbon"}'),
      response_format: { type: "json_schema", json_schema: { name: "city", strict: true, schema } },
    });
    assert.equal(JSON.parse(answer.choices[0].message.content).city, "Lisbon");
    assert.equal((await lastCall()).response_format.type, "json_schema");
  },
  async responses() {
    const answer = await client().responses.create({ model: "m", input: "Hello." });
    assert.equal(answer.output_text, "You said: Hello.");
  },
  async "responses-stream"() {
    const kinds = [];
    const asked = { model: "m", input: "A b.", stream: true };
    for await (const event of await client().responses.create(asked)) kinds.push(event.type);
    assert.equal(kinds[0], "response.created");
    assert.equal(kinds.at(-1), "response.completed");
  },
  async models() {
    const ids = [];
    for await (const model of client().models.list()) ids.push(model.id);
    assert.deepEqual(ids, ["scripted"]);
    assert.equal((await client().models.retrieve("some")).id, "some");
  },
  async embeddings() {
    const asked = { model: "m", input: "Hello.", encoding_format: "float" };
    assert.deepEqual((await client().embeddings.create(asked)).data[0].embedding, [0.5]);
  },
  async "raw-response-says-what-memory-did"() {
    const asked = { model: "m", messages: said("Hello.") };
    const { response } = await client("dora").chat.completions.create(asked).withResponse();
    assert.equal(response.headers.get("x-holdfast-memory"), "empty");
  },
  async "an-own-key-for-the-model"() {
    await chat(client("ann", { apiKey: "sk-own", headers: { "X-API-Key": apiKey } }));
    const { headers } = (await seen()).at(-1);
    assert.equal(headers.authorization, "Bearer sk-own");
    assert.equal(headers["x-api-key"], undefined);
  },
  async "a-wrong-key"() {
    const wrong = client("ann", { apiKey: "rk_wrong" });
    await assert.rejects(wrong.models.list(), OpenAI.AuthenticationError);
  },
  async "a-missing-user"() {
    const nobody = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
    await assert.rejects(chat(nobody), OpenAI.BadRequestError);
  },
  async "errors-of-the-model"() {
    await assert.rejects(chat(client(), { model: "401" }), OpenAI.AuthenticationError);
    await assert.rejects(chat(client(), { model: "429" }), OpenAI.RateLimitError);
    await assert.rejects(chat(client(), { model: "500" }), OpenAI.InternalServerError);
    await assert.rejects(chat(client(), { model: "429", stream: true }), OpenAI.RateLimitError);
  },
  async "retries-reach-the-model"() {
    const before = (await seen()).length;
    const twice = client("emil", { maxRetries: 1 });
    await assert.rejects(chat(twice, { model: "500" }), OpenAI.InternalServerError);
    assert.equal((await seen()).length - before, 2);
  },
  async "a-stream-that-is-left-early"() {
    const stream = await chat(client(), { messages: said("One two three four."), stream: true });
    for await (const _ of stream) break;
    await chat(client());
  },
  async "a-body-that-is-too-large"() {
    await assert.rejects(chat(client(), { messages: said("x".repeat(40_000_000)) }), { status: 413 });
  },
  async "a-route-that-is-not-served"() {
    await assert.rejects(async () => client().files.list(), OpenAI.NotFoundError);
  },
};

for (const [name, check] of Object.entries(scenarios)) {
  try {
    await check();
    console.log(`PASS openai-node/${name}`);
  } catch (problem) {
    const reason = String(problem?.message ?? problem).split(/\s+/).join(" ").slice(0, 300);
    console.log(`FAIL openai-node/${name}: ${problem?.constructor?.name} ${reason}`);
  }
}
