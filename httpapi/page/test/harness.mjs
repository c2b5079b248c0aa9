// What the tests share: a browser, quern itself, and a server before it whose answers a
// test may write.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

export { assert }

const binary = process.env.QUERN
const scratch = mkdtempSync(join(tmpdir(), 'quern-page-'))
const running = new Set()

// quern starts a server; it ends with the tests.
export async function quern(env = {}, ...args) {
  const server = spawn(binary, ['serve', '--listen', '127.0.0.1:0', ...args], {
    env: { PATH: process.env.PATH, HOME: scratch, XDG_CONFIG_HOME: scratch, XDG_DATA_HOME: scratch, ...env },
    cwd: scratch,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  running.add(server)
  // What it says is read to its end: a program whose reader has left is ended by the system.
  let said = ''
  const base = await new Promise((resolve, reject) => {
    server.stdout.on('data', (piece) => {
      said += piece
      const ready = /Open it in a browser: (\S+)\n/.exec(said)
      if (ready) resolve(ready[1])
    })
    server.on('exit', () => reject(new Error(`quern ended: ${said}`)))
  })
  return { base, kill: () => (server.kill('SIGKILL'), once(server, 'exit')) }
}

let real
// plain is a quern that all tests may ask.
export const plain = async () => (real ??= quern())

// With this program playwright ends the browser.
const stop = (why) => {
  console.error(`ended: ${why}`)
  process.exit(1)
}
const most = 600 // seconds for all tests
const long = 90_000 // ms for one
setTimeout(stop, most * 1000, `not done after ${most} s`).unref()
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, stop)
process.on('exit', () => {
  for (const server of running) server.kill('SIGKILL')
  rmSync(scratch, { recursive: true, force: true })
})

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})

export async function end() {
  await browser.close()
}

// A Fake passes requests on to quern, but for those it has an answer of its own to:
// answers[path](request, response, body).
export class Fake {
  answers = {}
  asked = [] // bodies of chats
  constructor(base) {
    this.behind = base
    this.server = http.createServer((q, r) => this.serve(q, r))
  }
  async listen(port = 0) {
    this.server.listen(port, '127.0.0.1')
    await once(this.server, 'listening')
    this.port = this.server.address().port
    this.base = `http://127.0.0.1:${this.port}/`
    return this
  }
  // die ends every connection, and refuses new ones until listen.
  async die() {
    const closed = once(this.server, 'close')
    this.server.close()
    this.server.closeAllConnections()
    await closed
  }
  async serve(q, r) {
    const path = new URL(q.url, this.base).pathname
    const pieces = []
    for await (const p of q) pieces.push(p)
    const body = Buffer.concat(pieces)
    if (path === '/v1/chat/completions') this.asked.push(JSON.parse(body))
    if (this.answers[path]) return this.answers[path](q, r, body)
    const passed = http.request(this.behind + q.url.slice(1), { method: q.method, headers: { ...q.headers, host: new URL(this.behind).host, origin: new URL(this.behind).origin } }, (a) => {
      r.writeHead(a.statusCode, a.headers)
      a.pipe(r)
    })
    passed.on('error', () => r.destroy())
    passed.end(body)
  }
  // chats has what script writes answer chats; it gets a Reply.
  chats(script) {
    this.answers['/v1/chat/completions'] = (q, r, body) => script(new Reply(r), JSON.parse(body), r)
  }
  // says answers chats with one text.
  says(text, extra = {}) {
    this.chats((reply) => reply.delta({ content: text, ...extra }).end())
  }
  models(...models) {
    this.answers['/v1/models'] = (_, r) => json(r, { object: 'list', data: models })
  }
}

export const fake = async () => new Fake((await plain()).base).listen()

export const json = (r, body, status = 200) => r.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))

export const model = (id, more = {}) => ({ id, object: 'model', type: 'chat', capabilities: ['chat'], context_length: 8192, status: 'loaded', ...more })

// A Reply is a chat that is being streamed.
export class Reply {
  constructor(r) {
    this.r = r
    r.writeHead(200, { 'Content-Type': 'text/event-stream' })
    this.closed = once(r, 'close')
  }
  event(body) {
    this.r.write(`data: ${JSON.stringify(body)}\n\n`)
    return this
  }
  delta(delta, finish_reason = null) {
    return this.event({ choices: [{ index: 0, delta, finish_reason }] })
  }
  end(reason = 'stop', completion = 12) {
    this.delta({}, reason)
    this.event({ choices: [], usage: { prompt_tokens: 10, completion_tokens: completion }, timings: { predicted_per_second: 42 } })
    this.r.end('data: [DONE]\n\n')
  }
}

// open makes a page of a new browser profile; what it says on the console is an error.
export async function open(base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  context.errors = []
  context.strangers = [] // requests that leave the origin
  const origin = new URL(base).origin
  context.on('weberror', (e) => context.errors.push(e.error().stack))
  context.on('console', (m) => {
    // Chromium says so of every request that fails, which tests provoke.
    if (m.type() === 'error' && !/^(Failed to load resource|WebSocket connection to )/.test(m.text())) context.errors.push(m.text())
  })
  context.on('request', (q) => {
    if (!/^(data|blob):/.test(q.url()) && new URL(q.url()).origin !== origin) context.strangers.push(q.url())
  })
  const page = await context.newPage()
  await page.goto(base)
  return page
}

// close ends a page's profile, and fails for what went wrong in it.
export async function close(page) {
  const { errors, strangers } = page.context()
  await page.context().close()
  assert.deepEqual(errors, [])
  assert.deepEqual(strangers, [])
}

// Where things are on the page.
export const at = {
  message: (p) => p.getByRole('textbox', { name: 'Message', exact: true }),
  send: (p) => p.getByRole('button', { name: 'Send', exact: true }),
  stop: (p) => p.getByRole('button', { name: 'Stop', exact: true }),
  user: (p) => p.locator('.message.user'),
  answers: (p) => p.locator('.message.assistant'),
  list: (p) => p.getByRole('list', { name: 'Conversations' }).getByRole('link'),
  failed: (p) => p.getByRole('alert'),
}

// say sends a message, and waits for the answer to end where it does.
export async function say(page, text, wait = true) {
  await at.message(page).fill(text)
  await at.message(page).press('Enter')
  if (wait) await ended(page)
}

// ended waits for the answer that is being written.
export const ended = (page) => page.locator('.thread > [role=status]').filter({ hasText: 'The answer has ended.' }).waitFor({ state: 'attached' })

const tests = []
export const test = (name, run) => tests.push({ name, run })

// main runs the tests whose names contain only.
export async function main(only = '') {
  let failed = 0
  for (const { name, run } of tests.filter((t) => t.name.includes(only))) {
    const start = Date.now()
    try {
      await Promise.race([run(), new Promise((_, reject) => setTimeout(reject, long, new Error(`not done after ${long / 1000} s`)).unref())])
      console.log(`ok    ${name} (${Date.now() - start} ms)`)
    } catch (error) {
      failed++
      console.log(`FAIL  ${name}\n${error.stack}`)
    }
  }
  console.log(`${tests.length} tests, ${failed} failed`)
  await end()
  process.exit(failed || !tests.length ? 1 : 0)
}
