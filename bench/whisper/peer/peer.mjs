// Times the encoder and the decoder of whisper.cpp in the npm package
// @fugood/whisper.node, whose binary is built for any x86-64 CPU:
//
//     node peer.mjs MODEL THREADS
//
// prints a JSON object for `whisper compare`. Run it where the package is
// installed: npm install --ignore-scripts @fugood/whisper.node
import { createRequire } from 'node:module'

const require = createRequire(`${process.cwd()}/`)
const { initWhisper } = require('@fugood/whisper.node')
const [filePath, threads] = process.argv.slice(2)
const whisper = await initWhisper({ filePath, useGpu: false })
const r = await whisper.bench(Number(threads))
console.log(JSON.stringify({ encode_ms: r.encodeMs, token_ms: r.decodeMs, version: '@fugood/whisper.node', cpu_level: r.config }))
process.exit(0) // the package's threads would keep node alive
