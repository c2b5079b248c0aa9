// Runs models with onnxruntime-node, told what to do by lines of JSON on stdin;
// every line is answered by one. The argument is the folder with node_modules.
//
//   {"load": "model.onnx", "threads": 2}         {}
//   {"inputs": {"x": {type, dims, data}}}         {"outputs": {…}, "ms": […], "cpu": […]}
//
// Data is base64. With "runs" the model runs so often and only times are answered:
// milliseconds of each run, and of the process's CPU time.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { resolve } from "node:path";

const ort = createRequire(resolve(process.argv[2], "peer.js"))("onnxruntime-node");
const arrays = {
  float32: Float32Array, float64: Float64Array, float16: Uint16Array, uint8: Uint8Array, int8: Int8Array, bool: Uint8Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, int16: Int16Array, uint16: Uint16Array,
};

function decode({ type, dims, data }) {
  const bytes = Buffer.from(data, "base64");
  const aligned = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return new ort.Tensor(type, new arrays[type](aligned), dims);
}

function encode(t) {
  const d = t.data;
  const data = Buffer.from(d.buffer, d.byteOffset, d.byteLength).toString("base64");
  return { type: t.type, dims: t.dims.map(Number), data };
}

let session;
async function answer(line) {
  const q = JSON.parse(line);
  if (q.load) {
    await session?.release();
    session = undefined;
    session = await ort.InferenceSession.create(q.load, {
      intraOpNumThreads: q.threads, interOpNumThreads: 1, graphOptimizationLevel: "all", logSeverityLevel: 3,
    });
    return {};
  }
  const inputs = Object.fromEntries(Object.entries(q.inputs).map(([name, t]) => [name, decode(t)]));
  const ms = [], cpu = [];
  let out;
  for (let i = 0; i < (q.runs ?? 1); i++) {
    const start = process.hrtime.bigint(), used = process.cpuUsage();
    out = await session.run(inputs);
    const { user, system } = process.cpuUsage(used);
    ms.push(Number(process.hrtime.bigint() - start) / 1e6);
    cpu.push((user + system) / 1e3);
  }
  if (q.runs) return { ms, cpu };
  return { outputs: Object.fromEntries(Object.entries(out).map(([name, t]) => [name, encode(t)])) };
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = await answer(line);
  } catch (e) {
    reply = { error: String(e?.message ?? e) };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
