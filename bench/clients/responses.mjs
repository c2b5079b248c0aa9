// OpenAI's own client, and Vercel's provider for OpenAI, against /v1/responses.
import { createOpenAI } from '@ai-sdk/openai';
import { Output, generateText, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { BASE, KEY, MODEL, add, assert, check, done, weather } from './check.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const client = new OpenAI({ baseURL: BASE, apiKey: KEY, maxRetries: 0 });
const model = MODEL;
const ask = (input, more) => ({ model, input, temperature: 0, max_output_tokens: 200, ...more });
const question = 'What is the capital of France?';
const Place = z.object({ size: z.enum(['small', 'big']), capital: z.boolean(), people: z.number().int().min(0).max(99), name: z.string().max(12) });
const weatherTool = {
  type: 'function', name: weather.name, description: weather.description, strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
};

async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

const name = (what) => `openai, responses: ${what}`;

await check(name('create'), async () => {
  const r = await client.responses.create(ask(question, { instructions: 'Be brief.', metadata: { a: 'b' } }));
  assert.equal(r.status, 'completed');
  assert(/Paris/.test(r.output_text), r.output_text);
  assert(r.usage.input_tokens > 0 && r.usage.total_tokens === r.usage.input_tokens + r.usage.output_tokens);
  assert.deepEqual(r.metadata, { a: 'b' });
});
await check(name('a stream is what create answers'), async () => {
  const whole = await client.responses.create(ask('Tell me a story.'));
  const events = await collect(await client.responses.create(ask('Tell me a story.', { stream: true })));
  assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, i) => i));
  const text = events.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join('');
  assert.equal(text, whole.output_text);
  const last = events.at(-1);
  assert(['response.completed', 'response.incomplete'].includes(last.type));
  assert.equal(last.response.status, whole.status);
  assert.equal(last.response.output[0].content[0].text, text);
  assert.deepEqual(last.response.usage.output_tokens, whole.usage.output_tokens);
});
await check(name('the helper for streams'), async () => {
  const stream = client.responses.stream(ask(question));
  let text = '';
  stream.on('response.output_text.delta', (e) => { text += e.delta; });
  const final = await stream.finalResponse();
  assert.equal(text, final.output_text);
});
await check(name('a client that leaves'), async () => {
  const stream = await client.responses.create(ask('Tell me a story.', { stream: true }));
  for await (const event of stream) if (event.type === 'response.output_text.delta') break;
  assert.equal((await client.responses.create(ask(question))).status, 'completed');
});
await check(name('a reply that is cut off'), async () => {
  const r = await client.responses.create(ask('Tell me a story.', { max_output_tokens: 3 }));
  assert.equal(r.status, 'incomplete');
  assert.equal(r.incomplete_details.reason, 'max_output_tokens');
  assert.equal(r.output[0].status, 'incomplete');
});

await check(name('a call, its output, an answer'), async () => {
  const first = await client.responses.create(ask('What is the weather in Oslo?', { tools: [weatherTool] }));
  const calls = first.output.filter((item) => item.type === 'function_call');
  assert.deepEqual(calls.map((c) => [c.name, JSON.parse(c.arguments)]), [['get_weather', { city: 'Oslo' }]]);
  const output = calls.map((c) => ({ type: 'function_call_output', call_id: c.call_id, output: JSON.stringify(weather.run(JSON.parse(c.arguments))) }));
  const second = await client.responses.create(ask(output, { tools: [weatherTool], previous_response_id: first.id }));
  assert(/21/.test(second.output_text), second.output_text);
  const sent = await client.responses.create(ask([{ role: 'user', content: 'What is the weather in Oslo?' }, ...first.output, ...output], { tools: [weatherTool], store: false }));
  assert.equal(sent.output_text, second.output_text);
});
await check(name('a call is streamed'), async () => {
  const events = await collect(await client.responses.create(ask('What is the weather in Paris?', { tools: [weatherTool], tool_choice: { type: 'function', name: 'get_weather' }, parallel_tool_calls: false, stream: true })));
  const text = events.filter((e) => e.type === 'response.function_call_arguments.delta').map((e) => e.delta).join('');
  const whole = events.find((e) => e.type === 'response.function_call_arguments.done');
  assert.equal(text, whole.arguments);
  assert.deepEqual(events.at(-1).response.output.map((item) => [item.type, item.name, item.status]), [['function_call', 'get_weather', 'completed']]);
});
await check(name('tool_choice none'), async () => {
  const r = await client.responses.create(ask(question, { tools: [weatherTool], tool_choice: 'none' }));
  assert(r.output.every((item) => item.type === 'message'));
});
await check(name('tools of OpenAI are left out, with a warning'), async () => {
  const { data, response } = await client.responses.create(ask(question, { tools: [{ type: 'web_search' }] })).withResponse();
  assert.equal(data.status, 'completed');
  assert.match(response.headers.get('x-quern-warning'), /web_search/);
});

await check(name('previous_response_id'), async () => {
  const first = await client.responses.create(ask(question));
  const second = await client.responses.create(ask('And of Italy?', { previous_response_id: first.id }));
  assert.equal(second.previous_response_id, first.id);
  assert(second.usage.input_tokens > first.usage.total_tokens);
  const items = await collect(client.responses.inputItems.list(second.id, { order: 'asc', limit: 2 }));
  assert.deepEqual(items.map((item) => item.role), ['user', 'assistant', 'user']);
});
await check(name('retrieve and delete'), async () => {
  const r = await client.responses.create(ask(question));
  const again = await client.responses.retrieve(r.id);
  assert.equal(again.output_text ?? again.output[0].content[0].text, r.output_text);
  await client.responses.delete(r.id);
  await assert.rejects(client.responses.retrieve(r.id), (err) => err.status === 404 && err.code === 'not_found');
  await assert.rejects(client.responses.create(ask('x', { previous_response_id: r.id })), (err) => err.status === 404 && err.code === 'previous_response_not_found');
});
await check(name('parse'), async () => {
  const r = await client.responses.parse(ask('Tell me about Paris.', { text: { format: zodTextFormat(Place, 'place') } }));
  Place.strict().parse(r.output_parsed);
});
await check(name('input tokens'), async () => {
  const n = await client.responses.inputTokens.count({ model, input: question });
  const r = await client.responses.create(ask(question));
  assert.equal(n.input_tokens, r.usage.input_tokens);
});

await check(name('in the background'), async () => {
  let r = await client.responses.create(ask(question, { background: true }));
  while (['queued', 'in_progress'].includes(r.status)) {
    await new Promise((resume) => setTimeout(resume, 50));
    r = await client.responses.retrieve(r.id);
  }
  assert.equal(r.status, 'completed');
  assert(/Paris/.test(r.output[0].content[0].text));
});
await check(name('in the background, streamed again'), async () => {
  const first = await collect(await client.responses.create(ask(question, { background: true, stream: true })));
  const id = first[0].response.id;
  assert.equal(first.at(-1).type, 'response.completed');
  const again = await collect(await client.responses.retrieve(id, { stream: true, starting_after: 3 }));
  assert.deepEqual(again, first.slice(4));
});
await check(name('cancelled'), async () => {
  const r = await client.responses.create(ask('Tell me a story.', { background: true, max_output_tokens: 4000, ignore_eos: true }));
  assert.equal((await client.responses.cancel(r.id)).status, 'cancelled');
  assert.equal((await client.responses.retrieve(r.id)).status, 'cancelled');
});
await check(name('an error'), async () => {
  await assert.rejects(client.responses.create(ask(question, { model: 'no-such-model' })), (err) => err.status === 404 && err.code === 'model_not_found');
  await assert.rejects(client.responses.create(ask([{ role: 'user', content: [{ type: 'input_image', image_url: 'data:' }] }])), (err) => err.status === 400 && err.code === 'unsupported_content');
});

// Vercel's provider speaks Responses unless it is told otherwise, and refers to stored items.
const vercel = createOpenAI({ baseURL: BASE, apiKey: KEY })(MODEL);
const options = { model: vercel, temperature: 0, maxOutputTokens: 200, maxRetries: 0 };
const tools = {
  get_weather: tool({ description: weather.description, inputSchema: z.object({ city: z.string() }), execute: weather.run }),
  add: tool({ description: add.description, inputSchema: z.object({ a: z.number().int(), b: z.number().int() }), execute: add.run }),
};

await check('vercel, responses: generateText', async () => {
  const r = await generateText({ ...options, prompt: question, system: 'Be brief.' });
  assert(/Paris/.test(r.text), r.text);
  assert.equal(r.finishReason, 'stop');
  assert(r.usage.inputTokens > 0 && r.usage.outputTokens > 0);
});
await check('vercel, responses: streamText', async () => {
  const whole = await generateText({ ...options, prompt: 'Tell me a story.' });
  const s = streamText({ ...options, prompt: 'Tell me a story.', onError: ({ error }) => { throw error; } });
  assert.equal((await collect(s.textStream)).join(''), whole.text);
  assert.equal((await s.usage).outputTokens, whole.usage.outputTokens);
});
await check('vercel, responses: steps: a call, its result, an answer', async () => {
  const r = await generateText({ ...options, prompt: 'What is the weather in Oslo?', tools, stopWhen: stepCountIs(4) });
  assert.equal(r.steps.length, 2);
  assert.deepEqual(r.steps[0].toolResults.map((x) => x.output), [{ city: 'Oslo', celsius: 21 }]);
  assert(/21/.test(r.text), r.text);
});
await check('vercel, responses: steps, streamed', async () => {
  const s = streamText({ ...options, prompt: 'What is 17 + 25?', tools, stopWhen: stepCountIs(4), onError: ({ error }) => { throw error; } });
  await collect(s.fullStream);
  assert.equal((await s.steps).length, 2);
  assert(/42/.test(await s.text), await s.text);
});
await check('vercel, responses: steps without anything stored', async () => {
  const r = await generateText({ ...options, prompt: 'What is the weather in Oslo?', tools, stopWhen: stepCountIs(4), providerOptions: { openai: { store: false } } });
  assert.equal(r.steps.length, 2);
  assert(/21/.test(r.text), r.text);
});
await check('vercel, responses: an answer of a schema', async () => {
  const r = await generateText({ ...options, prompt: 'Tell me about Paris.', output: Output.object({ schema: Place }) });
  Place.strict().parse(r.output);
});

done();
