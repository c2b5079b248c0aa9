// Writes down what is said in a file, of any common format.
import { createReadStream } from 'node:fs';
import client from '../client.mjs';

const { text } = await client.audio.transcriptions.create({
  model: 'whisper-1',
  language: 'en',
  file: createReadStream(process.argv[2] ?? 'hello.mp3'),
});
console.log(text.trim());
