// QUERN=binary node test/screenshots.mjs FOLDER [WORD]: pictures of the views, for the documents;
// only those with WORD in their names.
import { join } from 'node:path'
import { end, fake, json, model, open, plain, say } from './harness.mjs'

const [folder, word = ''] = process.argv.slice(2)
const wide = { viewport: { width: 1280, height: 800 } }
const phone = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 1, hasTouch: true, isMobile: true }

const reply = `A **quern** is a pair of stones that grinds grain by hand. The lower stone stays, the upper one turns.

1. Grain goes in through the *eye*, the hole in the middle.
2. The stones grind it on its way out.
3. Flour leaves at the rim.

How much it grinds grows with the area of the stone, $A = \\pi r^2$:

| radius | area | flour an hour |
|---:|---:|---:|
| 20 cm | 0.13 m² | 1.2 kg |
| 30 cm | 0.28 m² | 2.7 kg |

\`\`\`python
from math import pi

def flour(radius, per_area=9.5):
    """Kilograms an hour of a stone of this radius, in metres."""
    return per_area * pi * radius**2
\`\`\`
`

async function talked(page, server) {
  server.models(model('llama-3.2-3b-instruct', { capabilities: ['chat', 'completion', 'tools'], quantization: 'Q4_K_M', size_bytes: 2.02e9 }))
  for (const title of ['Names for a small mill', 'Sourdough at 70 % hydration', 'Why flour dust burns']) {
    server.says('Of course.')
    await page.goto(server.base + '#/chat')
    await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor()
    await say(page, title)
  }
  await page.reload()
  await page.getByRole('link', { name: 'New conversation' }).or(page.getByRole('button', { name: 'Show conversations' })).first().waitFor()
  await page.goto(server.base + '#/chat')
  await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor()
  server.chats((r) => {
    r.delta({ reasoning_content: 'They ask what a quern is.' }).delta({ content: reply })
    r.delta({}, 'stop').event({ choices: [], usage: { prompt_tokens: 412, completion_tokens: 231 }, timings: { predicted_per_second: 41.3 } })
    r.r.end('data: [DONE]\n\n')
  })
  await say(page, 'How does a quern work, and how much does it grind?')
  await page.locator('.hljs-keyword').first().waitFor()
  await page.locator('math').first().waitFor()
}

const shots = {
  'chat-light': [{ ...wide, colorScheme: 'light' }, talked],
  'chat-dark': [{ ...wide, colorScheme: 'dark' }, talked],
  'chat-phone': [{ ...phone, colorScheme: 'light' }, talked],
  'chat-phone-dark': [{ ...phone, colorScheme: 'dark' }, talked],
}
const goTo = (name) => (page) => page.getByRole('link', { name }).click()

const sentences = ['The mill turns slowly, and the flour falls like snow.', 'We bring the grain at dawn, before the wind turns.', 'What shall we bake today?']

// listened has a recording written down.
async function listened(page, server) {
  const speech = await fetch((await plain()).base + 'v1/audio/speech', { method: 'POST', body: JSON.stringify({ input: sentences.join(' '), voice: 'af_bella', response_format: 'wav' }) })
  const sound = Buffer.from(await speech.arrayBuffer())
  const length = (sound.length - 44) / 48000 / sentences.join(' ').length
  let at = 0
  const segments = sentences.map((text, id) => ({ id, text, start: at, end: (at += length * (text.length + 1)) }))
  server.models(model('ggml-base', { type: 'transcription', capabilities: ['transcription'] }))
  server.answers['/v1/audio/transcriptions'] = (_, r) =>
    r.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`data: ${JSON.stringify({ type: 'transcript.text.done', text: '', language: 'english', segments })}\n\n`)
  await goTo('Listen')(page)
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose a file' }).click()])
  await chooser.setFiles({ name: 'morning at the mill.wav', mimeType: 'audio/wav', buffer: sound })
  await page.getByText('English · 3 segments').waitFor()
  await page.waitForFunction(() => document.querySelector('audio').readyState >= 3)
}

// conversed has a spoken conversation, over plain HTTP, with a microphone that says nothing.
async function conversed(page, server) {
  const turns = [['How does a quern work?', 'Two round stones lie on each other. The lower one stays, and you turn the upper one by its handle.'], ['And where does the flour come out?', 'At the rim, all around.']]
  const heard = turns.map(([text]) => text)
  server.models(model('llama-3.2-3b-instruct'), model('ggml-base', { type: 'transcription', capabilities: ['transcription'] }))
  server.answers['/v1/realtime/client_secrets'] = (_, r) => json(r, { error: { message: 'none', code: 'unknown_url' } }, 404)
  server.answers['/v1/audio/transcriptions'] = (_, r) => json(r, { text: heard.shift() })
  await goTo('Talk')(page)
  await page.evaluate(() => {
    navigator.mediaDevices.getUserMedia = async () => {
      const audio = new AudioContext()
      const out = audio.createMediaStreamDestination()
      window.say = () => {
        const noise = audio.createBuffer(1, audio.sampleRate / 2, audio.sampleRate)
        noise.getChannelData(0).forEach((_, i, x) => (x[i] = Math.random() - 0.5))
        const node = audio.createBufferSource()
        node.buffer = noise
        node.connect(out)
        node.start()
      }
      return out.stream
    }
  })
  await fetch((await plain()).base + 'v1/audio/speech', { method: 'POST', body: JSON.stringify({ input: 'Hello.', voice: 'af_bella' }) }) // it is loaded then
  await page.getByRole('button', { name: 'Begin to talk' }).click()
  for (const [i, [, reply]] of turns.entries()) {
    server.says(reply)
    await page.getByText('Listening…').waitFor()
    await page.evaluate(() => window.say())
    await page.getByText('ms in all').nth(i).waitFor()
  }
}

// watched looks at a server that is busy, for four minutes of a clock that is moved.
async function watched(page, server) {
  let i = 0
  const sums = {}
  const add = (name, n) => (sums[name] = (sums[name] ?? 0) + n)
  server.answers['/metrics'] = (_, r) => {
    const busy = Math.max(0, 0.7 + 0.6 * Math.sin(i / 17) + 0.3 * Math.sin(i / 2.3)) * (i > 12)
    const running = Math.round(4 * busy)
    add('vllm:prompt_tokens_total', 900 * busy * (0.6 + 0.4 * Math.sin(i)))
    add('vllm:generation_tokens_total', 78 * running)
    add('audio_seconds_total', busy > 0.8 ? 5 : 0)
    add('http_requests_total', running)
    const histogram = (name, bounds, at, n) =>
      [...bounds, '+Inf'].map((le, k) => `${name}_bucket{le="${le}"} ${add(name + le, Math.round(n * (k >= at + 2 ? 1 : k === at + 1 ? 0.9 : k === at ? 0.4 : 0)))}\n`).join('')
    const text =
      histogram('vllm:time_to_first_token_seconds', [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1], 2 + (busy > 0.7) + (busy > 1.1), running * 3) +
      histogram('vllm:time_per_output_token_seconds', [0.005, 0.01, 0.025, 0.05, 0.1, 0.25], 1 + (busy > 0.9), running * 40) +
      `vllm:num_requests_running ${running}\nvllm:num_requests_waiting ${Math.max(0, running - 4)}\nvllm:kv_cache_usage_perc ${(0.7 * busy) / (1 + busy)}\n` +
      `process_resident_memory_bytes ${4.1e8 + 6e7 * busy}\nmodel_memory_bytes ${i > 11 ? 2.9e9 : 0}\n` +
      ['vllm:prompt_tokens_total', 'vllm:generation_tokens_total', 'audio_seconds_total', 'http_requests_total'].map((name) => `${name} ${sums[name]}\n`).join('')
    i++
    r.writeHead(200, { 'Content-Type': 'text/plain' }).end(text)
  }
  await page.clock.install()
  await goTo('Server')(page)
  await page.getByText('Time to the first token').waitFor()
  while (i < 120) await Promise.all([page.waitForResponse((r) => r.url().endsWith('/metrics')), page.clock.runFor(2000)])
}

// spoken has a text spoken.
async function spoken(page) {
  await goTo('Speak')(page)
  await page.getByRole('button', { name: 'Speak', exact: true }).click()
  await page.getByText('Spoken before').waitFor()
  await page.waitForFunction(() => document.querySelector('audio').currentTime > 1.5)
  await page.evaluate(() => document.querySelector('audio').pause())
}

async function kept(page) {
  await goTo('Models')(page)
  await page.getByText(/needs [\d.]+ MB/).waitFor()
  await page.getByLabel('Pull a model from the hub').waitFor()
}

const views = { listen: listened, speak: spoken, talk: conversed, models: kept, server: watched, use: goTo('Use it') }
for (const [name, prepare] of Object.entries(views)) {
  shots[name + '-light'] = [{ ...wide, colorScheme: 'light' }, prepare]
  shots[name + '-dark'] = [{ ...wide, colorScheme: 'dark' }, prepare]
  shots[name + '-phone'] = [{ ...phone, colorScheme: 'light' }, prepare]
  shots[name + '-phone-dark'] = [{ ...phone, colorScheme: 'dark' }, prepare]
}

for (const [name, [options, prepare]] of Object.entries(shots)) {
  if (!name.includes(word)) continue
  const server = await fake()
  const page = await open(server.base, { ...options, reducedMotion: 'reduce' })
  await prepare(page, server)
  await page.waitForLoadState('networkidle')
  await page.evaluate(() => document.activeElement?.blur())
  await page.screenshot({ path: join(folder, name + '.png') })
  await page.context().close()
}
await end()
process.exit(0)
