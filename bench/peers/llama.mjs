// Measures llama.cpp, as node-llama-cpp runs it on the CPU, and prints one JSON
// object with the names `quern bench --json` uses.
//
//   node llama.mjs FILE [--threads N] [--pp 512] [--tg 128] [--batch 1] [--depth 0] [--reps 3]
//
// Install with `npm install --ignore-scripts`: the prebuilt library is used and
// nothing is compiled or fetched at run time. PEER_DIR names another folder that
// holds node_modules.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: String(os.availableParallelism()) },
    pp: { type: 'string', default: '512' },
    tg: { type: 'string', default: '128' },
    batch: { type: 'string', default: '1' },
    depth: { type: 'string', default: '0' },
    reps: { type: 'string', default: '3' },
  },
});
const number = (name, least = 1) => {
  const n = Number(values[name]);
  if (!Number.isInteger(n) || n < least) throw new Error(`--${name} must be a whole number from ${least} up, got ${values[name]}`);
  return n;
};
if (positionals.length !== 1) throw new Error('want one model file');
const file = positionals[0];
const threads = number('threads'), pp = number('pp'), tg = number('tg'), batch = number('batch'), depth = number('depth', 0), reps = number('reps');

const home = process.env.PEER_DIR ?? path.dirname(fileURLToPath(import.meta.url));
const entry = createRequire(path.join(home, 'package.json')).resolve('node-llama-cpp');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry));

const llama = await getLlama({
  gpu: false, build: 'never', skipDownload: true, progressLogs: false,
  maxThreads: threads, logLevel: LlamaLogLevel.error,
});
const begin = performance.now();
const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
const load = (performance.now() - begin) / 1000;
const context = await model.createContext({
  contextSize: depth + Math.max(pp, tg + 1) + 64, batchSize: Math.max(512, batch), sequences: batch, threads,
});
const sequences = Array.from({ length: batch }, () => context.getSequence());

// Random tokens from the middle of the vocabulary, where no control tokens are.
// A fixed generator makes every run ask the same.
const vocab = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
let state = 12345;
function randomToken() {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  const low = Math.min(300, vocab >> 2);
  return low + (state % Math.max(1, Math.min(vocab, 30000) - 2 * low));
}

// stand leaves depth tokens in a sequence: those of the run before, if there was one.
async function stand(s) {
  if (depth === 0 || s.nextTokenIndex < depth) {
    await s.clearHistory();
    if (depth > 0) await s.evaluateWithoutGeneratingNewTokens(Array.from({ length: depth }, randomToken));
  } else if (s.nextTokenIndex > depth) {
    await s.eraseContextTokenRanges([{ start: depth, end: s.nextTokenIndex }]);
  }
  if (s.nextTokenIndex !== depth) throw new Error(`${s.nextTokenIndex} tokens stand before, not ${depth}`);
}

async function prefill() {
  const [s] = sequences;
  await stand(s);
  const tokens = Array.from({ length: pp }, randomToken);
  const t = performance.now();
  await s.evaluateWithoutGeneratingNewTokens(tokens);
  return pp / (performance.now() - t) * 1000;
}

// decode returns tokens per second of all sequences together. Nothing is sampled, as in
// `quern bench`; of the interface's own work a turn of JavaScript a token is left.
async function decode() {
  for (const s of sequences) {
    await stand(s);
    await s.evaluateWithoutGeneratingNewTokens([randomToken()]);
  }
  const t = performance.now();
  await Promise.all(sequences.map(async (s) => {
    for (let n = 0; n < tg; n++) await s.evaluateWithoutGeneratingNewTokens([randomToken()]);
  }));
  return batch * tg / (performance.now() - t) * 1000;
}

function median(list) {
  const s = [...list].sort((a, b) => a - b);
  return (s[(s.length - 1) >> 1] + s[s.length >> 1]) / 2;
}

const ppRuns = [], tgRuns = [];
for (let r = 0; r <= reps; r++) { // the first does not count
  const p = await prefill(), g = await decode();
  if (r > 0) { ppRuns.push(p); tgRuns.push(g); }
}

// Linux says what was resident and which variant of the library was chosen.
const status = fs.existsSync('/proc/self/status') ? fs.readFileSync('/proc/self/status', 'utf8') : '';
const maps = fs.existsSync('/proc/self/maps') ? fs.readFileSync('/proc/self/maps', 'utf8') : '';
console.log(JSON.stringify({
  model: path.basename(file),
  pp_tokens_per_s: median(ppRuns),
  tg_tokens_per_s: median(tgRuns),
  load_s: load,
  peak_rss_bytes: 1024 * Number(status.match(/VmHWM:\s+(\d+)/)?.[1] ?? 0),
  threads,
  cpu_level: maps.match(/libggml-cpu-([a-z0-9]+)\.so/)?.[1] ?? '',
  pp, tg, batch, depth,
  pp_runs: ppRuns,
  tg_runs: tgRuns,
}));
process.exit(0); // node-llama-cpp keeps threads alive
