// Runs encoders with onnxruntime-node and recognisers with sherpa-onnx-node, told what to
// do by lines of JSON on stdin; every line is answered by one. The argument is the folder
// with node_modules. Numbers are base64 of float32.
//
//   {"load": "encoder.onnx", "threads": 2}                        {}
//   {"shape": [1, 128, 2000], "data": …}                          {"MS", "CPU", "Data"}
//   {"sherpa": {encoder, decoder, joiner, tokens}, "threads": 2}  {}
//   {"samples": …}                                                {"MS", "CPU", "Tokens"}
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { resolve } from "node:path";

const require = createRequire(resolve(process.argv[2], "peer.js"));
let session, recogniser;

function floats(data) {
  const bytes = Buffer.from(data, "base64");
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

async function timed(f) {
  const start = process.hrtime.bigint(), used = process.cpuUsage();
  const out = await f();
  const { user, system } = process.cpuUsage(used);
  return { out, MS: Number(process.hrtime.bigint() - start) / 1e6, CPU: (user + system) / 1e3 };
}

async function answer(q) {
  if (q.load) {
    const ort = require("onnxruntime-node");
    session = await ort.InferenceSession.create(q.load, { intraOpNumThreads: q.threads, interOpNumThreads: 1, graphOptimizationLevel: "all", logSeverityLevel: 3 });
    return {};
  }
  if (q.sherpa) {
    const { OfflineRecognizer } = require("sherpa-onnx-node");
    const { encoder, decoder, joiner, tokens } = q.sherpa;
    recogniser = new OfflineRecognizer({
      featConfig: { sampleRate: 16000, featureDim: 128 },
      modelConfig: { transducer: { encoder, decoder, joiner }, tokens, numThreads: q.threads, provider: "cpu", modelType: "nemo_transducer", debug: 0 },
    });
    return {};
  }
  if (q.samples) {
    const samples = floats(q.samples);
    const { out, MS, CPU } = await timed(() => {
      const stream = recogniser.createStream();
      stream.acceptWaveform({ sampleRate: 16000, samples });
      recogniser.decode(stream);
      return recogniser.getResult(stream);
    });
    return { MS, CPU, Tokens: out.tokens.length };
  }
  const ort = require("onnxruntime-node");
  const [signal, length] = session.inputNames;
  const inputs = { [signal]: new ort.Tensor("float32", floats(q.data), q.shape), [length]: new ort.Tensor("int64", BigInt64Array.of(BigInt(q.shape[2])), [1]) };
  const { out, MS, CPU } = await timed(() => session.run(inputs));
  const d = out[session.outputNames[0]].data;
  return { MS, CPU, Data: Buffer.from(d.buffer, d.byteOffset, d.byteLength).toString("base64") };
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = await answer(JSON.parse(line));
  } catch (e) {
    reply = { error: String(e?.message ?? e) };
  }
  process.stdout.write(JSON.stringify(reply) + "\n");
}
