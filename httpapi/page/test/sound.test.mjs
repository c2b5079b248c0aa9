import { readFile } from 'node:fs/promises'
import { assert, close, fake, json, open, plain, test } from './harness.mjs'

const text = 'The mill turns slowly. The flour falls like snow.'

// loudest is the greatest sample of the last speech that the page has kept.
const loudest = (page) =>
  page.evaluate(async () => {
    const db = await new Promise((resolve) => (indexedDB.open('quern-speech').onsuccess = (e) => resolve(e.target.result)))
    const all = await new Promise((resolve) => (db.transaction('spoken').objectStore('spoken').getAll().onsuccess = (e) => resolve(e.target.result)))
    db.close()
    const sound = await new OfflineAudioContext(1, 1, 16000).decodeAudioData(await all.at(-1).sound.arrayBuffer())
    return sound.getChannelData(0).reduce((m, v) => Math.max(m, Math.abs(v)), 0)
  })

test('speak: it is heard while it is made, words are marked, and it can be saved and found again', async () => {
  const server = await fake()
  // The end is held back until the beginning has been heard.
  let release
  const heard = new Promise((resolve) => (release = resolve))
  const path = '/v1/text-to-speech/af_bella/stream/with-timestamps'
  server.answers[path] = async (q, r, body) => {
    const whole = await fetch((await plain()).base + q.url.slice(1), { method: 'POST', body, headers: { Accept: q.headers.accept, 'Content-Type': 'application/json' } })
    const events = (await whole.text()).split(/(?<=\n\n)/)
    r.writeHead(200, { 'Content-Type': 'text/event-stream' })
    const most = Math.max(1, events.length - 1)
    for (const e of events.slice(0, most)) r.write(e)
    await heard
    for (const e of events.slice(most)) r.write(e)
    r.end()
  }
  const page = await open(server.base + '#/speak')
  await page.getByLabel('Text').fill(text)
  await page.getByRole('button', { name: 'Speak', exact: true }).click()
  await page.waitForFunction(() => document.querySelector('audio')?.currentTime > 0)
  await page.locator('.reading .said').first().waitFor()
  assert.equal(await page.getByRole('group', { name: 'Save the speech' }).count(), 0, 'the end has not come yet')
  release()
  await page.getByRole('group', { name: 'Save the speech' }).waitFor()
  assert.equal(await page.locator('.reading').textContent(), text)
  await page.getByText('Spoken before').waitFor() // it is kept
  assert.ok((await loudest(page)) > 0.05, 'it is silent')

  // A word that is pressed is gone to.
  await page.locator('.reading').getByText('snow').click()
  await page.waitForFunction(() => document.querySelector('.reading .said')?.textContent.includes('snow'))
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('group', { name: 'Save the speech' }).getByText('wav').click()])
  assert.equal(saved.suggestedFilename(), 'The mill turns slowly The.wav')
  assert.equal((await readFile(await saved.path())).subarray(0, 4).toString(), 'RIFF')

  await page.reload()
  await page.getByRole('button', { name: text }).click()
  await page.getByRole('group', { name: 'Save the speech' }).waitFor()
  assert.equal(await page.locator('.reading').textContent(), text)
  await page.getByRole('button', { name: /^Remove “The mill/ }).click()
  await page.getByText('Spoken before').waitFor({ state: 'detached' })
  await close(page)
  await server.die()
})

test('speak: a browser that keeps nothing says so, and loses no speech', async () => {
  const { base } = await plain()
  const page = await open(base + '#/speak')
  await page.evaluate(() => (IDBObjectStore.prototype.put = () => { throw new DOMException('', 'QuotaExceededError') }))
  await page.getByLabel('Text').fill(text)
  await page.getByRole('button', { name: 'Speak', exact: true }).click()
  await page.getByText('The browser keeps no history for this page: save what you want to keep.').waitFor()
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByRole('group', { name: 'Save the speech' }).getByText('mp3').click()])
  assert.ok((await readFile(await saved.path())).length > 1000)
  await close(page)
})

test('speak: voices are mixed by sliders, and an error is told', async () => {
  const server = await fake()
  server.answers['/v1/audio/voices'] = (_, r) => json(r, { voices: ['a', 'b', 'c'].map((id) => ({ id, name: id, model: 'kokoro' })) })
  const asked = []
  server.server.prependListener('request', (q) => q.url.includes('text-to-speech') && asked.push(decodeURIComponent(q.url)))
  const page = await open(server.base + '#/speak')
  await page.getByRole('button', { name: 'Mix in another voice' }).click()
  await page.getByRole('slider', { name: 'How much of b' }).fill('2')
  await page.getByRole('button', { name: 'Speak', exact: true }).click()
  await page.getByRole('alert').waitFor()
  assert.ok(asked[0].startsWith('/v1/text-to-speech/a(5)+b(2)/stream/with-timestamps?'), asked[0])
  await close(page)
  await server.die()
})

const words = ['The', 'mill', 'turns', 'slowly.', 'The', 'flour', 'falls', 'like', 'snow.'].map((word, i) => ({ word, start: i * 0.3, end: i * 0.3 + 0.25 }))
const segments = [
  { id: 0, start: 0, end: 1.2, text: 'The mill turns slowly.' },
  { id: 1, start: 1.2, end: 2.7, text: 'The flour falls like snow.' },
]

// listener is a server with a recogniser that hears the words above.
async function listener() {
  const server = await fake()
  const all = await (await fetch((await plain()).base + 'v1/models')).json()
  server.models(...all.data, { id: 'ear', object: 'model', type: 'transcription', capabilities: ['transcription'], status: 'loaded' })
  server.go = new Promise((resolve) => (server.release = resolve))
  server.answers['/v1/audio/transcriptions'] = async (_, r, body) => {
    server.form = body.toString('latin1')
    r.writeHead(200, { 'Content-Type': 'text/event-stream' })
    const event = (e) => r.write(`data: ${JSON.stringify(e)}\n\n`)
    event({ type: 'transcript.text.delta', delta: segments[0].text, segment: segments[0] })
    await server.go
    event({ type: 'transcript.text.delta', delta: ' ' + segments[1].text, segment: segments[1] })
    event({ type: 'transcript.text.done', text: '', language: 'english', duration: 2.7, segments, words })
    r.end()
  }
  const speech = await fetch((await plain()).base + 'v1/audio/speech', { method: 'POST', body: JSON.stringify({ input: text, voice: 'af_bella', response_format: 'wav' }) })
  server.sound = Buffer.from(await speech.arrayBuffer())
  return server
}

test('listen: segments come as they are found, a word moves the player, edits are saved', async () => {
  const server = await listener()
  const page = await open(server.base + '#/listen')
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose a file' }).click()])
  await chooser.setFiles({ name: '<b>mill</b>.wav', mimeType: 'audio/wav', buffer: server.sound })
  await page.locator('.segments').getByText('mill').waitFor()
  assert.equal(await page.locator('.segments li').count(), 1)
  server.release()
  await page.getByText('English · 2 segments').waitFor()
  assert.ok(server.form.includes('name="model"\r\n\r\near') && server.form.includes('word'), 'the form')

  await page.locator('.segments').getByText('falls').click()
  await page.waitForFunction(() => document.querySelector('audio').currentTime >= 1.8)
  await page.waitForFunction(() => document.querySelector('.reading .said'))
  await page.evaluate(() => document.querySelector('audio').pause())

  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('textbox', { name: 'Text at 0:01' }).fill('The flour --> falls & rests.')
  await page.getByRole('button', { name: 'Done', exact: true }).click()
  const save = async (form) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('group', { name: 'Save the transcript' }).getByText(form, { exact: true }).click()])
    return readFile(await file.path(), 'utf8')
  }
  assert.equal(await save('txt'), 'The mill turns slowly.\nThe flour --> falls & rests.\n')
  assert.equal(await save('srt'), '1\n00:00:00,000 --> 00:00:01,200\nThe mill turns slowly.\n\n2\n00:00:01,200 --> 00:00:02,700\nThe flour -> falls & rests.\n')
  assert.equal(await save('vtt'), 'WEBVTT\n\n00:00:00.000 --> 00:00:01.200\nThe mill turns slowly.\n\n00:00:01.200 --> 00:00:02.700\nThe flour --&gt; falls &amp; rests.\n')
  const kept = JSON.parse(await save('json'))
  assert.deepEqual(kept.segments[0].words.map((w) => w.word), ['The', 'mill', 'turns', 'slowly.'])
  assert.equal(kept.segments[1].words.length, 6)
  await close(page)
  await server.die()
})

test('listen: a server that breaks off keeps what was heard, and listens again', async () => {
  const server = await listener()
  const whole = server.answers['/v1/audio/transcriptions']
  server.answers['/v1/audio/transcriptions'] = (_, r) => {
    r.writeHead(200, { 'Content-Type': 'text/event-stream' })
    r.write(`data: ${JSON.stringify({ type: 'transcript.text.delta', delta: segments[0].text, segment: segments[0] })}\n\n`)
    server.cut = () => r.destroy()
  }
  const page = await open(server.base + '#/listen')
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose a file' }).click()])
  await chooser.setFiles({ name: 'mill.wav', mimeType: 'audio/wav', buffer: server.sound })
  await page.locator('.segments').getByText('mill').waitFor()
  server.cut()
  await page.getByRole('alert').waitFor()
  await page.locator('.segments').getByText('mill').waitFor()
  server.answers['/v1/audio/transcriptions'] = whole
  server.release()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('English · 2 segments').waitFor()
  await close(page)
  await server.die()
})

test('listen: a microphone that is refused, and a server that cannot listen, are told with what to do', async () => {
  const server = await listener()
  const page = await open(server.base + '#/listen')
  await page.getByRole('button', { name: 'Record' }).click()
  await page.getByRole('alert').filter({ hasText: /microphone/i }).waitFor()

  // Who leaves before the microphone is there is not listened to.
  await page.evaluate(() => {
    const allowed = new Promise((resolve) => (window.allow = resolve))
    navigator.mediaDevices.getUserMedia = async () => {
      await allowed
      const { stream } = new AudioContext().createMediaStreamDestination()
      window.track = stream.getTracks()[0]
      return stream
    }
  })
  await page.getByRole('button', { name: 'Record' }).click()
  await page.getByRole('link', { name: 'Server' }).click()
  await page.getByRole('heading', { name: 'Server' }).waitFor()
  await page.evaluate(() => window.allow())
  await page.waitForFunction(() => window.track?.readyState === 'ended')
  await close(page)
  const deaf = await open((await plain()).base + '#/listen')
  await deaf.getByText(/no model that listens/).waitFor()
  await close(deaf)
  await server.die()
})
