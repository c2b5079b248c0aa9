// Measures how long the site takes from navigation to quern-tiny's first token, leg by leg, in a
// browser that has the site in its cache and nothing of it in memory, and which threads compute
// meanwhile, where /proc says so. Several sites are visited by turns, to compare them:
// node bench/web/cold.mjs [--runs 5] SITE...
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { bound } from '../../cmd/quern-wasm/test/bound.mjs'
import { serve } from '../../cmd/quern-wasm/test/server.mjs'

const { values, positionals: sites } = parseArgs({ allowPositionals: true, options: { runs: { type: 'string', default: '5' } } })
if (!sites.length) throw new Error('want the folder of the site')

let doing = ''
bound(30 * sites.length * (2 + Number(values.runs)), () => doing) // a visit takes 5 to 15 s

const settles = 3000 // ms in which the browser is done with its own start
const keeps = 6000 // and those in which it is done with keeping what it compiled

// ask sends a request as soon as the page can, and says when what happened. It is in the page before
// the page's own scripts, so that no time is lost to messages of this program.
function ask() {
  let quern
  const first = async () => {
    await quern.ready
    const sent = performance.now()
    const reader = (await chat()).body.getReader()
    for (let p; !(p = await reader.read()).done && !/"content":"[^"]/.test(new TextDecoder().decode(p.value)););
    told([performance.timeOrigin, ['request sent', sent], ['first token', performance.now()]])
  }
  globalThis.chat = () => fetch('v1/chat/completions', { method: 'POST', body: JSON.stringify({ model: 'quern-tiny', stream: true, temperature: 0, messages: [{ role: 'user', content: 'Hi' }] }) })
  Object.defineProperty(globalThis, 'quern', { get: () => quern, set: (v) => { quern = v; queueMicrotask(() => first().catch((e) => told([String(e)]))) } })
}

// computed is the ms that threads of the browser have computed, by their numbers: [name, ms].
function computed() {
  const parents = new Map(), threads = {}
  const read = (path) => { try { return readFileSync(`/proc/${path}`, 'utf8') } catch { return '' } } // it has ended
  for (const pid of readdirSync('/proc').filter(Number)) parents.set(pid, read(`${pid}/stat`).split(') ').pop().split(' ')[1])
  for (const pid of parents.keys()) {
    let up = pid
    while (up && up !== String(process.pid)) up = parents.get(up)
    if (!up || up === pid) continue
    const kind = read(`${pid}/cmdline`).match(/--type=([a-z-]+)/)?.[1] ?? 'browser'
    let tids = []
    try { tids = readdirSync(`/proc/${pid}/task`) } catch { /* it has ended */ }
    for (const tid of tids) threads[tid] = [`${kind}: ${tid === pid ? 'main' : read(`${pid}/task/${tid}/comm`).trim()}`, Number(read(`${pid}/task/${tid}/schedstat`).split(' ')[0]) / 1e6]
  }
  return threads
}

// visit returns when what happened, in ms after navigation, and what threads computed until the
// first token. One that stays chats on, as a person would: the browser then keeps what it has compiled.
async function visit({ server, profile }, stays = false) {
  doing = 'starting the browser'
  const context = await chromium.launchPersistentContext(profile, { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  const came = Promise.withResolvers()
  await context.exposeFunction('told', (times) => came.resolve([times, computed()]))
  await context.addInitScript(ask)
  const page = await context.newPage()
  await page.waitForTimeout(settles)
  const before = computed()
  doing = 'waiting for the first token'
  await page.goto(server.url, { waitUntil: 'commit' })
  const [[origin, ...legs], after] = await came.promise, cpu = {}
  if (typeof origin === 'string') throw new Error(origin)
  doing = 'chatting on'
  for (const [tid, [name, ms]] of Object.entries(after)) cpu[name] = (cpu[name] ?? 0) + ms - (before[tid]?.[1] ?? 0)
  if (stays) await page.evaluate(async (more) => { for (let i = 0; i < more; i++) await (await chat()).text() }, 8)
  // The engine's worker has a clock and marks of its own.
  const worker = page.workers().find((w) => w.url().endsWith('engine/worker.js'))
  const marks = await worker.evaluate(() => [['worker begun', performance.timeOrigin], ...performance.getEntriesByType('mark').map((m) => [m.name, performance.timeOrigin + m.startTime])])
  if (stays) await page.waitForTimeout(keeps)
  doing = 'closing the browser'
  await context.close()
  return { legs: Object.fromEntries([...legs, ...marks.map(([name, at]) => [name, at - origin])]), cpu }
}

Promise.withResolvers ??= () => {
  const made = {}
  return Object.assign(made, { promise: new Promise((resolve, reject) => Object.assign(made, { resolve, reject })) })
}
const sides = []
process.on('exit', () => { for (const { profile } of sides) rmSync(profile, { recursive: true, force: true, maxRetries: 5 }) })
for (const site of sites) sides.push({ site, server: await serve(site), profile: mkdtempSync(join(tmpdir(), 'quern-cold-')), runs: [] })
// The first visit fills the site's cache, and the next has the browser keep what it compiles of that.
for (const side of sides) for (let i = 0; i < 2; i++) await visit(side, true)
for (let i = 0; i < Number(values.runs); i++) for (const side of sides) side.runs.push(await visit(side))
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1]
const medians = (list) => [...new Set(list.flatMap(Object.keys))].map((name) => [name, Math.round(median(list.map((r) => r[name] ?? 0)))])
const text = (list) => list.map((x) => x.join(' ')).join(', ')
for (const { site, server, runs } of sides) {
  const legs = medians(runs.map((r) => r.legs)).sort((a, b) => a[1] - b[1])
  const cpu = medians(runs.map((r) => r.cpu)).sort((a, b) => b[1] - a[1])
  console.log(`${site}: ms after navigation, medians of ${runs.length}: ${text(legs)}`)
  console.log(`  ms computed until then: ${cpu.reduce((sum, c) => sum + c[1], 0)}, of which ${text(cpu.filter((c) => c[1] > 4))}`)
  await server.close()
}
