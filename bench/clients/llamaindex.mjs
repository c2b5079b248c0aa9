// LlamaIndex against quern: chats, streams, tools, its agent, embeddings and an index over them.
import { OpenAI, OpenAIEmbedding } from '@llamaindex/openai';
import { agent } from '@llamaindex/workflow';
import { Document, Settings, VectorStoreIndex, tool } from 'llamaindex';
import { z } from 'zod';

import { BASE, KEY, MODEL, add, assert, check, done, weather } from './check.mjs';

const at = { apiKey: KEY, baseURL: BASE, maxRetries: 0 };
const llm = new OpenAI({ ...at, model: MODEL, temperature: 0, maxTokens: 200, supportToolCall: true });
Settings.llm = llm;
Settings.embedModel = new OpenAIEmbedding({ ...at, model: process.env.EMBED_MODEL ?? MODEL });

const question = 'What is the capital of France?';
const user = (content) => [{ role: 'user', content }];
const called = [];
const record = (t) => (args) => {
  called.push([t.name, args]);
  return t.run(args);
};
const tools = [
  tool({ name: weather.name, description: weather.description, parameters: z.object({ city: z.string() }), execute: record(weather) }),
  tool({ name: add.name, description: add.description, parameters: z.object({ a: z.number(), b: z.number() }), execute: record(add) }),
];
const name = (what) => `llamaindex: ${what}`;

await check(name('chat'), async () => {
  const r = await llm.chat({ messages: user(question) });
  assert.match(r.message.content, /Paris/);
});
await check(name('a stream is what the chat says'), async () => {
  const whole = await llm.chat({ messages: user('Tell me a story.') });
  const parts = [];
  for await (const c of await llm.chat({ messages: user('Tell me a story.'), stream: true })) parts.push(c.delta);
  assert(parts.length > 2);
  assert.equal(parts.join(''), whole.message.content);
});
await check(name('complete'), async () => {
  const r = await llm.complete({ prompt: question });
  assert.match(r.text, /Paris/);
});
await check(name('a call'), async () => {
  const r = await llm.chat({ messages: user('What is the weather in Oslo?'), tools });
  const [call] = r.message.options.toolCall;
  assert.equal(call.name, weather.name);
  assert.deepEqual(typeof call.input === 'string' ? JSON.parse(call.input) : call.input, { city: 'Oslo' });
});
await check(name('an agent calls a tool and answers'), async () => {
  called.length = 0;
  const r = await agent({ llm, tools }).run('What is the weather in Oslo?');
  assert.deepEqual(called, [[weather.name, { city: 'Oslo' }]]);
  assert.match(String(r.data.result), /Oslo/); // results are not shown as JSON, so the built-in model does not read their number
});
await check(name('embeddings'), async () => {
  const [a, b] = await Settings.embedModel.getTextEmbeddings(['Hello', 'Hello']);
  assert(a.length > 1);
  assert.deepEqual(a, b);
});
await check(name('an index finds what it was given'), async () => {
  const index = await VectorStoreIndex.fromDocuments(['Paris is the capital of France.', 'Bread is baked in ovens.'].map((text) => new Document({ text })));
  const found = await index.asRetriever({ similarityTopK: 1 }).retrieve('Paris is the capital of France.');
  assert.equal(found.length, 1);
  assert.match(found[0].node.getText(), /Paris/);
});
await check(name('an absent model'), async () => {
  await assert.rejects(new OpenAI({ ...at, model: 'absent' }).chat({ messages: user(question) }), (e) => e.status === 404);
});
done();
