// ElevenLabs' WebSockets as its documents use them from Node, with `ws`; what is said and
// answered passes through the serialisers of the official @elevenlabs/elevenlabs-js.
import { createRequire } from 'node:module';
import WebSocket from 'ws';
import { ElevenLabsClient } from '@elevenlabs/elevenlabs-js';
import { assert, BASE, KEY, check, done } from './check.mjs';

const require = createRequire(import.meta.url);
const types = require('@elevenlabs/elevenlabs-js/serialization');
const voice = process.env.VOICE ?? '21m00Tcm4TlvDq8ikWAM';
const text = 'The twilight sun cast its warm golden hues upon the vast rolling fields, saturating the landscape with an ethereal glow. ' +
  'Silently, the meandering brook continued its ceaseless journey, whispering secrets only the trees seemed privy to.';

// connect opens a socket and collects what it says.
function connect(path, { query = '', headers = { 'xi-api-key': KEY } } = {}) {
  const socket = new WebSocket(`${BASE.replace(/^http/, 'ws')}/text-to-speech/${voice}/${path}?model_id=eleven_flash_v2_5${query}`, { headers });
  const got = [];
  const waiting = [];
  let end;
  const wake = () => { for (const w of waiting.splice(0)) w(); };
  const closed = new Promise((resolve, reject) => {
    socket.on('message', (data) => { got.push(JSON.parse(data.toString())); wake(); });
    socket.on('close', (code, reason) => { end = { code, reason: reason.toString() }; wake(); resolve(end); });
    socket.on('error', reject);
    socket.on('unexpected-response', (_, res) => reject(new Error(`status ${res.statusCode}`)));
  });
  closed.catch(() => {});
  const opened = Promise.race([new Promise((resolve) => socket.on('open', resolve)), closed]);
  const until = async (is) => {
    for (;;) {
      const found = got.find(is);
      if (found) return found;
      assert(!end, `closed with ${JSON.stringify(end)} after ${JSON.stringify(got).slice(0, 300)}`);
      await new Promise((resolve) => waiting.push(resolve));
    }
  };
  return { socket, got, closed, opened, until, say: (m) => socket.send(JSON.stringify(m)) };
}

const sound = (messages) => Buffer.concat(messages.filter((m) => m.audio).map((m) => Buffer.from(m.audio, 'base64')));
const ok = (r) => { assert(r.ok, JSON.stringify(r.errors)); return r.value; };

await check('stream-input: the guide, with the key in a header', async () => {
  const c = connect('stream-input');
  await c.opened;
  c.say({ text: ' ', voice_settings: { stability: 0.5, similarity_boost: 0.8, use_speaker_boost: false }, generation_config: { chunk_length_schedule: [120, 160, 250, 290] } });
  c.say({ text });
  c.say({ text: '' });
  assert.equal((await c.closed).code, 1000);
  assert(sound(c.got).length > 50000 && c.got.filter((m) => m.audio).length > 1);
  assert.equal(c.got.at(-1).isFinal, true);
});

await check('stream-input: the guide, with the key in the first message', async () => {
  const c = connect('stream-input', { headers: {} });
  await c.opened;
  c.say({ text: ' ', voice_settings: { stability: 0.5, similarity_boost: 0.8 }, xi_api_key: KEY });
  c.say({ text: 'Hello world. ' });
  c.say({ text: '' });
  assert.equal((await c.closed).code, 1000);
  assert(sound(c.got).length > 1000);
});

await check('stream-input: answers are what the official types say', async () => {
  const c = connect('stream-input', { query: '&output_format=pcm_24000&sync_alignment=true' });
  await c.opened;
  c.say(ok(await types.InitializeConnection.json({ text: ' ', voiceSettings: { stability: 0.5, speed: 1.1 }, generationConfig: { chunkLengthSchedule: [50] } })));
  c.say(ok(await types.SendText.json({ text: 'Here is what you want, my friend. ', tryTriggerGeneration: true })));
  c.say(ok(await types.SendText.json({ text: 'And here the rest.', flush: true })));
  c.say(ok(await types.CloseConnection.json({ text: '' })));
  await c.closed;
  let chars = '';
  for (const m of c.got) {
    if (m.isFinal) { assert.equal(ok(await types.FinalOutput.parse(m, { unrecognizedObjectKeys: 'strip' })).isFinal, true); continue; }
    const out = ok(await types.AudioOutput.parse(m, { unrecognizedObjectKeys: 'strip' }));
    if (!out.alignment) continue;
    assert.equal(out.alignment.chars.length, out.alignment.charStartTimesMs.length);
    assert.equal(out.alignment.chars.length, out.alignment.charDurationsMs.length);
    chars += out.alignment.chars.join('');
    const last = out.alignment.charStartTimesMs.at(-1) + out.alignment.charDurationsMs.at(-1);
    assert(last <= Buffer.from(out.audio, 'base64').length / 48 + 1, 'times are those of the piece');
  }
  assert.equal(chars, ' Here is what you want, my friend. And here the rest.');
});

await check('stream-input: words as the client for Python sends them', async () => {
  const c = connect('stream-input', { query: '&output_format=mp3_44100_128' });
  await c.opened;
  c.say({ text: ' ', try_trigger_generation: true, voice_settings: null, generation_config: { chunk_length_schedule: [50] } });
  const words = text.split(' ').map((w) => `${w} `);
  for (const w of words.slice(0, -1)) c.say({ text: w, try_trigger_generation: true });
  await c.until((m) => m.audio); // sound is there before the text is
  c.say({ text: words.at(-1), try_trigger_generation: true });
  c.say({ text: '' });
  assert.equal((await c.closed).code, 1000);
  assert(sound(c.got).length > 50000);
});

await check('stream-input: the sound is that of /stream', async () => {
  const client = new ElevenLabsClient({ baseUrl: BASE.replace(/\/v1$/, ''), apiKey: KEY, maxRetries: 0 });
  const whole = [];
  for await (const b of await client.textToSpeech.stream(voice, { text, outputFormat: 'pcm_24000' })) whole.push(Buffer.from(b));
  const c = connect('stream-input', { query: '&output_format=pcm_24000' });
  await c.opened;
  for (const w of text.match(/.{1,9}/gs)) c.say({ text: w });
  c.say({ text: '' });
  await c.closed;
  assert(sound(c.got).equals(Buffer.concat(whole)));
});

await check('stream-input: flush, then silence, ends in input_timeout_exceeded', async () => {
  const c = connect('stream-input', { query: '&inactivity_timeout=1' });
  await c.opened;
  c.say({ text: 'Generate this audio immediately.', flush: true });
  assert.equal((await c.closed).code, 1008);
  assert(sound(c.got).length > 1000);
  assert.equal(c.got.at(-1).error, 'input_timeout_exceeded');
});

await check('stream-input: a wrong key, a voice that is not there, a message that is none', async () => {
  await assert.rejects(connect('stream-input', { headers: { 'xi-api-key': 'wrong' } }).opened, /401/);
  await assert.rejects(connect('stream-input', { query: '&output_format=ogg' }).opened, /422/);
  const c = connect('stream-input');
  await c.opened;
  c.socket.send('{');
  assert.equal((await c.closed).code, 1008);
  assert.equal(c.got[0].error, 'invalid_input_message');
});

await check('multi-stream-input: the guide: an interruption', async () => {
  const c = connect('multi-stream-input');
  await c.opened;
  c.say(ok(await types.InitializeConnectionMulti.json({ text: ' ', voiceSettings: { stability: 0.5 }, contextId: 'conv_1' })));
  c.say({ text: 'Hello from conversation one. ', context_id: 'conv_1' });
  c.say({ text: 'This is added to the buffer of text to flush. ', context_id: 'conv_1', flush: true });
  await c.until((m) => m.audio && m.contextId === 'conv_1');
  c.say({ text: 'Hi this is a new context with different settings! ', context_id: 'interruption', voice_settings: { stability: 0.2, speed: 1.2 } });
  c.say({ context_id: 'conv_1', close_context: true });
  const last = await c.until((m) => m.isFinal && m.contextId === 'conv_1');
  assert.equal(ok(await types.FinalOutputMulti.parse(last, { unrecognizedObjectKeys: 'strip' })).contextId, 'conv_1');
  c.say({ context_id: 'interruption', flush: true });
  const said = await c.until((m) => m.audio && m.contextId === 'interruption');
  assert.equal(ok(await types.AudioOutputMulti.parse(said, { unrecognizedObjectKeys: 'strip' })).contextId, 'interruption');
  c.say({ text: '', context_id: 'interruption' });
  c.say({ close_socket: true });
  assert.equal((await c.closed).code, 1000);
  assert(c.got.some((m) => m.isFinal && m.contextId === 'interruption'));
});

done();
