// node profile.mjs FOLDER MARKS COUNT: runs the engine of a site's folder as a page does that is
// opened and chats. When it has started it writes what it is then, to go on from there: its memory
// to the file image, and the rest to frozen.json. At the end it writes to the file ran which
// functions of its program have run since, 1, and which before, 2: its bytes from address MARKS on,
// COUNT of them.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'

const [folder, ...numbers] = process.argv.slice(2), [marks, count] = numbers.map(Number)
const exit = process.exit

// What worker.js has in a browser.
let memory
const { Memory } = WebAssembly
WebAssembly.Memory = class extends Memory {
  constructor(limits) {
    super(limits)
    memory = this
  }
}
Promise.withResolvers ??= () => {
  const made = {}
  return Object.assign(made, { promise: new Promise((resolve, reject) => Object.assign(made, { resolve, reject })) })
}
const type = (name) => ({ headers: { 'Content-Type': name.endsWith('.wasm') ? 'application/wasm' : 'application/octet-stream' } })
// The origin's folder has a model that was fetched before.
const bytes = readFileSync(join(folder, 'quern-tiny.gguf'))
const file = {
  kind: 'file',
  getFile: async () => ({ size: bytes.length, lastModified: 0 }),
  createSyncAccessHandle: async () => ({ getSize: () => bytes.length, read: (into, { at }) => bytes.copy(into, 0, at, at + into.length), close() {} }),
}
const kept = (entries) => ({ kind: 'directory', entries: async function* () { yield* Object.entries(entries) }, getDirectoryHandle: async (name) => entries[name] })
const origin = kept({ quern: kept({ url: kept({ 'models.example': kept({ 'small.gguf': file }) }) }) })
const started = Promise.withResolvers()
const browser = {
  process: undefined, // Go asks it for what no browser has
  name: '', location: 'http://localhost/engine/worker.js', onmessage: null, postMessage() {},
  navigator: { locks: { request: (_, options, f) => f({}) }, storage: { getDirectory: () => started.promise.then(() => origin) } },
  fetch: async (name) => name === 'rest.wasm' ? new Promise(() => {}) : new Response(readFileSync(join(folder, name)), type(name)), // there is no rest yet
  console,
}
const channels = new Map() // by their second ports
globalThis.MessageChannel = class extends MessageChannel {
  constructor() {
    super()
    channels.set(this.port2, this)
  }
}
for (const [name, value] of Object.entries(browser)) Object.defineProperty(globalThis, name, { value, writable: true })
runInThisContext(readFileSync(join(folder, 'worker.js'), 'utf8'))

// A time zone that the program asks for before it is written down would be everyone's.
let zone = false
const { _makeFuncWrapper } = Go.prototype, { getTimezoneOffset } = Date.prototype
// The collector says of memory that it has freed it, for clearFreed.
const { run } = Go.prototype
Go.prototype.run = function (program) {
  this.env.GODEBUG = 'clobberfree=1'
  return run.call(this, program)
}
const functions = new Map() // their numbers
Go.prototype._makeFuncWrapper = function (id) {
  const f = _makeFuncWrapper.call(this, id)
  functions.set(f, id)
  return f
}
Date.prototype.getTimezoneOffset = function () {
  zone = true
  return getTimezoneOffset.call(this)
}

// path is how a value is found from the global object, nothing where it is not near.
function path(value) {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (globalThis[name] === value) return [name]
    if (['fs', 'process', 'path', 'site'].includes(name)) for (const more of Object.keys(globalThis[name])) if (globalThis[name][more] === value) return [name, more]
  }
}

// describe says how worker.js makes a value again that Go holds.
function describe(value, number) {
  if (value === null) return null
  if (['string', 'number'].includes(typeof value)) return ['text', value]
  if (functions.has(value)) return ['function', functions.get(value)]
  const channel = channels.get(value) ?? value, called = channel instanceof MessageChannel && functions.get(channel.port1.onmessage)
  if (called) return [channel === value ? 'channel' : 'port', called]
  if (Object.keys(value).join() === 'id,this,args,result') return ['over'] // an event that was answered: Go keeps small values with their neighbours
  const at = path(value)
  if (at) return ['at', at]
  throw new Error(`the program holds value ${number} of JavaScript, ${Object.prototype.toString.call(value)}, which has no name to find it by`)
}

const { ready } = site, known = 7 // values that wasm_exec.js has by itself
site.failed = (text) => started.reject(new Error(text))
site.ready = (called) => setTimeout(() => { // it has returned, and waits
  if (zone) throw new Error('the program asked for the time zone before it was written down')
  const { go, program } = runInThisContext('({go, program})'), bytes = new Uint8Array(memory.buffer)
  const before = bytes.slice(marks, marks + count).map((n) => 2 * n)
  bytes.fill(0, marks, marks + count)
  writeFileSync(join(folder, 'image'), bytes.slice())
  const variables = Object.keys(program.exports).filter((n) => /^\d+$/.test(n)).map((n) => String(program.exports[n].value))
  writeFileSync(join(folder, 'frozen.json'), JSON.stringify({
    variables, pages: bytes.length / 65536, clock: performance.timeOrigin + performance.now(),
    values: go._values.slice(known).map((v, i) => describe(v, known + i)), counts: go._goRefCounts.slice(known), free: go._idPool,
    functions: Object.fromEntries(Object.entries(called).map(([name, f]) => [name, functions.get(f)])),
  }))
  bytes.set(before, marks)
  go._resume() // as worker.js does
  ready(called)
  started.resolve()
}, 0)

const { port1: service, port2 } = new MessageChannel()
await started.promise
await globalThis.onmessage({ data: { do: 'connect' }, ports: [port2] })

// ask returns the text of an answer.
async function ask(method, path, body) {
  const { port1, port2 } = new MessageChannel(), stream = body && new Response(JSON.stringify(body)).body
  const answered = new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data) })
  service.postMessage({ method, path, headers: [['content-type', 'application/json']], body: stream }, stream ? [port2, stream] : [port2])
  const answer = await answered
  const text = await new Response(answer.body).text()
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.down ?? answer.failed ?? text}`)
  return text
}

if (!(await ask('GET', '/v1/models')).includes('small')) throw new Error('the model that was kept is not served')
const messages = [{ role: 'user', content: 'Hi' }]
await ask('POST', '/v1/chat/completions', { model: 'quern-tiny', stream: true, temperature: 0, messages })
messages.push({ role: 'assistant', content: 'Hello!' }, { role: 'user', content: 'What is the capital of France?\nSay it in "one" word: 1 2 3, naïve.' })
await ask('POST', '/v1/chat/completions', { model: 'quern-tiny', stream: true, stream_options: { include_usage: true }, messages, temperature: 0.7, top_p: 0.9 })
writeFileSync(join(folder, 'ran'), new Uint8Array(memory.buffer, marks, count).slice())
exit(0)
