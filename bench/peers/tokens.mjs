// Encodes texts with llama.cpp's tokenizer, as node-llama-cpp offers it, told what to do by lines
// of JSON on stdin; every line is answered by one. The argument is the folder with node_modules.
//
//   {"load": "vocab.gguf"}   {}
//   {"text": "…"}            {"ms": 12.1, "tokens": 300}
//
// ms is the time of the process's CPUs.
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const entry = createRequire(path.resolve(process.argv[2], 'package.json')).resolve('node-llama-cpp');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry));

let llama, model;
async function load({ load: file }) {
  await model?.dispose();
  llama ??= await getLlama({ gpu: false, build: 'never', skipDownload: true, progressLogs: false, logLevel: LlamaLogLevel.error });
  model = await llama.loadModel({ modelPath: file, gpuLayers: 0, vocabOnly: true });
  return {};
}

function encode({ text }) {
  const used = process.cpuUsage();
  const tokens = model.tokenize(text).length;
  const { user, system } = process.cpuUsage(used);
  return { ms: (user + system) / 1e3, tokens };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const question = JSON.parse(line);
    answer = await (question.load ? load : encode)(question);
  } catch (e) {
    answer = { error: String(e?.message ?? e) };
  }
  console.log(JSON.stringify(answer));
}
process.exit(0); // llama.cpp's threads live on
