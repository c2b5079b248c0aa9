// Measures how long the site takes from navigation to quern-tiny's first token, in a browser
// that was just started and has the site in its cache: node bench/web/cold.mjs [--runs 5] SITE
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { serve } from '../../cmd/quern-wasm/test/server.mjs'

const { values, positionals: [site] } = parseArgs({ allowPositionals: true, options: { runs: { type: 'string', default: '5' } } })
if (!site) throw new Error('want the folder of the site')
const server = await serve(site), profile = mkdtempSync(join(tmpdir(), 'quern-cold-'))

// visit returns when the request was sent and when its first token came, in ms.
async function visit() {
  const context = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  const page = await context.newPage()
  await page.goto(server.url, { waitUntil: 'commit' })
  await page.waitForFunction(() => globalThis.quern)
  const times = await page.evaluate(async () => {
    await quern.ready
    const sent = performance.now()
    const body = JSON.stringify({ model: 'quern-tiny', stream: true, temperature: 0, messages: [{ role: 'user', content: 'Hi' }] })
    const reader = (await fetch('v1/chat/completions', { method: 'POST', body })).body.getReader()
    for (let p; !(p = await reader.read()).done && !/"content":"[^"]/.test(new TextDecoder().decode(p.value)););
    return [sent, performance.now()]
  })
  await context.close()
  return times
}

await visit() // fills the cache
const times = []
for (let i = 0; i < Number(values.runs); i++) times.push(await visit())
const median = (list) => Math.round(list.toSorted((a, b) => a - b)[list.length >> 1])
console.log(`after navigation, medians of ${times.length}: the request is sent at ${median(times.map((t) => t[0]))} ms, the first token is there at ${median(times.map((t) => t[1]))} ms`)
await server.close()
rmSync(profile, { recursive: true })
