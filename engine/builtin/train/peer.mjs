// node peer.mjs MODEL.gguf greedy.json: checks prompt tokens and greedy replies with llama.cpp, through node-llama-cpp 3.22.1.
// Run it in a folder where node-llama-cpp is installed.
import fs from "node:fs";
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";
const nlc = await import(pathToFileURL(createRequire(pathToFileURL(process.cwd() + "/x.js")).resolve("node-llama-cpp")));
const [modelPath, golden] = process.argv.slice(2);
const llama = await nlc.getLlama({gpu: false, build: "never", progressLogs: false, skipDownload: true, maxThreads: 1, logLevel: nlc.LlamaLogLevel.error});
const model = await llama.loadModel({modelPath, gpuLayers: 0});
const context = await model.createContext({contextSize: 1024, threads: 1});
const seq = context.getSequence();
let bad = 0;
for (const c of JSON.parse(fs.readFileSync(golden, "utf8")).cases) {
  const ids = [...model.tokenize(c.prompt, c.messages != null)];
  const sameIds = JSON.stringify(ids) === JSON.stringify(c.promptTokens);
  await seq.clearHistory();
  const got = [];
  let input = c.promptTokens;
  for (let i = 0; i < c.tokens.length; i++) {
    const r = await seq.controlledEvaluate(input.map((t, k) => k === input.length - 1 ? [t, {generateNext: {token: true, options: {temperature: 0}}}] : t));
    const t = r[r.length - 1].next.token;
    got.push(t);
    if (t === 0 || t === 2) break;
    input = [t];
  }
  let same = 0;
  while (same < got.length && got[same] === c.tokens[same]) same++;
  const ok = sameIds && same >= c.compare;
  if (!ok) bad++;
  console.log(ok ? "ok  " : "BAD ", c.name, "prompt", sameIds ? "same" : "differs", `${same} of ${c.tokens.length} tokens equal, compare ${c.compare}`, ok ? "" : model.detokenize(got));
}
console.log(bad ? bad + " differ" : "all equal");
process.exit(bad ? 1 : 0);
