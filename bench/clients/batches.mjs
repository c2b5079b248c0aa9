// OpenAI's own client against /v1/files and /v1/batches.
import { readFileSync } from 'node:fs';
import OpenAI, { toFile } from 'openai';

import { BASE, KEY, MODEL, assert, check, done } from './check.mjs';

const client = new OpenAI({ baseURL: BASE, apiKey: KEY, maxRetries: 0 });
const name = (what) => `openai, batches: ${what}`;
const EMBED = process.env.EMBED_MODEL ?? MODEL;

const line = (id, url, body) => JSON.stringify({ custom_id: id, method: 'POST', url, body });
const chat = (id, more) => line(id, '/v1/chat/completions', { model: MODEL, messages: [{ role: 'user', content: 'What is the capital of France?' }], temperature: 0, max_tokens: 20, ...more });
const upload = async (lines, more) => client.files.create({ file: await toFile(Buffer.from(lines.join('\n') + '\n'), 'in.jsonl'), purpose: 'batch', ...more });
const start = (file, endpoint, more) => client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h', ...more });

async function over(batch) {
  for (;;) {
    const b = await client.batches.retrieve(batch.id);
    if (['completed', 'failed', 'expired', 'cancelled'].includes(b.status)) return b;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function lines(id) {
  const text = await (await client.files.content(id)).text();
  return text.trim().split('\n').map((l) => JSON.parse(l));
}

await check(name('a file comes, is listed, read and removed'), async () => {
  const f = await client.files.create({ file: await toFile(Buffer.from('hello'), 'a.txt'), purpose: 'user_data', expires_after: { anchor: 'created_at', seconds: 3600 } });
  assert.equal(f.object, 'file');
  assert.equal(f.bytes, 5);
  assert.equal(f.filename, 'a.txt');
  assert.equal(f.expires_at, f.created_at + 3600);
  assert.deepEqual(await client.files.retrieve(f.id), f);
  assert.equal(await (await client.files.content(f.id)).text(), 'hello');
  const all = [];
  for await (const x of client.files.list({ limit: 1 })) all.push(x.id);
  assert(all.includes(f.id), 'it is not in the list');
  assert((await client.files.delete(f.id)).deleted);
  await assert.rejects(client.files.retrieve(f.id), (e) => e.status === 404);
});
await check(name('paging goes over all files, newest first'), async () => {
  const made = [];
  for (let i = 0; i < 5; i++) made.unshift((await upload([chat(`c${i}`)])).id);
  const got = [];
  for await (const f of client.files.list({ limit: 2, purpose: 'batch' })) got.push(f.id);
  assert.deepEqual(got.slice(0, 5), made);
  const first = await client.files.list({ limit: 2, order: 'asc', purpose: 'batch' });
  assert.equal(first.data.length, 2);
  assert(first.has_more);
});
await check(name('chats'), async () => {
  const b = await start(await upload([chat('a'), chat('b', { max_tokens: -7 }), chat('c')]), '/v1/chat/completions', { metadata: { of: 'a test' } });
  assert.equal(b.object, 'batch');
  assert.equal(b.status, 'validating');
  const end = await over(b);
  assert.equal(end.status, 'completed');
  assert.deepEqual(end.request_counts, { total: 3, completed: 2, failed: 1 });
  assert.deepEqual(end.metadata, { of: 'a test' });
  assert(end.in_progress_at && end.finalizing_at && end.completed_at && end.expires_at === end.created_at + 86400);
  const out = await lines(end.output_file_id);
  assert.deepEqual(out.map((l) => l.custom_id), ['a', 'c']);
  const alone = await client.chat.completions.create({ model: MODEL, messages: [{ role: 'user', content: 'What is the capital of France?' }], temperature: 0, max_tokens: 20 });
  for (const l of out) {
    assert.equal(l.error, null);
    assert.equal(l.response.status_code, 200);
    assert.equal(l.response.body.choices[0].message.content, alone.choices[0].message.content);
  }
  const [bad] = await lines(end.error_file_id);
  assert.equal(bad.custom_id, 'b');
  assert.equal(bad.response.status_code, 400);
  assert.equal(bad.response.body.error.param, 'max_tokens');
  assert.equal((await client.files.retrieve(end.output_file_id)).purpose, 'batch_output');
});
await check(name('embeddings'), async () => {
  const end = await over(await start(await upload([line('a', '/v1/embeddings', { model: EMBED, input: 'hello' })]), '/v1/embeddings'));
  const [l] = await lines(end.output_file_id);
  const alone = await client.embeddings.create({ model: EMBED, input: 'hello', encoding_format: 'float' });
  assert.deepEqual(l.response.body.data[0].embedding, alone.data[0].embedding);
});
await check(name('completions'), async () => {
  const end = await over(await start(await upload([line('a', '/v1/completions', { model: MODEL, prompt: 'Once', max_tokens: 5 })]), '/v1/completions'));
  assert.equal((await lines(end.output_file_id))[0].response.body.object, 'text_completion');
});
await check(name('responses'), async () => {
  const end = await over(await start(await upload([line('a', '/v1/responses', { model: MODEL, input: 'Hello', max_output_tokens: 20 })]), '/v1/responses'));
  assert.equal((await lines(end.output_file_id))[0].response.body.object, 'response');
});
if (process.env.AUDIO && (await client.models.list()).data.some((m) => m.id === 'quern-tiny-ear')) {
  await check(name('transcriptions of an uploaded file'), async () => {
    const sound = await client.files.create({ file: await toFile(readFileSync(process.env.AUDIO), 'a.wav'), purpose: 'user_data' });
    const ask = (id, more) => line(id, '/v1/audio/transcriptions', { model: 'quern-tiny-ear', file: sound.id, ...more });
    const end = await over(await start(await upload([ask('a'), ask('b', { response_format: 'srt' }), ask('c', { file: 'file-none' })]), '/v1/audio/transcriptions'));
    const out = await lines(end.output_file_id);
    assert.equal(typeof out[0].response.body.text, 'string');
    assert.match(out[1].response.body, /-->/);
    assert.equal((await lines(end.error_file_id))[0].response.status_code, 404);
  });
}
await check(name('a bad file fails, and says where'), async () => {
  const end = await over(await start(await upload([chat('a'), 'nonsense', chat('a'), chat('d', { model: 'other' })]), '/v1/chat/completions'));
  assert.equal(end.status, 'failed');
  assert.deepEqual(end.errors.data.map((e) => e.line), [2, 3, 4]);
  assert.equal(end.request_counts.completed, 0);
  assert(end.failed_at && !end.output_file_id);
});
await check(name('cancel'), async () => {
  const many = Array.from({ length: 3000 }, (_, i) => chat(`c${i}`, { max_tokens: 200, ignore_eos: true }));
  const b = await start(await upload(many), '/v1/chat/completions');
  const c = await client.batches.cancel(b.id);
  assert(['cancelling', 'cancelled'].includes(c.status), c.status);
  const end = await over(b);
  assert.equal(end.status, 'cancelled');
  assert(end.cancelled_at && end.request_counts.completed < 3000);
  await assert.rejects(client.batches.cancel((await over(await start(await upload([chat('x')]), '/v1/chat/completions'))).id), (e) => e.status === 409);
});
await check(name('the list pages, newest first'), async () => {
  const got = [];
  for await (const b of client.batches.list({ limit: 2 })) got.push(b.created_at);
  assert(got.length >= 6);
  assert.deepEqual(got, [...got].sort((a, b) => b - a));
});
await check(name('what is refused'), async () => {
  const f = await upload([chat('a')]);
  for (const [body, status] of [
    [{ input_file_id: 'file-none', endpoint: '/v1/chat/completions', completion_window: '24h' }, 404],
    [{ input_file_id: f.id, endpoint: '/v1/moderations', completion_window: '24h' }, 400],
    [{ input_file_id: f.id, endpoint: '/v1/chat/completions', completion_window: 'soon' }, 400],
  ]) await assert.rejects(client.batches.create(body), (e) => e.status === status);
  await assert.rejects(upload(Array(50001).fill('x')), (e) => e.status === 413);
});
done();
