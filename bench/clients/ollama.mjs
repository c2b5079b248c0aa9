// Ollama's client against quern: /api, streamed and not.
import { Ollama } from 'ollama';

import { BASE, KEY, MODEL, add, assert, check, done, weather } from './check.mjs';

const client = new Ollama({ host: BASE.replace(/\/v1$/, ''), headers: { Authorization: `Bearer ${KEY}` } });
const base = { model: MODEL, options: { temperature: 0, num_predict: 200 } };
const user = (content) => [{ role: 'user', content }];
const schema = (properties) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false });
const tools = [
  { type: 'function', function: { name: weather.name, description: weather.description, parameters: schema({ city: { type: 'string' } }) } },
  { type: 'function', function: { name: add.name, description: add.description, parameters: schema({ a: { type: 'integer' }, b: { type: 'integer' } }) } },
];
const name = (what) => `ollama: ${what}`;

await check(name('chat'), async () => {
  const r = await client.chat({ ...base, messages: user('What is the capital of France?') });
  assert.equal(r.message.role, 'assistant');
  assert.match(r.message.content, /Paris/);
  assert.equal(r.done, true);
  assert.equal(r.done_reason, 'stop');
  assert.equal(r.model, MODEL);
  assert(r.prompt_eval_count > 0 && r.eval_count > 0 && r.total_duration > 0 && Date.parse(r.created_at));
});
await check(name('a stream is what the chat says'), async () => {
  const whole = await client.chat({ ...base, messages: user('Tell me a story.') });
  const parts = [];
  for await (const part of await client.chat({ ...base, messages: user('Tell me a story.'), stream: true })) parts.push(part);
  assert(parts.length > 2);
  assert.equal(parts.map((p) => p.message.content).join(''), whole.message.content);
  assert.deepEqual(parts.map((p) => p.done), parts.map((_, i) => i === parts.length - 1));
  assert.equal(parts.at(-1).eval_count, whole.eval_count);
});
await check(name('num_predict'), async () => {
  const r = await client.chat({ ...base, options: { num_predict: 5 }, messages: user('Tell me a story.') });
  assert.equal(r.done_reason, 'length');
  assert.equal(r.eval_count, 5);
});
await check(name('generate, raw and not'), async () => {
  const r = await client.generate({ ...base, prompt: 'What is the capital of France?' });
  assert.match(r.response, /Paris/);
  const raw = await client.generate({ ...base, raw: true, prompt: 'The capital of France is' });
  assert.match(raw.response, /Paris/);
  let text = '';
  for await (const part of await client.generate({ ...base, prompt: 'What is the capital of France?', stream: true })) text += part.response;
  assert.equal(text, r.response);
});
await check(name('format'), async () => {
  const any = await client.chat({ ...base, format: 'json', messages: user('Answer in JSON: What is the capital of France?') });
  assert.equal(typeof JSON.parse(any.message.content), 'object');
  const r = await client.chat({ ...base, format: schema({ size: { type: 'string', enum: ['small', 'big'] }, capital: { type: 'boolean' } }), messages: user('Tell me about Oslo.') });
  const o = JSON.parse(r.message.content);
  assert(['small', 'big'].includes(o.size) && typeof o.capital === 'boolean');
});
await check(name('a call of a tool, and its result'), async () => {
  const messages = user('What is the weather in Paris?');
  const r = await client.chat({ ...base, tools, messages });
  const [call] = r.message.tool_calls;
  assert.equal(call.function.name, weather.name);
  assert.deepEqual(call.function.arguments, { city: 'Paris' });
  const found = { role: 'tool', tool_name: call.function.name, content: JSON.stringify(weather.run(call.function.arguments)) };
  const last = await client.chat({ ...base, tools, messages: [...messages, r.message, found] });
  assert.match(last.message.content, /21/);
});
await check(name('a streamed call'), async () => {
  const calls = [];
  for await (const part of await client.chat({ ...base, tools, messages: user('What is the weather in Oslo?'), stream: true })) calls.push(...(part.message.tool_calls ?? []));
  assert.deepEqual(calls.map((c) => c.function.arguments), [{ city: 'Oslo' }]);
});
await check(name('a client that leaves'), async () => {
  const s = await client.chat({ ...base, messages: user('Write a very long story.'), stream: true });
  await assert.rejects(async () => { for await (const _ of s) s.abort(); }, /abort/i);
  assert((await client.chat({ ...base, messages: user('hello') })).message.content);
});
await check(name('embed'), async () => {
  const model = process.env.EMBED_MODEL ?? MODEL;
  const r = await client.embed({ model, input: ['hello', 'goodbye'] });
  assert.equal(r.embeddings.length, 2);
  assert.equal(r.embeddings[0].length, r.embeddings[1].length);
  assert(Math.abs(Math.hypot(...r.embeddings[0]) - 1) < 1e-4);
  assert.equal((await client.embeddings({ model, prompt: 'hello' })).embedding.length, r.embeddings[0].length);
});
await check(name('list, show, ps, version'), async () => {
  const { models } = await client.list();
  const mine = models.find((m) => m.name === MODEL);
  assert.match(mine.digest, /^[0-9a-f]{64}$/);
  assert(mine.size > 0 && mine.details.format === 'gguf');
  const shown = await client.show({ model: MODEL + ':latest' });
  assert.deepEqual(shown.capabilities.slice(0, 2), ['completion', 'tools']);
  assert.equal(shown.model_info['general.architecture'], 'llama');
  assert((await client.ps()).models.some((m) => m.name === MODEL));
  assert.match((await client.version()).version, /./);
});
await check(name('errors say what is wrong'), async () => {
  await assert.rejects(client.chat({ ...base, model: 'none', messages: user('x') }), /none/);
  await assert.rejects(client.generate({ ...base, prompt: 'x', suffix: 'y' }), /suffix/);
  await assert.rejects(client.chat({ ...base, messages: [{ role: 'user', content: 'x', images: ['AA=='] }] }), /images/);
});
done();
