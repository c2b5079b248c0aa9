// node site.mjs SITE [SHARED]: the site in Chromium, as a person and as a client of the API
// use it. SHARED is ../shared, whose clients and recogniser are tried where it is there.
import assert from 'node:assert/strict'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { bound } from './bound.mjs'
import { hub, serve } from './server.mjs'

const [site, shared] = process.argv.slice(2)
bound(300)
const scratch = mkdtempSync(join(tmpdir(), 'quern-site-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))
const far = await hub(readFileSync(join(site, 'engine/quern-tiny.gguf')))
const server = await serve(site, { edit: (html) => html.replace('data-then=', `data-hub="${far.url}" data-then=`) })
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--js-flags=--expose-gc'] })
const context = await browser.newContext()
const origin = new URL(server.url).origin
const strays = [] // requests that leave the origin

async function open() {
  const page = await context.newPage()
  page.on('request', (r) => { if (!r.url().startsWith(origin) && !r.url().startsWith(far.url) && !/^(data|blob):/.test(r.url())) strays.push(r.url()) })
  page.on('pageerror', (e) => console.log('page:', e.message))
  await page.goto(server.url)
  await page.waitForFunction(() => globalThis.quern)
  await page.evaluate(() => quern.ready)
  return page
}

let failed = 0
const most = 90_000 // ms of a test

async function test(name, f) {
  const begin = performance.now()
  let late
  try {
    await Promise.race([f(), new Promise((_, reject) => { late = setTimeout(() => reject(new Error(`not done after ${most / 1000} s`)), most) })])
    console.log('ok  ', name, `(${Math.round(performance.now() - begin)} ms)`)
  } catch (e) {
    failed++
    console.log('FAIL', name, e.stack)
  } finally {
    clearTimeout(late)
  }
}

// What the tests call in pages.
const helpers = () => {
  globalThis.post = (path, body, more = {}) => fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), ...more })
  globalThis.chat = async (text, more = {}) => {
    const r = await post('v1/chat/completions', { model: 'quern-tiny', temperature: 0, messages: [{ role: 'user', content: text }], ...more })
    return r.ok ? (await r.json()).choices[0].message.content : `${r.status} ${await r.text()}`
  }
  // gauge is the sum of a metric.
  globalThis.gauge = async (name) => {
    const lines = (await (await fetch('metrics')).text()).split('\n').filter((l) => l.startsWith(name + '{') || l.startsWith(name + ' '))
    return lines.reduce((sum, l) => sum + Number(l.split(' ').pop()), 0)
  }
}
await context.addInitScript(helpers)

let page = await open(), pulled

await test('the page is there, and the API says what it is', async () => {
  await page.waitForSelector('#app > *')
  const ids = await page.evaluate(async () => (await (await fetch('v1/models')).json()).data.map((m) => m.id))
  assert.deepEqual(ids.slice(0, 2), ['quern-tiny', 'quern-formant'])
  // It began here, and not when the site was made.
  const [started, opened] = await page.evaluate(async () => [(await (await fetch('v1/server')).json()).started, performance.timeOrigin / 1000])
  assert.ok(started >= Math.floor(opened), `started ${opened - started} s before the page was opened`)
})

await test('a chat', async () => {
  assert.match(await page.evaluate(() => chat('What is the capital of France?')), /Paris/)
})

await test('a chat that is streamed comes in pieces', async () => {
  const [pieces, text] = await page.evaluate(async () => {
    const r = await post('v1/chat/completions', { stream: true, temperature: 0, messages: [{ role: 'user', content: 'Tell me a story.' }] })
    const reader = r.body.getReader(), decoder = new TextDecoder()
    let pieces = 0, text = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return [pieces, text]
      pieces++
      text += decoder.decode(value, { stream: true })
    }
  })
  assert.ok(pieces > 10, `${pieces} pieces`)
  assert.match(text, /data: \[DONE\]\n\n$/)
})

await test('who leaves a stream ends the work', async () => {
  const [made, running] = await page.evaluate(async () => {
    const leave = new AbortController(), before = await gauge('vllm:generation_tokens_total')
    const r = await post('v1/completions', { model: 'quern-tiny', prompt: 'Once', max_tokens: 900, ignore_eos: true, stream: true }, { signal: leave.signal })
    await r.body.getReader().read()
    leave.abort()
    for (;;) { // until the engine has noticed
      const running = await gauge('vllm:num_requests_running')
      if (!running) return [await gauge('vllm:generation_tokens_total') - before, running]
    }
  })
  assert.equal(running, 0)
  assert.ok(made < 600, `${made} tokens of 900 were made for nobody`)
})

// leaveEarly has a page leave before the first byte of an answer.
async function leaveEarly(page) {
  const made = await page.evaluate(async () => {
    const leave = new AbortController(), before = await gauge('vllm:generation_tokens_total')
    let over = false
    const answer = post('v1/completions', { model: 'quern-tiny', prompt: 'Once', max_tokens: 900, ignore_eos: true }, { signal: leave.signal }).catch((e) => e.name)
    answer.then(() => { over = true })
    while (!over && !await gauge('vllm:num_requests_running'));
    leave.abort()
    if (await answer !== 'AbortError') return -1
    while (await gauge('vllm:num_requests_running'));
    return await gauge('vllm:generation_tokens_total') - before
  })
  assert.ok(made >= 0 && made < 600, `${made} tokens`)
}

await test('who leaves before the first byte ends the work too', () => leaveEarly(page))

await test('errors are the API\'s', async () => {
  const [status, body, id, url] = await page.evaluate(async () => {
    const r = await post('v1/chat/completions', { model: 'none', messages: [{ role: 'user', content: 'x' }] })
    return [r.status, await r.json(), r.headers.get('x-request-id'), r.url]
  })
  assert.equal(status, 404)
  assert.equal(url, `${server.url}v1/chat/completions`)
  assert.equal(body.error.code, 'model_not_found')
  assert.ok(id)
  assert.deepEqual(await page.evaluate(async () => [(await fetch('v1/none')).status, (await fetch('health', { method: 'HEAD' })).status]), [404, 200])
})

await test('vectors', async () => {
  const [n, one] = await page.evaluate(async () => {
    const r = await (await post('v1/embeddings', { model: 'quern-tiny', input: ['a cat', 'a dog'] })).json()
    return [r.data.length, Math.hypot(...r.data[0].embedding)]
  })
  assert.equal(n, 2)
  assert.ok(Math.abs(one - 1) < 1e-3, `a vector has length ${one}`)
})

await test('the voice is heard', async () => {
  const loudest = await page.evaluate(async () => {
    const r = await post('v1/audio/speech', { model: 'tts-1', voice: 'alloy', input: 'Hello there.', response_format: 'wav' })
    if (!r.ok) throw new Error(await r.text())
    const sound = await new OfflineAudioContext(1, 1, 24000).decodeAudioData(await r.arrayBuffer())
    return sound.getChannelData(0).reduce((most, v) => Math.max(most, Math.abs(v)), 0)
  })
  assert.ok(loudest > 0.05, `the loudest sample is ${loudest}`)
})

// pick gives files to quern.open as a person does.
async function pick(paths, folder = false) {
  await page.evaluate((folder) => {
    document.querySelector('#pick')?.remove()
    document.body.append(Object.assign(document.createElement('input'), { type: 'file', id: 'pick', multiple: true, webkitdirectory: folder }))
  }, folder)
  await page.setInputFiles('#pick', paths)
  return page.evaluate(() => quern.open(document.querySelector('#pick').files).catch((e) => `refused: ${e.message}`))
}

await test('a GGUF file of the user', async () => {
  const path = join(scratch, 'mine.gguf')
  writeFileSync(path, readFileSync(join(site, 'engine/quern-tiny.gguf')))
  assert.equal(await pick(path), 'mine')
  assert.match(await pick(path), /^refused: two models are called "mine"/)
  assert.match(await page.evaluate(() => chat('What is the capital of France?', { model: 'mine' })), /Paris/)
})

await test('files that cannot be served say why', async () => {
  const text = join(scratch, 'letter.gguf'), cut = join(scratch, 'cut.gguf'), big = join(scratch, 'big.gguf')
  writeFileSync(text, 'Dear reader')
  assert.match(await pick(text), /^refused: model "letter": .*not/)
  writeFileSync(cut, readFileSync(join(site, 'engine/quern-tiny.gguf')).subarray(0, 3 << 20))
  assert.match(await pick(cut), /^refused: model "cut": .*end/)
  writeSync(openSync(big, 'w'), 'GGUF\x03\0\0\0')
  truncateSync(big, 5 * 2 ** 30) // a hole
  assert.match(await pick(big), /^refused: model "big": .*5120 MiB do not fit.* 3072 MiB/)
  const ids = await page.evaluate(async () => (await (await fetch('v1/models')).json()).data.map((m) => m.id))
  assert.ok(!ids.some((id) => ['letter', 'cut', 'big'].includes(id)), ids.join())
})

if (shared) {
  await test('speech becomes text, with an upload', async () => {
    assert.equal(await pick(join(shared, 'fixtures/whisper/hf_tiny'), true), 'hf_tiny')
    const sound = readFileSync(join(shared, 'fixtures/whisper/jfk.wav')).toString('base64')
    const r = await page.evaluate(async (sound) => {
      const form = new FormData()
      form.set('model', 'hf_tiny')
      form.set('response_format', 'verbose_json')
      form.set('file', new File([Uint8Array.from(atob(sound), (c) => c.charCodeAt(0))], 'jfk.wav'))
      const r = await fetch('v1/audio/transcriptions', { method: 'POST', body: form })
      return r.ok ? r.json() : r.text()
    }, sound)
    assert.equal(typeof r.text, 'string', JSON.stringify(r))
    assert.ok(Math.abs(r.duration - 11) < 0.1, `${r.duration} s`)
  })

  // What was said is heard, answered and spoken without a server.
  await test('the Talk view talks', async () => {
    await page.evaluate((sound) => {
      navigator.mediaDevices.getUserMedia = async () => {
        const audio = new AudioContext(), out = audio.createMediaStreamDestination(), node = audio.createBufferSource()
        node.buffer = await audio.decodeAudioData(Uint8Array.from(atob(sound), (c) => c.charCodeAt(0)).buffer)
        node.connect(out)
        globalThis.talk = () => node.start(0, 0, 2)
        return out.stream
      }
      location.hash = '#/talk'
    }, readFileSync(join(shared, 'fixtures/whisper/jfk.wav')).toString('base64'))
    await page.getByRole('button', { name: 'Begin to talk' }).click()
    await page.getByText('There is no /v1/realtime here: each turn is sent by plain HTTP').waitFor()
    await page.getByText('Listening…').waitFor()
    await page.evaluate(() => talk())
    await page.getByText(/ms to the text · .*\sms to the first sound/).first().waitFor()
    await page.getByRole('button', { name: 'End', exact: true }).click()
    assert.equal(await page.getByRole('alert').count(), 0)
  })

  await test('a folder with a voice of one\'s own', async () => {
    const from = join(shared, 'fixtures/kokoro/tiny'), folder = join(scratch, 'kokoro')
    mkdirSync(join(folder, 'voices'), { recursive: true })
    for (const [name, to = name] of [['kokoro-tiny.safetensors'], ['config.json'], ['voice_tiny.pt', 'voices/voice_tiny.pt']]) copyFileSync(join(from, name), join(folder, to))
    assert.equal(await pick(folder, true), 'kokoro')
    const samples = await page.evaluate(async () => {
      const r = await post('v1/audio/speech', { model: 'kokoro', voice: 'voice_tiny', input: 'Hello.', response_format: 'wav' })
      if (!r.ok) throw new Error(await r.text())
      return (await new OfflineAudioContext(1, 1, 24000).decodeAudioData(await r.arrayBuffer())).length
    })
    assert.ok(samples > 1000, `${samples} samples`)
  })

  // buffer is what the script uses of node's Buffer.
  const buffer = 'globalThis.Buffer = { from: (x) => { const b = typeof x === "string" ? new TextEncoder().encode(x) : Uint8Array.from(x); b.toString = () => new TextDecoder().decode(b); return b } }'

  // The clients' own script, with the unmodified package of OpenAI, in a worker.
  await test('the checks of the openai package', async () => {
    const env = {
      BASE_URL: server.url.replace(/\/$/, ''), CHAT_MODEL: 'quern-tiny', EMBED_MODEL: 'quern-tiny', AUTH: '0', AUDIO: 'none', LONG_WORDS: '20000',
      ONLY: '^(models|chat|error: (unknown|no messages|ranges|bad role|unsupported|prompt))(?!.*(tool|runTools|json_schema))', TEST_TIMEOUT_MS: '60000',
    }
    const { outputFiles } = await build({
      entryPoints: [join(shared, 'clients/openai.mjs')], bundle: true, write: false, format: 'esm', platform: 'browser', nodePaths: [join(import.meta.dirname, 'node_modules')],
      banner: { js: `${buffer}; globalThis.process = {env: ${JSON.stringify(env)}, exit: (code) => postMessage({code})}; const log = console.log; console.log = (...a) => { postMessage({line: a.join(' ')}); };` },
      plugins: [{
        name: 'browser',
        setup(b) {
          b.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'node' }))
          b.onLoad({ filter: /.*/, namespace: 'node' }, () => ({ contents: 'export default {join: () => "", dirname: () => ""}; export const fileURLToPath = () => ""' }))
          b.onLoad({ filter: /openai\.mjs$/ }, ({ path }) => path.startsWith(shared) ? { contents: readFileSync(path, 'utf8').replace('await import(pkg)', "await import('openai')").replace('new OpenAI({', 'new OpenAI({ dangerouslyAllowBrowser: true,'), resolveDir: import.meta.dirname.concat('/'), pluginData: path } : undefined)
          b.onResolve({ filter: /^\.\/lib\.mjs$/ }, () => ({ path: join(shared, 'clients/lib.mjs') }))
        },
      }],
    })
    const [lines, code] = await page.evaluate((source) => new Promise((resolve) => {
      const lines = [], worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })), { type: 'module' })
      worker.onerror = (e) => resolve([[e.message], 1])
      worker.onmessage = ({ data }) => 'code' in data ? resolve([lines, data.code]) : lines.push(data.line)
    }), outputFiles[0].text)
    const passed = lines.filter((l) => l.startsWith('PASS')).length
    assert.equal(code, 0, lines.filter((l) => !l.startsWith('PASS')).join('\n'))
    assert.ok(passed >= 25, `only ${passed} checks passed:\n${lines.join('\n')}`)
    console.log(`     ${passed} checks`)
  })
}

await test('a model of the hub comes over a connection that breaks', async () => {
  const events = await page.evaluate(async () => {
    const r = await post('v1/models/pull', { model: 'owner/small', stream: true })
    return r.ok ? (await r.text()).split('\n').filter((l) => l.startsWith('data: {')).map((l) => JSON.parse(l.slice(6))) : [await r.text()]
  })
  const last = events.at(-1)
  assert.equal(last.state, 'done', JSON.stringify(events.slice(-2)))
  assert.ok(far.asked.length > 1 && far.asked.slice(1).every((at) => at > 0), `asked for bytes from ${far.asked}`)
  pulled = last.id
  assert.match(await page.evaluate((id) => chat('What is the capital of France?', { model: id }), pulled), /Paris/)
})

await test('a model at an address is kept, and held to its hash', async () => {
  const get = (path, hash) => page.evaluate(([url, hash]) => quern.fetch(url, hash).catch((e) => `refused: ${e.message}`), [`${far.url}/${path}`, hash])
  assert.match(await get('x/other.gguf?broken', far.sha256), /^refused: /)
  far.asked.length = 1
  const id = await get('x/other.gguf', far.sha256)
  assert.match(id, /^url\/127.0.0.1_\d+\/other$/)
  assert.ok(far.asked[1] > 0, 'it began anew')
  assert.match(await page.evaluate((id) => chat('What is the capital of France?', { model: id }), id), /Paris/)
  assert.match(await get('y/wrong.gguf', '0'.repeat(64)), /^refused: .* is not the file/)
  assert.match(await get('page.html'), /^refused: .* names no/)
})

await test('the Models view opens files and addresses, and says what is wrong', async () => {
  await page.evaluate(() => { location.hash = '#/models' })
  const region = page.getByRole('region', { name: 'Open a model' })
  const choose = async (name) => {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), region.getByRole('button', { name: 'Choose a file' }).click()])
    await chooser.setFiles(join(scratch, name))
  }
  writeFileSync(join(scratch, 'photo.gguf'), Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0]), Buffer.alloc(5000, 7)]))
  for (const [name, says] of [['letter.gguf', /"letter": .*not/], ['photo.gguf', /"photo": .*no model file of a known kind/], ['cut.gguf', /"cut": .*end/], ['big.gguf', /5120 MiB do not fit.* 3072 MiB/]]) {
    await choose(name)
    await region.getByRole('alert').filter({ hasText: says }).waitFor()
  }
  copyFileSync(join(scratch, 'mine.gguf'), join(scratch, 'theirs.gguf'))
  await choose('theirs.gguf')
  await page.getByText('theirs is here.').waitFor()
  await region.getByRole('alert').waitFor({ state: 'detached' })
  await page.getByRole('list', { name: 'Models', exact: true }).getByText('theirs', { exact: true }).waitFor()
  for (const [address, says] of [[`${far.url}/page.html`, /names no .gguf/], [`${far.url}/closed/x.gguf`, /^127.0.0.1:\d+ cannot be reached, breaks off, or lets no page of another site fetch/]]) {
    await region.getByLabel('Or fetch a GGUF file from an address').fill(address)
    await region.getByRole('button', { name: 'Fetch' }).click()
    await region.getByRole('alert').filter({ hasText: says }).waitFor()
  }
  await region.getByLabel('Or fetch a GGUF file from an address').fill(`${far.url}/z/third.gguf`)
  await region.getByRole('button', { name: 'Fetch' }).click()
  await page.getByText(/^url\/127.0.0.1_\d+\/third is here\.$/).waitFor()
})

await test('a second tab asks the engine of the first, and takes over', async () => {
  const second = await open()
  assert.match(await second.evaluate(() => chat('What is the capital of France?')), /Paris/)
  await leaveEarly(second)
  copyFileSync(join(scratch, 'mine.gguf'), join(scratch, 'second.gguf'))
  await second.evaluate(() => document.body.append(Object.assign(document.createElement('input'), { type: 'file', id: 'pick' })))
  await second.setInputFiles('#pick', join(scratch, 'second.gguf'))
  const pickHere = () => second.evaluate(() => quern.open(document.querySelector('#pick').files).catch((e) => `refused: ${e.message}`))
  assert.equal(await pickHere(), 'second')
  assert.match(await pickHere(), /^refused: two models are called "second"/)
  const broken = second.evaluate(async () => {
    const r = await post('v1/completions', { model: 'quern-tiny', prompt: 'Once', max_tokens: 900, ignore_eos: true, stream: true })
    const reader = r.body.getReader()
    await reader.read()
    globalThis.begun = true
    try {
      while (!(await reader.read()).done);
      return 'whole'
    } catch (e) {
      return 'broken'
    }
  })
  await second.waitForFunction(() => globalThis.begun)
  await page.close()
  assert.equal(await broken, 'broken')
  assert.match(await second.evaluate(() => chat('What is the capital of France?')), /Paris/)
  page = second
})

await test('from the second load on threads share the rows, and give the same bits', async () => {
  const own = await browser.newContext()
  await own.addInitScript(helpers)
  const tab = await own.newPage(), warnings = []
  tab.on('console', (m) => { if (m.type() === 'warning') warnings.push(m.text()) })
  const answer = async () => {
    await tab.waitForFunction(() => globalThis.quern)
    await tab.evaluate(() => quern.ready)
    const isolated = await tab.evaluate(() => crossOriginIsolated), worker = tab.workers().find((w) => w.url().endsWith('engine/worker.js'))
    await tab.evaluate(() => fetch('v1/models')) // the engine is there, and then its helpers are
    if (isolated) while (!await worker.evaluate(() => helpers.length));
    const choices = await tab.evaluate(async () => (await (await post('v1/completions', { model: 'quern-tiny', prompt: 'Once upon a time there was', max_tokens: 24, logprobs: 3, temperature: 0 })).json()).choices)
    return { choices, threads: await worker.evaluate(() => helpers.length), isolated }
  }
  await tab.goto(server.url)
  const one = await answer()
  // The start that follows reads its memory from where this one has put it.
  const kept = () => tab.evaluate(async () => Array.fromAsync((await (await navigator.storage.getDirectory()).getDirectoryHandle('quern-start', { create: true })).keys()))
  while (!(await kept()).some((name) => /^[0-9a-f]{64}$/.test(name)));
  const found = await tab.workers().find((w) => w.url().endsWith('engine/worker.js')).evaluate(async () => {
    let found
    findMemory().then((read) => { found = typeof read })
    while (!found) { // garbage is collected meanwhile
      gc()
      await new Promise((resolve) => setTimeout(resolve))
    }
    return found
  })
  assert.equal(found, 'function')
  await tab.reload()
  const more = await answer()
  assert.deepEqual([one.isolated, one.threads, more.isolated], [false, 0, true])
  assert.equal(more.threads, Math.min(await tab.evaluate(() => navigator.hardwareConcurrency), 8) - 1)
  assert.deepEqual(more.choices, one.choices)
  assert.deepEqual(warnings, [])
  await own.close()
})

await test('an engine that does not start says so', async () => {
  const bad = join(scratch, 'bad')
  cpSync(site, bad, { recursive: true, filter: (path) => !path.endsWith('quern.wasm') })
  writeFileSync(join(bad, 'engine/quern.wasm'), 'no program')
  const own = await browser.newContext(), tab = await own.newPage(), broken = await serve(bad)
  await tab.goto(broken.url)
  await tab.waitForFunction(() => globalThis.quern)
  await tab.evaluate(() => quern.ready)
  for (let i = 0; i < 2; i++) { // it stays so
    const [status, body] = await tab.evaluate(async () => { const r = await fetch('v1/models'); return [r.status, await r.json()] })
    assert.equal(status, 503)
    assert.equal(body.error.code, 'engine_not_running')
    assert.match(body.error.message, /WebAssembly/)
  }
  await own.close()
  await broken.close()
})

await test('after the first load no network is needed', async () => {
  await server.close()
  await far.close()
  await page.reload()
  await page.waitForSelector('#app > *')
  assert.match(await page.evaluate(() => chat('What is the capital of France?')), /Paris/)
  assert.match(await page.evaluate((id) => chat('What is the capital of France?', { model: id }), pulled), /Paris/, 'the model that was pulled')
})

await test('a model that was pulled is removed', async () => {
  const [status, left] = await page.evaluate(async (id) => {
    const r = await fetch(`v1/models/${id}`, { method: 'DELETE' })
    return [r.status, (await (await fetch('v1/models')).json()).data.map((m) => m.id)]
  }, pulled)
  assert.equal(status, 200)
  assert.ok(!left.includes(pulled), left.join())
})

// At quality 9, which takes seconds; the site is compressed at 11, of which 6 MB are 6.96 here.
await test('the program is small', () => {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 }
  const sizes = ['quern.wasm', 'rest.wasm', 'memory.bin', 'kernels.wasm'].map((name) => brotliCompressSync(readFileSync(join(site, 'engine', name)), { params }).length)
  const all = sizes.reduce((a, b) => a + b)
  console.log('     bytes of brotli:', all)
  assert.ok(all > 1e6 && all <= 6_960_000, sizes.join())
})

await test('nothing left the origin', () => assert.deepEqual(strays, []))

await browser.close()
process.exit(failed ? 1 : 0)
