// Anthropic's SDK against quern: /v1/messages, streamed and not, with tools, schemas and errors.
import Anthropic from '@anthropic-ai/sdk';

import { BASE, KEY, MODEL, add, assert, check, done, weather } from './check.mjs';

const client = new Anthropic({ baseURL: BASE.replace(/\/v1$/, ''), apiKey: KEY, maxRetries: 0 });
const base = { model: MODEL, max_tokens: 200, temperature: 0 };
const user = (content) => [{ role: 'user', content }];
const schema = (properties) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false });
const tools = [
  { name: weather.name, description: weather.description, input_schema: schema({ city: { type: 'string' } }) },
  { name: add.name, description: add.description, input_schema: schema({ a: { type: 'integer' }, b: { type: 'integer' } }) },
];
const runs = { [weather.name]: weather.run, [add.name]: add.run };
const name = (what) => `anthropic: ${what}`;

await check(name('a message'), async () => {
  const m = await client.messages.create({ ...base, system: 'Be brief.', messages: user('What is the capital of France?') });
  assert.equal(m.type, 'message');
  assert.equal(m.role, 'assistant');
  assert.equal(m.stop_reason, 'end_turn');
  assert.equal(m.content[0].type, 'text');
  assert.match(m.content[0].text, /Paris/);
  assert(m.usage.input_tokens + m.usage.cache_read_input_tokens > 0 && m.usage.output_tokens > 0);
  assert.match(m._request_id, /./);
});
await check(name('a stream is what the message says'), async () => {
  const ask = { ...base, messages: user('Tell me a story.') };
  const whole = await client.messages.create(ask);
  const s = client.messages.stream(ask);
  const parts = [];
  s.on('text', (t) => parts.push(t));
  const m = await s.finalMessage();
  assert(parts.length > 2);
  assert.equal(parts.join(''), whole.content[0].text);
  assert.deepEqual(m.content, whole.content);
  assert.equal(m.stop_reason, whole.stop_reason);
  assert.equal(m.usage.output_tokens, whole.usage.output_tokens);
});
await check(name('events in their order'), async () => {
  const types = [];
  for await (const e of await client.messages.create({ ...base, stream: true, messages: user('hello') })) if (e.type !== 'ping') types.push(e.type);
  assert.equal(types.filter((t) => t !== 'content_block_delta').join(' '), 'message_start content_block_start content_block_stop message_delta message_stop');
});
await check(name('max_tokens'), async () => {
  const m = await client.messages.create({ ...base, max_tokens: 5, messages: user('Tell me a story.') });
  assert.equal(m.stop_reason, 'max_tokens');
  assert.equal(m.usage.output_tokens, 5);
});
await check(name('stop_sequences'), async () => {
  const m = await client.messages.create({ ...base, stop_sequences: ['Paris'], messages: user('What is the capital of France?') });
  assert.equal(m.stop_reason, 'stop_sequence');
  assert.equal(m.stop_sequence, 'Paris');
  assert(!m.content[0].text.includes('Paris'));
});
await check(name('an answer that is begun is gone on with'), async () => {
  const m = await client.messages.create({ ...base, messages: [...user('What is the capital of France?'), { role: 'assistant', content: 'The capital of France is' }] });
  assert.match(m.content[0].text, /^ ?Paris/);
});
await check(name('a conversation of blocks'), async () => {
  const m = await client.messages.create({
    ...base,
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
    messages: [...user([{ type: 'text', text: 'hello' }]), { role: 'assistant', content: [{ type: 'text', text: 'Hello!' }] }, ...user('What is 2 + 3?')],
  });
  assert.match(m.content[0].text, /5/);
});
await check(name('count_tokens is what the message takes'), async () => {
  const ask = { model: MODEL, messages: user('What is the capital of Peru?'), tools };
  const { input_tokens: n } = await client.messages.countTokens(ask);
  const { usage } = await client.messages.create({ ...base, ...ask });
  assert.equal(n, usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens);
});
await check(name('a call of a tool, and its result'), async () => {
  const messages = user('What is the weather in Paris?');
  const m = await client.messages.create({ ...base, tools, messages });
  assert.equal(m.stop_reason, 'tool_use');
  const use = m.content.find((b) => b.type === 'tool_use');
  assert.equal(use.name, weather.name);
  assert.deepEqual(use.input, { city: 'Paris' });
  const results = [{ type: 'tool_result', tool_use_id: use.id, content: JSON.stringify(runs[use.name](use.input)) }];
  const last = await client.messages.create({ ...base, tools, messages: [...messages, { role: 'assistant', content: m.content }, ...user(results)] });
  assert.equal(last.stop_reason, 'end_turn');
  assert.match(last.content[0].text, /21/);
});
await check(name('a streamed call'), async () => {
  const s = client.messages.stream({ ...base, tools, messages: user('What is the weather in Oslo?') });
  let json = '';
  s.on('inputJson', (part) => { json += part; });
  const m = await s.finalMessage();
  const use = m.content.find((b) => b.type === 'tool_use');
  assert.deepEqual(use.input, { city: 'Oslo' });
  assert.deepEqual(JSON.parse(json), use.input);
});
await check(name('tool_choice any, a tool, none'), async () => {
  const ask = { ...base, tools, messages: user('hello') };
  const any = await client.messages.create({ ...ask, tool_choice: { type: 'any', disable_parallel_tool_use: true } });
  assert.equal(any.content.filter((b) => b.type === 'tool_use').length, 1);
  const one = await client.messages.create({ ...ask, tool_choice: { type: 'tool', name: 'add' } });
  assert(one.content.some((b) => b.type === 'tool_use' && b.name === 'add'));
  const none = await client.messages.create({ ...ask, messages: user('What is the weather in Paris?'), tool_choice: { type: 'none' } });
  assert(none.content.every((b) => b.type === 'text'));
});
await check(name('the runner of tools'), async () => {
  const runner = client.beta.messages.toolRunner({
    ...base, max_iterations: 4, messages: user('What is the weather in Rome?'),
    tools: tools.map((t) => ({ ...t, type: 'custom', run: async (input) => JSON.stringify(runs[t.name](input)), parse: (x) => x })),
  });
  const m = await runner;
  assert.match(m.content.find((b) => b.type === 'text').text, /21/);
});
await check(name('output_config holds the reply to a schema'), async () => {
  const m = await client.messages.create({
    ...base, messages: user('Tell me about Oslo.'),
    output_config: { format: { type: 'json_schema', schema: schema({ size: { type: 'string', enum: ['small', 'big'] }, capital: { type: 'boolean' } }) } },
  });
  const o = JSON.parse(m.content[0].text);
  assert(['small', 'big'].includes(o.size));
  assert.equal(typeof o.capital, 'boolean');
});
await check(name('a client that leaves'), async () => {
  const s = await client.messages.create({ ...base, max_tokens: 900, stream: true, messages: user('Write a very long story.') });
  for await (const e of s) if (e.type === 'content_block_delta') break;
  const m = await client.messages.create({ ...base, messages: user('hello') });
  assert(m.content.length > 0);
});
await check(name('errors are of the SDK’s classes'), async () => {
  await assert.rejects(client.messages.create({ ...base, model: 'none', messages: user('x') }), Anthropic.NotFoundError);
  await assert.rejects(client.messages.create({ ...base, messages: [] }), Anthropic.BadRequestError);
  await assert.rejects(client.messages.create({ ...base, messages: user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } }]) }),
    (e) => e instanceof Anthropic.BadRequestError && /image/.test(e.message));
  await assert.rejects(client.messages.create({ ...base, tools: [{ type: 'web_search_20250305', name: 'web_search' }], messages: user('x') }), /web_search/);
  if (KEY !== 'none') await assert.rejects(new Anthropic({ baseURL: client.baseURL, apiKey: 'wrong', maxRetries: 0 }).messages.create({ ...base, messages: user('x') }), Anthropic.AuthenticationError);
});
await check(name('models'), async () => {
  const all = [];
  for await (const m of client.models.list({ limit: 1 })) all.push(m);
  assert(all.some((m) => m.id === MODEL && m.type === 'model' && m.display_name && Date.parse(m.created_at)));
  assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
});
done();
