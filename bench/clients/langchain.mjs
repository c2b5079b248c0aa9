// LangChain against quern: its client of OpenAI's API (structured output, tools, streams), and
// those of Anthropic's and Ollama's.
import { ChatAnthropic } from '@langchain/anthropic';
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOllama, OllamaEmbeddings } from '@langchain/ollama';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';

import { BASE, KEY, MODEL, add, assert, check, done, weather } from './check.mjs';

const options = { model: MODEL, apiKey: KEY, configuration: { baseURL: BASE }, temperature: 0, maxTokens: 200, maxRetries: 0 };
const chat = new ChatOpenAI(options);

const getWeather = tool(async (args) => JSON.stringify(weather.run(args)), {
  name: weather.name, description: weather.description, schema: z.object({ city: z.string() }),
});
const addNumbers = tool(async (args) => JSON.stringify(add.run(args)), {
  name: add.name, description: add.description, schema: z.object({ a: z.number().int(), b: z.number().int() }),
});
const tools = [getWeather, addNumbers];

// An answer of words that end, whatever the model.
const Place = z.object({ size: z.enum(['small', 'big']), capital: z.boolean(), people: z.number().int().min(0).max(99), name: z.string().max(12) });
const question = 'Tell me about Paris.';

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}
const concat = (chunks) => chunks.reduce((all, chunk) => all.concat(chunk));

await check('langchain: invoke', async () => {
  const answer = await chat.invoke([new SystemMessage('Be brief.'), new HumanMessage('What is the capital of France?')]);
  assert.equal(typeof answer.content, 'string');
  assert(answer.content.length > 0);
  assert.equal(answer.response_metadata.finish_reason, 'stop');
  assert(answer.usage_metadata.input_tokens > 0 && answer.usage_metadata.output_tokens > 0);
  assert.equal(answer.tool_calls.length, 0);
});
await check('langchain: a stream is what invoke answers', async () => {
  const story = 'Tell me a story.'; // long enough to come in several pieces, however slowly they are read
  const whole = await chat.invoke(story);
  const chunks = await collect(await chat.stream(story));
  assert(chunks.length > 2);
  const all = concat(chunks);
  assert.equal(all.content, whole.content);
  assert.deepEqual(all.usage_metadata.total_tokens, whole.usage_metadata.total_tokens);
});
await check('langchain: batch', async () => {
  const answers = await chat.batch(['Hello!', 'What is the capital of Italy?', 'Hello!']);
  assert.equal(answers[0].content, answers[2].content);
  assert.notEqual(answers[0].content, answers[1].content);
});
await check('langchain: a client that leaves', async () => {
  const abort = new AbortController();
  await assert.rejects(async () => {
    for await (const _ of await chat.stream('Tell me a story.', { signal: abort.signal })) abort.abort();
  });
  assert((await chat.invoke('Hello!')).content.length > 0);
});
await check('langchain: embeddings', async () => {
  const embeddings = new OpenAIEmbeddings({ model: MODEL, apiKey: KEY, configuration: { baseURL: BASE }, maxRetries: 0 });
  const [one, two] = await embeddings.embedDocuments(['Hello', 'The capital of France']);
  assert.equal(one.length, two.length);
  assert.deepEqual(await embeddings.embedQuery('Hello'), one);
});

for (const method of ['jsonSchema', 'functionCalling']) {
  await check(`langchain: withStructuredOutput, ${method}`, async () => {
    const answer = await chat.withStructuredOutput(Place, { name: 'place', method }).invoke(question);
    Place.strict().parse(answer);
  });
  await check(`langchain: withStructuredOutput, ${method}, strict`, async () => {
    const { raw, parsed } = await chat.withStructuredOutput(Place, { name: 'place', method, strict: true, includeRaw: true }).invoke(question);
    Place.strict().parse(parsed);
    assert(raw instanceof AIMessage);
  });
  await check(`langchain: withStructuredOutput, ${method}, streamed`, async () => {
    const chunks = await collect(await chat.withStructuredOutput(Place, { name: 'place', method }).stream(question));
    Place.strict().parse(chunks.at(-1));
  });
}
await check('langchain: withStructuredOutput, a JSON Schema', async () => {
  const schema = { title: 'place', type: 'object', required: ['size'], additionalProperties: false, properties: { size: { type: 'string', enum: ['small', 'big'] } } };
  const answer = await chat.withStructuredOutput(schema, { name: 'place', method: 'jsonSchema', strict: true }).invoke(question);
  assert(['small', 'big'].includes(answer.size));
});
await check('langchain: withStructuredOutput, nested and optional members', async () => {
  const Deep = z.object({
    kind: z.union([z.literal('town'), z.literal('river')]),
    place: z.object({ size: z.enum(['small', 'big']), parts: z.array(z.enum(['north', 'south'])).max(2) }),
    note: z.string().max(8).nullable(),
  });
  Deep.strict().parse(await chat.withStructuredOutput(Deep, { name: 'deep', method: 'jsonSchema', strict: true }).invoke(question));
});
await check('langchain: a schema that cannot be kept to', async () => {
  const schema = { title: 'x', type: 'object', properties: { a: { type: 'string', pattern: '(?=x)' } } };
  await assert.rejects(chat.withStructuredOutput(schema, { name: 'x', method: 'jsonSchema', strict: true }).invoke(question),
    (err) => err.status === 400 && /pattern/.test(err.message));
});

await check('langchain: bindTools, tool_choice any', async () => {
  const answer = await chat.bindTools(tools, { tool_choice: 'any' }).invoke(question);
  assert.equal(answer.response_metadata.finish_reason, 'tool_calls');
  assert(answer.tool_calls.length > 0 && answer.invalid_tool_calls.length === 0);
  assert(answer.tool_calls.every((c) => c.id && tools.some((t) => t.name === c.name)));
});
await check('langchain: bindTools, tool_choice by name', async () => {
  const answer = await chat.bindTools(tools, { tool_choice: 'add' }).invoke('What is 2 + 3?');
  assert(answer.tool_calls.every((c) => c.name === 'add' && Number.isInteger(c.args.a) && Number.isInteger(c.args.b)));
  assert(answer.tool_calls.length > 0);
});
await check('langchain: bindTools, strict, one call, streamed', async () => {
  const bound = chat.bindTools(tools, { tool_choice: 'any', strict: true, parallel_tool_calls: false });
  const chunks = await collect(await bound.stream('What is the weather in Oslo and Rome?'));
  const parts = chunks.flatMap((c) => c.tool_call_chunks ?? []);
  assert(parts.length > 1 && parts[0].id && parts[0].name && parts.every((p) => p.index === 0));
  const all = concat(chunks);
  assert.equal(all.tool_calls.length, 1);
  assert.equal(all.response_metadata.finish_reason, 'tool_calls');
});
await check('langchain: bindTools, tool_choice none', async () => {
  const answer = await chat.bindTools(tools, { tool_choice: 'none' }).invoke('What is the capital of France?');
  assert.equal(answer.tool_calls.length, 0);
  assert(answer.content.length > 0);
});
await check('langchain: bindTools, the model chooses to call', async () => {
  const answer = await chat.bindTools(tools).invoke('What is the weather in Paris?');
  assert.deepEqual(answer.tool_calls.map((c) => [c.name, c.args]), [['get_weather', { city: 'Paris' }]]);
  const sum = await chat.bindTools(tools).invoke('What is 17 + 25?');
  assert.deepEqual(sum.tool_calls.map((c) => [c.name, c.args]), [['add', { a: 17, b: 25 }]]);
});
await check('langchain: bindTools, the model chooses to answer', async () => {
  const answer = await chat.bindTools(tools).invoke('What is the capital of France?');
  assert.equal(answer.tool_calls.length, 0);
  assert(/Paris/.test(answer.content));
});
await check('langchain: two calls at once', async () => {
  const answer = await chat.bindTools([getWeather]).invoke('What is the weather in Paris and Oslo?');
  assert.deepEqual(answer.tool_calls.map((c) => c.args.city), ['Paris', 'Oslo']);
  assert.equal(new Set(answer.tool_calls.map((c) => c.id)).size, 2);
});
await check('langchain: a tool round trip, streamed', async () => {
  const bound = chat.bindTools(tools);
  const messages = [new HumanMessage('What is the weather in Oslo?')];
  let answer;
  for (let step = 0; step < 3; step++) {
    answer = concat(await collect(await bound.stream(messages)));
    messages.push(answer);
    if (!answer.tool_calls.length) break;
    for (const call of answer.tool_calls) messages.push(await tools.find((t) => t.name === call.name).invoke(call));
  }
  assert(messages.some((m) => m instanceof ToolMessage));
  assert(/21/.test(answer.content), answer.content);
});

const host = BASE.replace(/\/v1$/, '');
const ollama = { model: MODEL, baseUrl: host, headers: { Authorization: `Bearer ${KEY}` }, maxRetries: 0 };
const others = {
  anthropic: new ChatAnthropic({ model: MODEL, apiKey: KEY, anthropicApiUrl: host, temperature: 0, maxTokens: 200, maxRetries: 0 }),
  ollama: new ChatOllama({ ...ollama, temperature: 0, numPredict: 200 }),
};
// What LangChain does not take out of a schema for Anthropic, as it does enum and maxLength.
const Few = z.object({ capital: z.boolean(), people: z.number().int() });
for (const [dialect, other] of Object.entries(others)) {
  const name = (what) => `langchain, ${dialect}: ${what}`;
  await check(name('invoke'), async () => {
    const answer = await other.invoke([new SystemMessage('Be brief.'), new HumanMessage('What is the capital of France?')]);
    assert(/Paris/.test(answer.content), answer.content);
    assert(answer.usage_metadata.input_tokens > 0 && answer.usage_metadata.output_tokens > 0);
  });
  await check(name('a stream is what OpenAI’s client is answered'), async () => {
    const whole = await chat.invoke('Tell me a story.');
    const chunks = await collect(await other.stream('Tell me a story.'));
    assert(chunks.length > 2);
    assert.equal(concat(chunks).content, whole.content);
  });
  await check(name('withStructuredOutput'), async () => {
    Place.strict().parse(await other.withStructuredOutput(Place, { name: 'place', method: 'functionCalling' }).invoke(question));
    Few.strict().parse(await other.withStructuredOutput(Few, { name: 'few', method: 'jsonSchema' }).invoke(question));
  });
  await check(name('a tool round trip'), async () => {
    const bound = other.bindTools(tools);
    const messages = [new HumanMessage('What is the weather in Oslo?')];
    const call = await bound.invoke(messages);
    assert.deepEqual(call.tool_calls.map((c) => [c.name, c.args]), [['get_weather', { city: 'Oslo' }]]);
    messages.push(call, await getWeather.invoke(call.tool_calls[0]));
    const answer = await bound.invoke(messages);
    assert(/21/.test(answer.content), answer.content);
  });
}
await check('langchain, ollama: embeddings', async () => {
  const [one, two] = await new OllamaEmbeddings(ollama).embedDocuments(['Hello', 'The capital of France']);
  assert.equal(one.length, two.length);
});

done();
