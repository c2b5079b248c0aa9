// What editors' plugins of llama.cpp (llama.vim, llama.vscode) and its other clients ask a
// llama-server, in their own words: probes, completions and infilling.
import { BASE, KEY, assert, check, done } from './check.mjs';

const root = BASE.replace(/\/v1$/, '');
const MODEL = 'quern-tiny-infill'; // go run ./bench/infill
const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
const get = async (path) => {
  const r = await fetch(root + path, { headers });
  return { status: r.status, body: await r.json() };
};
const post = async (path, body) => {
  const r = await fetch(root + path, { method: 'POST', headers, body: JSON.stringify({ model: MODEL, ...body }) });
  return { status: r.status, body: await r.json() };
};
const name = (what) => `llama-server: ${what}`;

// What llama.vim sends while one types, and before, to have the files read.
const ring = [{ filename: 'a.go', text: 'package a\n\nfunc one() int { return 1 }\n', time: 1 }, { filename: 'b.go', text: 'package a\n', time: 2 }];
const typing = {
  input_prefix: 'Once upon a time, ', input_suffix: ' The end.\n', input_extra: ring, prompt: 'there was ',
  n_predict: 24, stop: [], n_indent: 0, top_k: 40, top_p: 0.9, samplers: ['top_k', 'top_p', 'infill'], cache_prompt: true,
  t_max_prompt_ms: 500, t_max_predict_ms: 1000,
  response_fields: ['content', 'timings/prompt_n', 'timings/prompt_ms', 'timings/prompt_per_token_ms', 'timings/prompt_per_second', 'timings/predicted_n',
    'timings/predicted_ms', 'timings/predicted_per_token_ms', 'timings/predicted_per_second', 'truncated', 'tokens_cached'],
};

await check(name('health'), async () => assert.deepEqual((await get('/health')).body, { status: 'ok' }));
await check(name('props'), async () => {
  const { body: p } = await get(`/props?model=${MODEL}`);
  assert.equal(p.default_generation_settings.n_ctx, 1024);
  assert(p.total_slots > 0);
  assert.equal(p.model_alias, MODEL);
  assert.match(p.chat_template, /im_start/);
  assert.equal(p.eos_token, '<|im_end|>');
  assert.match(p.build_info, /^quern/);
  assert.equal((await post('/props', {})).status, 501);
});
await check(name('slots'), async () => {
  const { body: slots } = await get(`/slots?model=${MODEL}`);
  const { body: p } = await get(`/props?model=${MODEL}`);
  assert.equal(slots.length, p.total_slots);
  assert(slots.every((s, i) => s.id === i && s.n_ctx === 1024 && s.is_processing === false));
  assert.equal((await get(`/slots?model=${MODEL}&fail_on_no_slot=1`)).status, 200);
});
await check(name('infill, as an editor asks for it'), async () => {
  const { status, body } = await post('/infill', typing);
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body).sort(), [...typing.response_fields].sort());
  assert.equal(typeof body.content, 'string');
  assert(body['timings/predicted_n'] <= 24 && body['timings/prompt_n'] > 0);
});
await check(name('infill, to have files read'), async () => {
  const { status, body } = await post('/infill', { ...typing, prompt: '', n_predict: 0, samplers: [], t_max_predict_ms: 1, response_fields: [''] });
  assert.equal(status, 200);
  assert.deepEqual(body, {});
});
await check(name('what was read is not read again'), async () => {
  const ask = { ...typing, input_prefix: 'word '.repeat(200), n_predict: 1, response_fields: ['timings/cache_n', 'tokens_evaluated'] };
  await post('/infill', ask);
  const { body } = await post('/infill', ask);
  assert(body['timings/cache_n'] > body.tokens_evaluated / 2, JSON.stringify(body));
});
await check(name('infill is refused where there are no tokens for it'), async () => {
  const { status, body } = await post('/infill', { ...typing, model: 'quern-tiny' });
  assert.equal(status, 400);
  assert.match(body.error.message, /quern-tiny.*fill in the middle/);
});
await check(name('a stream is what the completion says'), async () => {
  const ask = { prompt: 'Once upon a time', n_predict: 16, temperature: 0, n_probs: 2, return_tokens: true };
  const { body: whole } = await post('/completion', ask);
  const r = await fetch(`${root}/completion`, { method: 'POST', headers, body: JSON.stringify({ model: MODEL, ...ask, stream: true }) });
  const events = (await r.text()).split('\n').filter((l) => l.startsWith('data: ')).map((l) => JSON.parse(l.slice(6)));
  assert.equal(events.map((e) => e.content).join(''), whole.content);
  assert.deepEqual(events.flatMap((e) => e.tokens), whole.tokens);
  assert(events.slice(0, -1).every((e) => !e.stop) && events.at(-1).stop);
  assert.equal(events.at(-1).stop_type, 'limit');
  assert.equal(whole.tokens.length, 16);
  assert.equal(whole.completion_probabilities.length, 16);
  assert.equal(whole.completion_probabilities[0].top_logprobs.length, 2);
});
await check(name('a grammar'), async () => {
  const { body } = await post('/completion', { prompt: 'Is it so? ', grammar: 'root ::= "yes" | "no"' });
  assert.match(body.content, /^(yes|no)$/);
});
await check(name('a seed makes a completion again'), async () => {
  const { body: one } = await post('/completion', { prompt: 'Once upon a time', n_predict: 16 });
  const { body: two } = await post('/completion', { prompt: 'Once upon a time', n_predict: 16, seed: one.generation_settings.seed });
  assert.equal(two.content, one.content);
});
await check(name('apply-template leads to what the chat says'), async () => {
  const messages = [{ role: 'user', content: 'What is the capital of France?' }];
  const { body: t } = await post('/apply-template', { messages });
  const { body: c } = await post('/completion', { prompt: t.prompt, temperature: 0 });
  const { body: chat } = await post('/v1/chat/completions', { messages, temperature: 0 });
  assert.equal(c.content, chat.choices[0].message.content);
});
await check(name('tokenize and detokenize'), async () => {
  const { body } = await post('/tokenize', { content: 'Hello world', with_pieces: true });
  assert.equal(body.tokens.map((t) => t.piece).join('').replace('<|endoftext|>', ''), 'Hello world');
  const back = await post('/detokenize', { tokens: (await post('/tokenize', { content: 'Hello world', add_special: false })).body.tokens });
  assert.equal(back.body.content, 'Hello world');
});
done();
