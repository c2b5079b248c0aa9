// node profile.mjs FOLDER MARKS COUNT OUT: runs the engine of a site's folder as a page does
// that is opened and chats, and writes which functions of its program ran: its bytes from
// address MARKS on, COUNT of them.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'

const [folder, marks, count, out] = process.argv.slice(2)

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
const browser = {
  name: '', location: 'http://localhost/engine/worker.js', onmessage: null, postMessage() {},
  navigator: { locks: { request: (_, options, f) => f({}) }, storage: { getDirectory: async () => origin } },
  fetch: async (name) => name === 'rest.wasm' ? new Promise(() => {}) : new Response(readFileSync(join(folder, name)), type(name)), // there is no rest yet
  console,
}
for (const [name, value] of Object.entries(browser)) Object.defineProperty(globalThis, name, { value, writable: true })
runInThisContext(readFileSync(join(folder, 'worker.js'), 'utf8'))

const { port1: service, port2 } = new MessageChannel()
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
writeFileSync(out, new Uint8Array(memory.buffer, Number(marks), Number(count)).slice())
process.exit(0)
