// Continues a prompt greedily with llama.cpp, as node-llama-cpp runs it on the
// CPU, and prints {"tokens": prompt's ids, "ids": reply's, "text": reply}.
//
//   node greedy.mjs FILE PROMPT [TOKENS]
//
// PROMPT is tokenised as a text that stands alone: with BOS where the file says
// so, without control tokens. PEER_DIR is as for llama.mjs. engine's TestPeer
// runs it on files that quern has written.
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [file, prompt, count = '32'] = process.argv.slice(2);
if (prompt === undefined) throw new Error('want a model file and a prompt');
const home = process.env.PEER_DIR ?? path.dirname(fileURLToPath(import.meta.url));
const entry = createRequire(path.join(home, 'package.json')).resolve('node-llama-cpp');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry));

const llama = await getLlama({
  gpu: false, build: 'never', skipDownload: true, progressLogs: false, maxThreads: 2, logLevel: LlamaLogLevel.error,
});
const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
const context = await model.createContext({ contextSize: 512, threads: 2, flashAttention: false });
const tokens = model.tokenize(prompt, false);
if (model.tokens.shouldPrependBosToken && tokens[0] !== model.tokens.bos) tokens.unshift(model.tokens.bos);
const ids = [];
for await (const id of context.getSequence().evaluate(tokens, { temperature: 0, yieldEogToken: true })) {
  ids.push(id);
  if (ids.length >= Number(count)) break;
}
console.log(JSON.stringify({ tokens, ids, text: model.detokenize(ids, false, tokens) }));
process.exit(0); // node-llama-cpp keeps threads alive
