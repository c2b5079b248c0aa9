// Makes vectors of texts with llama.cpp, as node-llama-cpp runs it on the CPU, told what to do
// by lines of JSON on stdin; every line is answered by one. The argument is the folder with
// node_modules.
//
//   {"load": "model.gguf", "threads": 2, "context": 512}   {}
//   {"texts": [[1, 30, 2]]}                                {"vectors": […], "ms": 1.5, "cpu": 2.9}
//
// Texts are tokens, those that begin and end them included. A context of node-llama-cpp
// takes one text at a time. Milliseconds are of all texts, on the clock and of the process's CPUs.
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const entry = createRequire(path.resolve(process.argv[2], 'package.json')).resolve('node-llama-cpp');
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(entry));

let llama, model, context;
async function load({ load: file, threads, context: contextSize }) {
  await context?.dispose();
  await model?.dispose();
  llama ??= await getLlama({
    gpu: false, build: 'never', skipDownload: true, progressLogs: false,
    maxThreads: threads, logLevel: LlamaLogLevel.error,
  });
  model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
  context = await model.createEmbeddingContext({ contextSize, batchSize: contextSize, threads });
  return {};
}

async function vectors({ texts }) {
  const start = performance.now(), used = process.cpuUsage();
  const out = [];
  for (const text of texts) out.push((await context.getEmbeddingFor(text)).vector);
  const { user, system } = process.cpuUsage(used);
  return { vectors: out, ms: performance.now() - start, cpu: (user + system) / 1e3 };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const question = JSON.parse(line);
    answer = await (question.load ? load : vectors)(question);
  } catch (e) {
    answer = { error: String(e?.message ?? e) };
  }
  console.log(JSON.stringify(answer));
}
process.exit(0); // llama.cpp's threads live on
