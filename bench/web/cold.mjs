// Measures how long the site takes from navigation to quern-tiny's first token, leg by leg, in a
// browser that has the site in its cache and nothing of it in memory. Several sites are visited by
// turns, to compare them: node bench/web/cold.mjs [--runs 5] SITE...
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { serve } from '../../cmd/quern-wasm/test/server.mjs'

const { values, positionals: sites } = parseArgs({ allowPositionals: true, options: { runs: { type: 'string', default: '5' } } })
if (!sites.length) throw new Error('want the folder of the site')

const settles = 3000 // ms in which the browser is done with its own start
const keeps = 6000 // and those in which it is done with keeping what it compiled

// visit returns when what happened, in ms after navigation. One that stays chats on, as a
// person would: the browser then keeps what it has compiled.
async function visit({ server, profile }, stays = false) {
  const context = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  const page = await context.newPage()
  await page.waitForTimeout(settles)
  await page.goto(server.url, { waitUntil: 'commit' })
  await page.waitForFunction(() => globalThis.quern)
  const [origin, ...legs] = await page.evaluate(async (more) => {
    await quern.ready
    const sent = performance.now()
    const chat = () => fetch('v1/chat/completions', { method: 'POST', body: JSON.stringify({ model: 'quern-tiny', stream: true, temperature: 0, messages: [{ role: 'user', content: 'Hi' }] }) })
    const reader = (await chat()).body.getReader()
    for (let p; !(p = await reader.read()).done && !/"content":"[^"]/.test(new TextDecoder().decode(p.value)););
    const times = [performance.timeOrigin, ['request sent', sent], ['first token', performance.now()]]
    for (let i = 0; i < more; i++) await (await chat()).text()
    return times
  }, stays ? 8 : 0)
  // The engine's worker has a clock and marks of its own.
  const worker = page.workers().find((w) => w.url().endsWith('engine/worker.js'))
  const marks = await worker.evaluate(() => [['worker begun', performance.timeOrigin], ...performance.getEntriesByType('mark').map((m) => [m.name, performance.timeOrigin + m.startTime])])
  if (stays) await page.waitForTimeout(keeps)
  await context.close()
  return Object.fromEntries([...legs, ...marks.map(([name, at]) => [name, at - origin])])
}

const sides = []
for (const site of sites) sides.push({ site, server: await serve(site), profile: mkdtempSync(join(tmpdir(), 'quern-cold-')), runs: [] })
// The first visit fills the site's cache, and the next has the browser keep what it compiles of that.
for (const side of sides) for (let i = 0; i < 2; i++) await visit(side, true)
for (let i = 0; i < Number(values.runs); i++) for (const side of sides) side.runs.push(await visit(side))
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1]
for (const { site, server, profile, runs } of sides) {
  const names = new Set(runs.flatMap((r) => Object.keys(r)))
  const legs = [...names].map((name) => [name, median(runs.flatMap((r) => r[name] ?? []))]).sort((a, b) => a[1] - b[1])
  console.log(`${site}: ms after navigation, medians of ${runs.length}: ${legs.map(([name, at]) => `${name} ${Math.round(at)}`).join(', ')}`)
  await server.close()
  rmSync(profile, { recursive: true })
}
