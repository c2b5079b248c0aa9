// Measures how long the site takes from navigation to quern-tiny's first token, in a browser
// that has the site in its cache and nothing of it in memory: node bench/web/cold.mjs [--runs 5] SITE
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { serve } from '../../cmd/quern-wasm/test/server.mjs'

const { values, positionals: [site] } = parseArgs({ allowPositionals: true, options: { runs: { type: 'string', default: '5' } } })
if (!site) throw new Error('want the folder of the site')
const server = await serve(site), profile = mkdtempSync(join(tmpdir(), 'quern-cold-'))

const settles = 3000 // ms in which the browser is done with its own start, or with keeping what it compiled

// visit returns when the request was sent and when its first token came, in ms. One that stays
// chats on, as a person would: the browser then keeps what it has compiled.
async function visit(stays = false) {
  const context = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  const page = await context.newPage()
  await page.waitForTimeout(settles)
  await page.goto(server.url, { waitUntil: 'commit' })
  await page.waitForFunction(() => globalThis.quern)
  const times = await page.evaluate(async (more) => {
    await quern.ready
    const sent = performance.now()
    const chat = () => fetch('v1/chat/completions', { method: 'POST', body: JSON.stringify({ model: 'quern-tiny', stream: true, temperature: 0, messages: [{ role: 'user', content: 'Hi' }] }) })
    const reader = (await chat()).body.getReader()
    for (let p; !(p = await reader.read()).done && !/"content":"[^"]/.test(new TextDecoder().decode(p.value)););
    const times = [sent, performance.now()]
    for (let i = 0; i < more; i++) await (await chat()).text()
    return times
  }, stays ? 8 : 0)
  if (stays) await page.waitForTimeout(settles)
  await context.close()
  return times
}

await visit(true) // fills the caches
const times = []
for (let i = 0; i < Number(values.runs); i++) times.push(await visit())
const median = (list) => Math.round(list.toSorted((a, b) => a - b)[list.length >> 1])
console.log(`after navigation, medians of ${times.length}: the request is sent at ${median(times.map((t) => t[0]))} ms, the first token is there at ${median(times.map((t) => t[1]))} ms`)
await server.close()
rmSync(profile, { recursive: true })
