// Measures quern in a browser next to wllama, in the same Chromium, by turns, with one thread
// each and with several, and prints a table of medians. Both answer the same completions of
// random weights and say themselves how long prompt and reply took. run.sh makes what this
// needs and runs it.
//
//   node bench/web/web.mjs [--pp 128] [--tg 32] [--runs 5] [--threads 1,2] SITE smollm2-q8_0.gguf...
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { bound } from '../../cmd/quern-wasm/test/bound.mjs'
import { serve } from '../../cmd/quern-wasm/test/server.mjs'

const { values, positionals: [site, ...models] } = parseArgs({
  allowPositionals: true,
  options: { pp: { type: 'string', default: '128' }, tg: { type: 'string', default: '32' }, runs: { type: 'string', default: '5' }, threads: { type: 'string', default: '1,2' } },
})
if (!site || !models.length) throw new Error('want the folder of the site and a model file')
const pp = Number(values.pp), tg = Number(values.tg), runs = Number(values.runs)
bound(60 * models.length * values.threads.split(',').length * (2 + runs))

const wllama = join(import.meta.dirname, 'node_modules/@wllama/wllama/esm')
// Threads are there for pages that are isolated. quern's site makes itself that, from its second
// load on; wllama's needs the headers of its server.
const isolated = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' }
const ours = await serve(site), theirs = await serve(wllama, { headers: isolated })
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })

// prompt is some n tokens of text; no two calls share a beginning, which would be cached.
const words = 'stone river paper light under seven music table winter garden engine yellow letter ocean silver morning'.split(' ')
let calls = 0
const prompt = (n) => Array.from({ length: n }, () => words[++calls * 5 % words.length] + calls % 7).join(' ')

async function start(url) {
  const page = await (await browser.newContext()).newPage()
  page.on('pageerror', (e) => console.error(e.message))
  await page.goto(url)
  return page
}

async function pick(page, file) {
  await page.evaluate(() => document.body.append(Object.assign(document.createElement('input'), { type: 'file', id: 'model' })))
  await page.setInputFiles('#model', file)
}

// Each side opens a file with so many threads and returns what answers a prompt with its timings.
const sides = {
  async quern(file, threads) {
    const page = await start(ours.url), ready = async () => {
      await page.waitForFunction(() => globalThis.quern)
      await page.evaluate(() => quern.ready)
    }
    await ready()
    if (threads > 1) {
      await page.reload()
      await ready()
      await page.evaluate(() => fetch('v1/models')) // the engine is there
    }
    const worker = page.workers().find((w) => w.url().endsWith('engine/worker.js'))
    if (threads > 1) await worker.evaluate(async () => { while (!helpers.length) await new Promise((r) => setTimeout(r, 100)) }) // they come when its start is over
    const there = 1 + await worker.evaluate(() => helpers.length)
    if (there !== threads) throw new Error(`quern has ${there} threads, want ${threads}: one for each core`)
    await pick(page, file)
    await page.evaluate(async () => { globalThis.model = await quern.open(document.querySelector('#model').files) })
    return (text) => page.evaluate(async ([prompt, max_tokens]) => {
      const body = JSON.stringify({ model, prompt, max_tokens, temperature: 0, ignore_eos: true })
      const r = await fetch('v1/completions', { method: 'POST', body })
      if (!r.ok) throw new Error(await r.text())
      const { timings, usage } = await r.json()
      return { ...timings, prompt_n: usage.prompt_tokens }
    }, [text, tg])
  },
  async wllama(file, threads) {
    const page = await start(`${theirs.url}index.js`) // any document of its origin
    await pick(page, file)
    await page.evaluate(async ([base, n_threads]) => {
      const { Wllama } = await import(`${base}index.js`)
      globalThis.w = new Wllama({ default: `${base}wasm/wllama.wasm` }, { suppressNativeLog: true })
      await w.loadModel([document.querySelector('#model').files[0]], { n_threads, n_gpu_layers: 0, n_ctx: 2048 })
      if (n_threads > 1 && !(w.isMultithread() && w.getNumThreads() === n_threads)) throw new Error(`wllama has no ${n_threads} threads`)
    }, [theirs.url, threads])
    return (text) => page.evaluate(async ([prompt, max_tokens]) => {
      const r = await w.createCompletion({ prompt, max_tokens, temperature: 0, ignore_eos: true, cache_prompt: false })
      return r.timings
    }, [text, tg])
  },
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1]
const row = (...cells) => console.log(`| ${cells.join(' | ')} |`)
row('model', 'threads', 'quern / wllama: prompt, tokens', 'prompt, tokens/s', 'reply, tokens/s')
row('---', '---', '---', '---', '---')
for (const file of models) {
  const cells = values.threads.split(',').map(Number), results = {}, ask = {}
  for (const n of cells) for (const name in sides) {
    results[name + n] = []
    ask[name + n] = await sides[name](file, n)
    await ask[name + n](prompt(8)) // loads, and has the browser compile
  }
  for (let i = 0; i < runs; i++) {
    const text = prompt(pp)
    for (const key in ask) results[key].push(await ask[key](text))
  }
  for (const n of cells) {
    const of = (key) => {
      const [a, b] = ['quern', 'wllama'].map((name) => median(results[name + n].map((t) => t[key])))
      return `${a.toFixed(1)} / ${b.toFixed(1)} = **${(a / b).toFixed(2)}**`
    }
    const tokens = ['quern', 'wllama'].map((name) => results[name + n][0].prompt_n ?? '?').join(' / ')
    row(basename(file), n, tokens, of('prompt_per_second'), of('predicted_per_second'))
  }
  if (process.env.DEBUG) console.log(JSON.stringify(results))
}
await browser.close()
await Promise.all([ours.close(), theirs.close()])
