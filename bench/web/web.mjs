// Measures quern in a browser next to wllama, in the same Chromium and with one thread, by
// turns, and prints a table of medians. Both answer the same completions of random weights
// and say themselves how long prompt and reply took.
//
//   (cd bench/web && npm install --ignore-scripts)
//   CLANG=clang-22 go run ./cmd/quern-wasm -compress=false SITE
//   go run ./bench/ggufgen -shape smollm2-135m -type Q8_0 -o smollm2-q8_0.gguf
//   node bench/web/web.mjs [--pp 128] [--tg 32] [--runs 5] SITE smollm2-q8_0.gguf...
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { serve } from '../../cmd/quern-wasm/test/server.mjs'

const { values, positionals: [site, ...models] } = parseArgs({
  allowPositionals: true,
  options: { pp: { type: 'string', default: '128' }, tg: { type: 'string', default: '32' }, runs: { type: 'string', default: '5' } },
})
if (!site || !models.length) throw new Error('want the folder of the site and a model file')
const pp = Number(values.pp), tg = Number(values.tg), runs = Number(values.runs)

const wllama = join(import.meta.dirname, 'node_modules/@wllama/wllama/esm')
const ours = await serve(site), theirs = await serve(wllama)
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })

// prompt is some n tokens of text; no two calls share a beginning, which would be cached.
const words = 'stone river paper light under seven music table winter garden engine yellow letter ocean silver morning'.split(' ')
let calls = 0
const prompt = (n) => Array.from({ length: n }, () => words[++calls * 5 % words.length] + calls % 7).join(' ')

async function start(url, file) {
  const page = await (await browser.newContext()).newPage()
  page.on('pageerror', (e) => console.error(e.message))
  await page.goto(url)
  await page.evaluate(() => document.body.append(Object.assign(document.createElement('input'), { type: 'file', id: 'model' })))
  await page.setInputFiles('#model', file)
  return page
}

// Each side opens a file and returns what answers a prompt with its timings.
const sides = {
  async quern(file) {
    const page = await start(ours.url, file)
    await page.evaluate(async () => {
      await quern.ready
      globalThis.model = await quern.open(document.querySelector('#model').files)
    })
    return (text) => page.evaluate(async ([prompt, max_tokens]) => {
      const body = JSON.stringify({ model, prompt, max_tokens, temperature: 0, ignore_eos: true })
      const r = await fetch('v1/completions', { method: 'POST', body })
      if (!r.ok) throw new Error(await r.text())
      const { timings, usage } = await r.json()
      return { ...timings, prompt_n: usage.prompt_tokens }
    }, [text, tg])
  },
  async wllama(file) {
    const page = await start(`${theirs.url}index.js`, file) // any document of its origin
    await page.evaluate(async (base) => {
      const { Wllama } = await import(`${base}index.js`)
      globalThis.w = new Wllama({ default: `${base}wasm/wllama.wasm` }, { suppressNativeLog: true })
      await w.loadModel([document.querySelector('#model').files[0]], { n_threads: 1, n_gpu_layers: 0, n_ctx: 2048 })
    }, theirs.url)
    return (text) => page.evaluate(async ([prompt, max_tokens]) => {
      const r = await w.createCompletion({ prompt, max_tokens, temperature: 0, ignore_eos: true, cache_prompt: false })
      return r.timings
    }, [text, tg])
  },
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1]
const row = (...cells) => console.log(`| ${cells.join(' | ')} |`)
row('model', 'quern / wllama: prompt, tokens', 'prompt, tokens/s', 'reply, tokens/s')
row('---', '---', '---', '---')
for (const file of models) {
  const results = { quern: [], wllama: [] }, ask = {}
  for (const name in sides) ask[name] = await sides[name](file)
  for (const name in sides) await ask[name](prompt(8)) // loads, and has the browser compile
  for (let i = 0; i < runs; i++) {
    const text = prompt(pp)
    for (const name in sides) results[name].push(await ask[name](text))
  }
  const of = (key) => {
    const [a, b] = ['quern', 'wllama'].map((name) => median(results[name].map((t) => t[key])))
    return `${a.toFixed(1)} / ${b.toFixed(1)} = **${(a / b).toFixed(2)}**`
  }
  const n = ['quern', 'wllama'].map((name) => results[name][0].prompt_n ?? '?').join(' / ')
  row(basename(file), n, of('prompt_per_second'), of('predicted_per_second'))
  if (process.env.DEBUG) console.log(JSON.stringify(results))
}
await browser.close()
await Promise.all([ours.close(), theirs.close()])
