// Speaks a sentence into a file.
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import client from '../client.mjs';

const file = process.argv[2] ?? 'hello.mp3';
const answer = await client.audio.speech.create({
  model: 'tts-1',
  voice: 'af_bella',
  input: 'Hello there. How are you?',
  response_format: 'mp3',
});
await pipeline(Readable.fromWeb(answer.body), createWriteStream(file));
console.log('wrote', file);
