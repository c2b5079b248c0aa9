// Mastra's agents against quern: text, streams, tools over several steps, structured output.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

import { BASE, KEY, MODEL, add, assert, check, done, weather } from './check.mjs';

const provider = createOpenAICompatible({ name: 'quern', baseURL: BASE, apiKey: KEY, supportsStructuredOutputs: true, includeUsage: true });
const called = [];
const made = (t, inputSchema) =>
  createTool({
    id: t.name,
    description: t.description,
    inputSchema,
    execute: async (input) => {
      const args = input.context ?? input;
      called.push([t.name, args]);
      return t.run(args);
    },
  });
const tools = { [weather.name]: made(weather, z.object({ city: z.string() })), [add.name]: made(add, z.object({ a: z.number(), b: z.number() })) };
const agent = (more) => new Agent({ id: 'a', name: 'a', instructions: 'Be brief.', model: provider(MODEL), ...more });
const options = { modelSettings: { temperature: 0, maxOutputTokens: 200, maxRetries: 0 } };
const name = (what) => `mastra: ${what}`;

await check(name('generate'), async () => {
  const r = await agent().generate('What is the capital of France?', options);
  assert.match(r.text, /Paris/);
  assert.equal(r.finishReason, 'stop');
  assert(r.usage.outputTokens > 0);
});
await check(name('a stream is what generate says'), async () => {
  const whole = await agent().generate('Tell me a story.', options);
  const s = await agent().stream('Tell me a story.', options);
  const parts = [];
  for await (const t of s.textStream) parts.push(t);
  assert(parts.length > 2);
  assert.equal(parts.join(''), whole.text);
});
await check(name('a conversation'), async () => {
  const r = await agent().generate(
    [{ role: 'user', content: 'hello' }, { role: 'assistant', content: 'Hello!' }, { role: 'user', content: 'What is the capital of France?' }], options);
  assert.match(r.text, /Paris/);
});
await check(name('a tool is called and its result told'), async () => {
  called.length = 0;
  const r = await agent({ tools }).generate('What is the weather in Oslo?', { ...options, maxSteps: 3 });
  assert.deepEqual(called, [[weather.name, { city: 'Oslo' }]]);
  assert.match(r.text, /21/);
  assert.equal(r.steps.length, 2);
});
await check(name('a tool is called in a stream'), async () => {
  called.length = 0;
  const s = await agent({ tools }).stream('What is 17 plus 25?', { ...options, maxSteps: 3 });
  assert.match(await s.text, /42/);
  assert.deepEqual(called, [[add.name, { a: 17, b: 25 }]]);
});
await check(name('structured output'), async () => {
  const schema = z.object({ size: z.enum(['small', 'big']), capital: z.boolean() });
  const r = await agent().generate('Tell me about Paris.', { ...options, structuredOutput: { schema } });
  assert.doesNotThrow(() => schema.parse(r.object));
});
await check(name('an absent model'), async () => {
  await assert.rejects(agent({ model: provider('absent') }).generate('hello', options), /does not exist|not found|absent/);
});
done();
