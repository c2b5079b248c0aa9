// Encodes texts with Hugging Face's tokenizers (Rust, by napi) and tiktoken
// (Rust, by WebAssembly), told what to do by lines of JSON on stdin; every line
// is answered by one. The argument is the folder with node_modules.
//
//   {"tokenizer": "tokenizer.json", "ranks": "…", "pattern": "…"}   {}
//   {"texts": ["…"], "peer": "hf"}         {"cpu": 12.1, "ids": [[…]]}
//
// cpu is what the process used of the CPU for all texts, in milliseconds.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "peer.js"));
const { Tokenizer } = require("@anush008/tokenizers");
const { Tiktoken } = require("tiktoken");

let hf, tik;
async function answer(q) {
  if (q.tokenizer) {
    tik?.free();
    hf = Tokenizer.fromFile(q.tokenizer);
    tik = q.pattern ? new Tiktoken(readFileSync(q.ranks, "utf8"), {}, q.pattern) : undefined;
    return {};
  }
  const encode = {
    hf: async (text) => (await hf.encode(text)).getIds(),
    tiktoken: async (text) => tik.encode_ordinary(text),
  }[q.peer];
  const used = process.cpuUsage();
  const ids = [];
  for (const text of q.texts) ids.push(await encode(text));
  const { user, system } = process.cpuUsage(used);
  return { cpu: (user + system) / 1e3, ids: ids.map((x) => Array.from(x)) };
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = await answer(JSON.parse(line));
  } catch (e) {
    reply = { error: String(e) };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
