// Vercel's AI SDK against quern, through both of its providers that speak OpenAI's chat API.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Output, embedMany, generateObject, generateText, hasToolCall, stepCountIs, streamObject, streamText, tool } from 'ai';
import { z } from 'zod';

import { BASE, KEY, MODEL, add, assert, check, done, weather } from './check.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const compatible = createOpenAICompatible({ name: 'quern', baseURL: BASE, apiKey: KEY, supportsStructuredOutputs: true, includeUsage: true });
const plain = createOpenAICompatible({ name: 'quern', baseURL: BASE, apiKey: KEY });
const openai = createOpenAI({ baseURL: BASE, apiKey: KEY });
const anthropic = createAnthropic({ baseURL: BASE, apiKey: KEY });

const options = { temperature: 0, maxOutputTokens: 200, maxRetries: 0 };
const Place = z.object({ size: z.enum(['small', 'big']), capital: z.boolean(), people: z.number().int().min(0).max(99), name: z.string().max(12) });
const question = 'Tell me about Paris.';
const story = 'Tell me a story.'; // long enough to come in several pieces, however slowly they are read
const city = z.object({ city: z.string() });
const numbers = z.object({ a: z.number().int(), b: z.number().int() });
const tools = {
  get_weather: tool({ description: weather.description, inputSchema: city, execute: weather.run }),
  add: tool({ description: add.description, inputSchema: numbers, execute: add.run }),
};
// Without execute calls end the reply.
const shown = {
  get_weather: tool({ description: weather.description, inputSchema: city }),
  add: tool({ description: add.description, inputSchema: numbers }),
};

async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

for (const [provider, model] of [['openai-compatible', compatible.chatModel(MODEL)], ['openai', openai.chat(MODEL)], ['anthropic', anthropic(MODEL)]]) {
  const name = (what) => `vercel, ${provider}: ${what}`;
  const ask = (prompt, more) => ({ model, ...options, prompt, ...more });

  await check(name('generateText'), async () => {
    const r = await generateText(ask('What is the capital of France?', { system: 'Be brief.' }));
    assert(r.text.length > 0);
    assert.equal(r.finishReason, 'stop');
    assert(r.usage.inputTokens > 0 && r.usage.outputTokens > 0);
    assert.equal(r.toolCalls.length, 0);
  });
  await check(name('streamText is what generateText answers'), async () => {
    const whole = await generateText(ask(story));
    const s = streamText(ask(story, { onError: ({ error }) => { throw error; } }));
    const parts = await collect(s.textStream);
    assert(parts.length > 2);
    assert.equal(parts.join(''), whole.text);
    assert.equal(await s.finishReason, whole.finishReason);
    assert.equal((await s.usage).outputTokens, whole.usage.outputTokens);
  });
  await check(name('a client that leaves'), async () => {
    const abort = new AbortController();
    const s = streamText(ask('Tell me a story.', { abortSignal: abort.signal, onError() {} }));
    for await (const part of s.fullStream) {
      if (part.type === 'text-delta') abort.abort();
    }
    assert((await generateText(ask('Hello!'))).text.length > 0);
  });

  await check(name('generateObject'), async () => {
    const r = await generateObject(ask(question, { schema: Place, schemaName: 'place', schemaDescription: 'A place' }));
    Place.strict().parse(r.object);
    assert.equal(r.finishReason, 'stop');
  });
  await check(name('generateObject, an array'), async () => {
    // Nothing bounds the array, so a small model may go on until it is cut off.
    const list = await generateObject(ask(question, { output: 'array', schema: z.object({ size: z.enum(['small', 'big']) }) }))
      .then((r) => r.object, (err) => {
        assert.equal(err.finishReason, 'length');
        return JSON.parse(err.text.slice(0, err.text.lastIndexOf('}') + 1) + ']}').elements;
      });
    assert(list.every((x) => ['small', 'big'].includes(x.size)));
  });
  await check(name('generateObject, one of a list'), async () => {
    const r = await generateObject(ask(question, { output: 'enum', enum: ['town', 'river'] }));
    assert(['town', 'river'].includes(r.object));
  });
  await check(name('streamObject'), async () => {
    const s = streamObject(ask(question, { schema: Place, onError: ({ error }) => { throw error; } }));
    const parts = await collect(s.partialObjectStream);
    assert(parts.length > 0);
    for (const part of parts) Place.partial().extend({ size: z.string().optional() }).parse(part);
    const whole = await s.object;
    Place.strict().parse(whole);
    assert.deepEqual(parts.at(-1), whole);
  });
  await check(name('Output.object'), async () => {
    const r = await generateText(ask(question, { output: Output.object({ schema: Place }) }));
    Place.strict().parse(r.output);
  });
  await check(name('a schema that cannot be kept to'), async () => {
    await assert.rejects(generateObject(ask(question, { schema: z.object({ a: z.string().regex(/(?=x)y/) }) })),
      (err) => err.statusCode === 400 && /pattern/.test(err.message));
  });

  await check(name('toolChoice required'), async () => {
    const r = await generateText(ask(question, { tools: shown, toolChoice: 'required' }));
    assert.equal(r.finishReason, 'tool-calls');
    assert(r.toolCalls.length > 0 && r.toolCalls.every((c) => c.toolCallId && !c.invalid && c.toolName in shown));
  });
  await check(name('toolChoice by name'), async () => {
    const r = await generateText(ask('What is 2 + 3?', { tools: shown, toolChoice: { type: 'tool', toolName: 'add' } }));
    assert(r.toolCalls.length > 0 && r.toolCalls.every((c) => c.toolName === 'add' && Number.isInteger(c.input.a) && Number.isInteger(c.input.b)));
  });
  await check(name('toolChoice none'), async () => {
    const r = await generateText(ask('What is the capital of France?', { tools: shown, toolChoice: 'none' }));
    assert.equal(r.toolCalls.length, 0);
    assert(r.text.length > 0);
  });
  await check(name('a call is streamed'), async () => {
    const s = streamText(ask('What is the weather in Oslo?', { tools: shown, toolChoice: { type: 'tool', toolName: 'get_weather' }, onError: ({ error }) => { throw error; } }));
    const parts = await collect(s.fullStream);
    const of = (type) => parts.filter((p) => p.type === type);
    assert.equal(of('error').length, 0);
    assert(of('tool-input-start').length > 0 && of('tool-input-delta').length > 0);
    assert.equal(of('tool-input-start').length, of('tool-input-end').length);
    const call = of('tool-call')[0];
    const args = of('tool-input-delta').filter((p) => p.id === call.toolCallId).map((p) => p.delta).join('');
    assert.deepEqual(JSON.parse(args), call.input);
    assert.equal(await s.finishReason, 'tool-calls');
  });
  await check(name('the model chooses to call'), async () => {
    const r = await generateText(ask('What is the weather in Paris?', { tools: shown }));
    assert.deepEqual(r.toolCalls.map((c) => [c.toolName, c.input]), [['get_weather', { city: 'Paris' }]]);
  });
  await check(name('the model chooses to answer'), async () => {
    const r = await generateText(ask('What is the capital of France?', { tools }));
    assert(/Paris/.test(r.text), r.text);
  });
  await check(name('steps: a call, its result, an answer'), async () => {
    const r = await generateText(ask('What is the weather in Oslo?', { tools, stopWhen: stepCountIs(4) }));
    assert.equal(r.steps.length, 2);
    assert.deepEqual(r.steps[0].toolResults.map((x) => x.output), [{ city: 'Oslo', celsius: 21 }]);
    assert(/21/.test(r.text), r.text);
  });
  await check(name('steps, streamed'), async () => {
    const s = streamText(ask('What is 17 + 25?', { tools, stopWhen: stepCountIs(4), onError: ({ error }) => { throw error; } }));
    const parts = await collect(s.fullStream);
    assert.equal(parts.filter((p) => p.type === 'finish-step').length, 2);
    assert(/42/.test(await s.text), await s.text);
  });
  await check(name('steps, then an answer of a schema'), async () => {
    // The built-in model would go on calling: what else a schema allows is no answer it was taught.
    const prepareStep = ({ stepNumber }) => (stepNumber > 0 ? { toolChoice: 'none' } : {});
    const r = await generateText(ask('What is the weather in Oslo?', { tools, stopWhen: stepCountIs(4), prepareStep, output: Output.object({ schema: Place }) }));
    assert.equal(r.steps.length, 2);
    assert.deepEqual(r.steps[0].toolResults.map((x) => x.output), [{ city: 'Oslo', celsius: 21 }]);
    Place.strict().parse(r.output);
  });
  await check(name('steps that end with a call'), async () => {
    const r = await generateText(ask('What is the weather in Oslo?', { tools, stopWhen: hasToolCall('get_weather') }));
    assert.equal(r.steps.length, 1);
    assert.equal(r.toolResults.length, 1);
  });
}

await check('vercel, openai-compatible: generateObject by json_object', async () => {
  // Without supportsStructuredOutputs the schema is only told to the model, in words. What it
  // answers is an object all the same, if perhaps another one.
  const text = await generateObject({ model: plain.chatModel(MODEL), ...options, maxOutputTokens: 600, prompt: question, schema: z.looseObject({}) })
    .then((r) => JSON.stringify(r.object), (err) => (err.finishReason === 'length' ? '{}' : err.text));
  assert(JSON.parse(text) instanceof Object);
});
await check('vercel, openai-compatible: embedMany', async () => {
  const r = await embedMany({ model: compatible.embeddingModel(MODEL), values: ['Hello', 'The capital of France'], maxRetries: 0 });
  assert.equal(r.embeddings.length, 2);
  assert(r.usage.tokens > 0);
});

done();
