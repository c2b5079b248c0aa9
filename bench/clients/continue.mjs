// Continue without its editor: its agent on the command line, and the part of it that speaks
// to models, with chats, streams with tools, completions, embeddings and ranking, by three of
// its providers.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { constructLlmApi } from '@continuedev/openai-adapters';

import { BASE, KEY, MODEL, assert, check, done, weather } from './check.mjs';

const root = BASE.replace(/\/v1$/, '');
const providers = {
  openai: { provider: 'openai', apiBase: `${BASE}/`, apiKey: KEY },
  'llama.cpp': { provider: 'llama.cpp', apiBase: `${BASE}/`, apiKey: KEY },
  anthropic: { provider: 'anthropic', apiBase: `${root}/v1/`, apiKey: KEY },
};
const base = { model: MODEL, temperature: 0, max_tokens: 200 };
const user = (content) => [{ role: 'user', content }];
const tools = [{
  type: 'function',
  function: { name: weather.name, description: weather.description, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
}];
const never = new AbortController().signal;

// collect puts the chunks of a stream together.
async function collect(stream) {
  const out = { text: '', name: '', args: '', chunks: 0 };
  for await (const c of stream) {
    const delta = c.choices?.[0]?.delta;
    if (!delta) continue;
    out.chunks++;
    out.text += delta.content ?? '';
    for (const t of delta.tool_calls ?? []) {
      out.name = t.function?.name ?? out.name; // some repeat it
      out.args += t.function?.arguments ?? '';
    }
  }
  return out;
}

for (const [provider, config] of Object.entries(providers)) {
  const api = constructLlmApi(config);
  const name = (what) => `continue, ${provider}: ${what}`;
  await check(name('a chat'), async () => {
    const r = await api.chatCompletionNonStream({ ...base, stream: false, messages: user('What is the capital of France?') }, never);
    assert.match(r.choices[0].message.content, /Paris/);
  });
  await check(name('a stream'), async () => {
    const whole = await api.chatCompletionNonStream({ ...base, stream: false, messages: user('Tell me a story.') }, never);
    const got = await collect(api.chatCompletionStream({ ...base, stream: true, messages: user('Tell me a story.') }, never));
    assert(got.chunks > 2);
    assert.equal(got.text, whole.choices[0].message.content);
  });
  await check(name('a call in a stream'), async () => {
    const got = await collect(api.chatCompletionStream({ ...base, stream: true, messages: user('What is the weather in Oslo?'), tools }, never));
    assert.equal(got.name, weather.name);
    assert.deepEqual(JSON.parse(got.args), { city: 'Oslo' });
  });
}

const api = constructLlmApi(providers.openai);
await check('continue: a text that goes on', async () => {
  let text = '';
  for await (const c of api.completionStream({ ...base, stream: true, prompt: 'Once upon a time', max_tokens: 20 }, never)) text += c.choices[0]?.text ?? '';
  assert(text.length > 20);
});
await check('continue: embeddings', async () => {
  const r = await api.embed({ model: MODEL, input: ['Hello', 'Hello'] });
  assert.deepEqual(r.data[0].embedding, r.data[1].embedding);
});
await check('continue: models', async () => {
  assert((await api.list()).some((m) => m.id === MODEL));
});
await check('continue: its agent answers', async () => {
  const home = mkdtempSync(join(tmpdir(), 'continue-'));
  try {
    const models = [{ name: 'tiny', provider: 'openai', model: MODEL, apiBase: BASE, apiKey: KEY, roles: ['chat'] }];
    writeFileSync(join(home, 'config.yaml'), JSON.stringify({ name: 'test', version: '0.0.1', schema: 'v1', models })); // YAML has JSON
    const cn = new URL('node_modules/@continuedev/cli/dist/cn.js', import.meta.url).pathname;
    // Its tools are described in more tokens than the built-in model reads.
    const args = [cn, '--print', '--config', join(home, 'config.yaml'), '--exclude', '*', 'What is the capital of France?'];
    const run = promisify(execFile)(process.execPath, args, { cwd: home, env: { ...process.env, HOME: home, CONTINUE_TELEMETRY_ENABLED: '0' } });
    run.child.stdin.end();
    const { stdout } = await run;
    assert.match(stdout, /Paris/);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
if (process.env.AUDIO?.startsWith('/')) {
  await check('continue: ranking', async () => {
    const r = await api.rerank({ model: process.env.RERANK_MODEL, query: 'capital of France', documents: ['bread', 'the capital of France is Paris'] });
    assert.equal((r.results ?? r.data)[0].index, 1);
  });
}
done();
