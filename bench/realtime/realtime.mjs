// The realtime clients of the openai package, unmodified, against a server.
//
//   BASE_URL=http://127.0.0.1:8080 API_KEY=… AUDIO=speech.wav node realtime.mjs
//
// EAR=1 says that the server has a recogniser; AUDIO is then WAV, mono, 16 bits, that it hears.
import net from 'node:net';
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { OpenAIRealtimeWS as BetaRealtimeWS } from 'openai/beta/realtime/ws';

const base = new URL(process.env.BASE_URL);
const client = new OpenAI({ baseURL: `${base.origin}/v1`, apiKey: process.env.API_KEY });
const model = process.env.CHAT_MODEL ?? 'quern-tiny';
// The clients only speak TLS, which a proxy would end in front of a server: the
// connection is made without it here, by an option of ws.
const options = { createConnection: () => net.connect(Number(base.port), base.hostname) };

let passed = 0;
let failed = 0;
const only = process.env.ONLY && new RegExp(process.env.ONLY);

async function t(name, check) {
  if (only && !only.test(name)) return;
  try {
    await check();
    passed++;
    console.log(`ok   ${name}`);
  } catch (e) {
    failed++;
    console.log(`FAIL ${name}: ${e.stack ?? e}`);
  }
}

function want(ok, what) {
  if (!ok) throw new Error(what);
}

// open resolves to a client whose next(type) takes events up to one of a type.
function open(rt) {
  const events = [];
  const waits = [];
  let over;
  const turn = () => {
    while (waits.length) {
      const at = events.findIndex((e) => e.type === waits[0].type);
      if (at >= 0) waits.shift().resolve(events.splice(0, at + 1).at(-1));
      else if (over) waits.shift().reject(over);
      else break;
    }
  };
  const seen = [];
  rt.on('event', (e) => {
    events.push(e);
    seen.push(e);
    turn();
  });
  const end = (e) => {
    over ??= e;
    turn();
  };
  rt.on('error', end);
  rt.socket.on('close', (code) => end(new Error(`closed with ${code}`)));
  const next = (type) =>
    new Promise((resolve, reject) => {
      waits.push({ type, resolve, reject });
      turn();
    });
  return { rt, seen, next, send: (e) => rt.send(e), close: () => rt.close() };
}

const connect = (props = { model }) => open(new OpenAIRealtimeWS({ ...props, options }, client));

const say = (c, text) =>
  c.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] } });

const bytes = (c, type) => Buffer.concat(c.seen.filter((e) => e.type === type).map((e) => Buffer.from(e.delta, 'base64')));

const loud = (pcm) => {
  let peak = 0;
  for (let i = 0; i + 1 < pcm.length; i += 2) peak = Math.max(peak, Math.abs(pcm.readInt16LE(i)));
  return peak > 1000;
};

await t('text turn', async () => {
  const c = connect();
  const created = await c.next('session.created');
  want(created.session.type === 'realtime' && created.session.model === model, JSON.stringify(created.session));
  c.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'], max_output_tokens: 40 } });
  await c.next('session.updated');
  say(c, 'What is the capital of France?');
  await c.next('conversation.item.done');
  c.send({ type: 'response.create' });
  const { text } = await c.next('response.output_text.done');
  const { response } = await c.next('response.done');
  want(text.includes('Paris'), text);
  want(c.seen.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join('') === text, 'the deltas are not the text');
  want(response.status === 'completed' && response.usage.output_tokens > 0, JSON.stringify(response));
  c.close();
});

await t('spoken turn', async () => {
  const c = connect();
  await c.next('session.created');
  c.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['audio'], max_output_tokens: 40 } });
  await c.next('session.updated');
  say(c, 'What is the capital of France?');
  c.send({ type: 'response.create' });
  const { transcript } = await c.next('response.output_audio_transcript.done');
  const { response } = await c.next('response.done');
  const pcm = bytes(c, 'response.output_audio.delta');
  want(transcript.includes('Paris'), transcript);
  want(pcm.length > 24000 && loud(pcm), `${pcm.length} bytes of sound`);
  want(response.timings.first_audio_ms >= 0 && response.timings.first_token_ms >= 0, JSON.stringify(response.timings));
  console.log(`     ${pcm.length / 48000} s of sound; ${JSON.stringify(response.timings)}`);
  c.close();
});

await t('spoken as G.711', async () => {
  const c = connect();
  await c.next('session.created');
  c.send({ type: 'session.update', session: { type: 'realtime', audio: { output: { format: { type: 'audio/pcmu' }, speed: 2 } }, max_output_tokens: 40 } });
  await c.next('session.updated');
  say(c, 'What is the capital of France?');
  c.send({ type: 'response.create' });
  await c.next('response.done');
  const sound = bytes(c, 'response.output_audio.delta');
  want(sound.length > 2000 && sound.some((b) => b !== sound[0]), `${sound.length} bytes of sound`);
  c.close();
});

await t('beta names', async () => {
  const c = open(new BetaRealtimeWS({ model, options }, client));
  await c.next('session.created');
  c.send({ type: 'session.update', session: { modalities: ['text', 'audio'], max_response_output_tokens: 40 } });
  const up = await c.next('session.updated');
  want(up.session.modalities.includes('audio') && up.session.output_audio_format === 'pcm16', JSON.stringify(up.session));
  say(c, 'What is the capital of France?');
  await c.next('conversation.item.created');
  c.send({ type: 'response.create' });
  const { transcript } = await c.next('response.audio_transcript.done');
  await c.next('response.done');
  want(transcript.includes('Paris') && loud(bytes(c, 'response.audio.delta')), transcript);
  c.close();
});

await t('client secret', async () => {
  const secret = await client.realtime.clientSecrets.create({ session: { type: 'realtime', model, output_modalities: ['text'] } });
  want(secret.value.startsWith('ek_'), JSON.stringify(secret));
  const guest = new OpenAI({ baseURL: client.baseURL, apiKey: secret.value });
  const c = open(new OpenAIRealtimeWS({ model, options }, guest));
  const { session } = await c.next('session.created');
  want(session.output_modalities[0] === 'text', JSON.stringify(session));
  c.close();
});

await t('errors are events', async () => {
  const c = connect();
  await c.next('session.created');
  c.send({ type: 'session.update', session: { type: 'realtime', audio: { input: { turn_detection: { type: 'semantic_vad' } } } } });
  const e = await c.next('error').catch((e) => e);
  want(/semantic_vad/.test(e.error?.message ?? e.message), String(e));
  c.close();
});

if (process.env.EAR) {
  const wav = readFileSync(process.env.AUDIO);
  const rate = wav.readUInt32LE(24);
  const x = new Int16Array(wav.buffer.slice(wav.byteOffset + 44, wav.byteOffset + wav.length - ((wav.length - 44) % 2)));
  const seconds = 3;
  const pcm = Buffer.alloc(2 * 24000 * seconds);
  for (let i = 0; i < 24000 * seconds; i++) pcm.writeInt16LE(x[Math.floor((i * rate) / 24000)] ?? 0, 2 * i);
  const speak = (c) => {
    for (let at = 0; at < pcm.length; at += 9600) c.send({ type: 'input_audio_buffer.append', audio: pcm.subarray(at, at + 9600).toString('base64') });
    c.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(48000).toString('base64') });
  };
  const deltas = (c) => c.seen.filter((e) => e.type === 'conversation.item.input_audio_transcription.delta').map((e) => e.delta).join('');
  const transcription = process.env.EAR_MODEL ? { model: process.env.EAR_MODEL } : {};

  await t('voice to voice', async () => {
    const c = connect();
    await c.next('session.created');
    c.send({ type: 'session.update', session: { type: 'realtime', max_output_tokens: 30, audio: { input: { transcription, turn_detection: { type: 'server_vad', silence_duration_ms: 600 } } } } });
    await c.next('session.updated');
    speak(c);
    const started = await c.next('input_audio_buffer.speech_started');
    const { item_id } = await c.next('input_audio_buffer.committed');
    want(started.item_id === item_id, 'the item changed its id');
    const { transcript } = await c.next('conversation.item.input_audio_transcription.completed');
    want(transcript.length > 0, 'no text');
    const { response } = await c.next('response.done');
    want(loud(bytes(c, 'response.output_audio.delta')), 'no sound');
    want(response.timings.transcription_ms > 0 && response.timings.turn_ms > 0, JSON.stringify(response.timings));
    console.log(`     ${JSON.stringify(response.timings)}`);
    c.close();
  });

  await t('transcription session', async () => {
    const c = connect({ intent: 'transcription' });
    const { session } = await c.next('session.created');
    want(session.type === 'transcription', JSON.stringify(session));
    c.send({ type: 'session.update', session: { type: 'transcription', audio: { input: { transcription, turn_detection: null } } } });
    await c.next('session.updated');
    speak(c);
    c.send({ type: 'input_audio_buffer.commit' });
    const { transcript, usage } = await c.next('conversation.item.input_audio_transcription.completed');
    want(transcript.length > 0 && usage.type === 'duration', transcript);
    want(deltas(c) === transcript, 'the deltas are not the transcript');
    c.close();
  });

  await t('live transcription', async () => {
    const secret = await client.realtime.clientSecrets.create({
      session: { type: 'transcription', audio: { input: { transcription: { ...transcription, delay: 'minimal' }, turn_detection: null } }, include: ['item.input_audio_transcription.logprobs'] },
    });
    want(secret.session.type === 'transcription', JSON.stringify(secret));
    const c = open(new OpenAIRealtimeWS({ intent: 'transcription', options }, new OpenAI({ baseURL: client.baseURL, apiKey: secret.value })));
    await c.next('session.created');
    // Half a second at a time, until text has settled.
    for (let at = 0, n = 0; !deltas(c) && n < 60; at = (at + 24000) % pcm.length, n++) {
      c.send({ type: 'input_audio_buffer.append', audio: pcm.subarray(at, at + 24000).toString('base64') });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    const early = deltas(c);
    want(early.length > 0, 'no text while the turn goes on');
    c.send({ type: 'input_audio_buffer.commit' });
    const { item_id } = await c.next('input_audio_buffer.committed');
    const { transcript, logprobs } = await c.next('conversation.item.input_audio_transcription.completed');
    want(deltas(c) === transcript && transcript.startsWith(early), `${deltas(c)}\n${transcript}`);
    want(c.seen.filter((e) => e.item_id).every((e) => e.item_id === item_id), 'another item');
    want(logprobs.length > 0, 'no logprobs');
    c.close();
  });

  await t('beta transcription session', async () => {
    const made = await client.beta.realtime.transcriptionSessions.create({ input_audio_format: 'pcm16', turn_detection: null, input_audio_transcription: transcription });
    want(made.client_secret.value.startsWith('ek_') && made.input_audio_format === 'pcm16' && made.turn_detection === null, JSON.stringify(made));
    const c = open(new BetaRealtimeWS({ model, options }, new OpenAI({ baseURL: client.baseURL, apiKey: made.client_secret.value })));
    await c.next('transcription_session.created');
    c.send({ type: 'transcription_session.update', session: { include: ['item.input_audio_transcription.logprobs'] } });
    await c.next('transcription_session.updated');
    speak(c);
    c.send({ type: 'input_audio_buffer.commit' });
    const { transcript } = await c.next('conversation.item.input_audio_transcription.completed');
    want(deltas(c) === transcript && transcript.length > 0, transcript);
    c.close();
  });
}

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
