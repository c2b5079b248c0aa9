import { build } from 'esbuild'
import { assert, close, fake, json, model, open, test } from './harness.mjs'

const begin = (page) => page.getByRole('button', { name: 'Begin to talk' })
const end = (page) => page.getByRole('button', { name: 'End', exact: true })
const state = (page, text) => page.locator('.talk .drop [role=status]').getByText(text, { exact: true }).waitFor()
const mine = (page) => page.locator('.turns li.mine p')
const replies = (page) => page.locator('.turns li:not(.mine)')

// talker is a server that hears the next of texts in each turn, and has no realtime.
async function talker(...texts) {
  const server = await fake()
  server.models(model('mouth'), model('ear', { type: 'transcription', capabilities: ['transcription'] }))
  server.answers['/v1/realtime/client_secrets'] = (_, r) => json(r, { error: { message: 'there is no endpoint', code: 'unknown_url' } }, 404)
  server.turns = []
  server.answers['/v1/audio/transcriptions'] = (_, r, body) => {
    server.turns.push(body)
    json(r, { text: texts.shift() })
  }
  return server
}

// at is the Talk view of a server with a microphone that hears what say makes it hear.
async function at(server) {
  const page = await open(server.base + '#/talk')
  await begin(page).waitFor()
  await page.evaluate(() => {
    navigator.mediaDevices.getUserMedia = async () => {
      await window.allowed
      const audio = new AudioContext({ sampleRate: 24000 })
      const out = audio.createMediaStreamDestination()
      window.say = () => {
        const noise = audio.createBuffer(1, 12000, 24000)
        noise.getChannelData(0).forEach((_, i, x) => (x[i] = Math.random() - 0.5))
        const node = audio.createBufferSource()
        node.buffer = noise
        node.connect(out)
        node.start()
      }
      window.track = out.stream.getTracks()[0]
      return out.stream
    }
  })
  return page
}

const say = (page) => page.evaluate(() => window.say())

// sound is a file of so many seconds.
function sound(seconds) {
  const rate = 22050
  const file = Buffer.alloc(44 + 2 * rate * seconds)
  file.write('RIFF\0\0\0\0WAVEfmt ', 'latin1')
  file.writeUInt32LE(16, 16)
  file.writeUInt32LE(rate, 24)
  file.write('data', 36, 'latin1')
  for (let i = 0; i < rate * seconds; i++) file.writeInt16LE(Math.round(3000 * Math.sin(i / 8)), 44 + 2 * i)
  return file
}

test('talk: without realtime each turn goes by plain HTTP, and is spoken by sentence while it grows', async () => {
  const server = await talker('What is a mill?', 'And a quern?')
  const asked = []
  let spoken
  const first = new Promise((resolve) => (spoken = resolve))
  server.answers['/v1/audio/speech'] = (_, r, body) => {
    asked.push(JSON.parse(body))
    spoken()
    if (!/\w/.test(asked.at(-1).input)) return json(r, { error: { message: 'the text has nothing in it that can be spoken', param: 'input', code: 'invalid_value' } }, 400)
    r.writeHead(200, { 'Content-Type': 'audio/wav' }).end(sound(1))
  }
  // The end of the answer is held back until its first sentence has been asked for as sound.
  server.chats(async (reply) => {
    reply.delta({ reasoning_content: 'A question.' }).delta({ content: 'A mill ' }).delta({ content: 'grinds. Dr. Who' })
    await first
    reply.delta({ content: '\n***\n' }).delta({ content: 'has one at home in the hills.' }).end()
  })
  const page = await at(server)
  await begin(page).click()
  await page.getByText('There is no /v1/realtime here: each turn is sent by plain HTTP').waitFor()
  await state(page, 'Listening…')
  await say(page)
  await replies(page).getByText('A mill grinds. Dr. Who *** has one at home in the hills.', { exact: true }).waitFor()
  await page.getByText(/^\d+\sms to the text · \d+\sms to the first word · \d+\sms to the first sound · \d+\sms in all$/).waitFor()
  assert.deepEqual(await mine(page).allInnerTexts(), ['What is a mill?'])
  assert.deepEqual(asked.map((a) => [a.input, a.voice, a.response_format]), ['A mill grinds.', 'Dr. Who', '***', 'has one at home in the hills.'].map((input) => [input, 'af_bella', 'wav']))
  assert.equal(await page.getByRole('alert').count(), 0, 'what cannot be spoken is no failure')

  // What was recorded is a turn, with a little before and after it.
  const body = server.turns[0]
  const wav = body.subarray(body.indexOf('RIFF'))
  const seconds = wav.readUInt32LE(40) / 2 / wav.readUInt32LE(24)
  assert.ok(seconds > 0.8 && seconds < 2.5, `${seconds} s`)

  await state(page, 'Listening…')
  await say(page)
  await mine(page).getByText('And a quern?').waitFor()
  await page.getByText('ms in all').nth(1).waitFor()
  const said = server.asked.at(-1).messages
  assert.equal(said[0].role, 'system')
  // All of the first answer was made; of what was heard of it no more is said than there is.
  assert.deepEqual(said.filter((m) => m.role === 'user').map((m) => m.content).join('\n'), 'What is a mill?\nAnd a quern?')
  await end(page).click()
  await begin(page).waitFor()
  assert.equal(await page.evaluate(() => window.track.readyState), 'ended')
  await close(page)
  await server.die()
})

test('talk: who begins to speak ends the answer, of which the model hears what was heard', async () => {
  const whole = 'One and two and three and four and five and six and seven and eight.'
  const server = await talker('Count.', 'Stop it.')
  let played
  const sounding = new Promise((resolve) => (played = resolve))
  server.answers['/v1/audio/speech'] = (_, r) => r.writeHead(200, { 'Content-Type': 'audio/wav' }).end(sound(60), played)
  let gone
  server.chats((reply) => {
    if (gone) return reply.delta({ content: 'Very well.' }).end()
    gone = reply.closed
    reply.delta({ content: whole + ' ' })
  })
  const page = await at(server)
  await begin(page).click()
  await state(page, 'Listening…')
  await say(page)
  await replies(page).getByText(whole).waitFor()
  await sounding
  await say(page)
  await gone // the server hears of it
  await replies(page).getByText('Very well.').waitFor()
  const said = server.asked.at(-1).messages.slice(1)
  const heard = said.filter((m) => m.role === 'assistant').map((m) => m.content).join('')
  assert.ok(whole.startsWith(heard) && heard.length < whole.length, heard)
  assert.equal(said.filter((m) => m.role === 'user').map((m) => m.content).join('\n'), 'Count.\nStop it.')
  assert.equal(await page.getByRole('alert').count(), 0)
  await close(page)
  await server.die()
})

test('talk: a turn that fails is told, and the next goes on', async () => {
  const server = await talker('', 'Hello.', 'Hello again.')
  server.says('Good day to you.')
  const hears = server.answers['/v1/audio/transcriptions']
  server.answers['/v1/audio/transcriptions'] = (_, r) => json(r, { error: { message: 'the recogniser is too busy; try again', code: 'queue_full' } }, 429)
  const page = await at(server)
  await begin(page).click()
  await state(page, 'Listening…')
  await say(page)
  await page.getByRole('alert').filter({ hasText: 'the recogniser is too busy; try again' }).waitFor()
  await state(page, 'Listening…')
  server.answers['/v1/audio/transcriptions'] = hears
  await say(page)
  await mine(page).nth(1).waitFor()
  await page.getByRole('alert').waitFor({ state: 'detached' })
  await state(page, 'Listening…') // no words: no answer
  assert.equal(server.asked.length, 0)

  // So is a voice that breaks off.
  server.answers['/v1/audio/speech'] = (_, r) => json(r, { error: { message: 'the voice has a cold', code: 'engine_failure' } }, 500)
  await say(page)
  await page.getByRole('alert').filter({ hasText: 'the voice has a cold' }).waitFor()
  delete server.answers['/v1/audio/speech']
  await say(page)
  await page.getByText('ms in all').waitFor()
  await end(page).click()
  await close(page)
  await server.die()
})

test('talk: a conversation too long for the model loses its beginning', async () => {
  const server = await talker('First.', 'Second.', 'Third.')
  server.says('Good day to you.')
  const chats = server.answers['/v1/chat/completions']
  server.answers['/v1/chat/completions'] = (q, r, body) => {
    // How much of the first answer was heard, and is in between, is the player's affair.
    const said = JSON.parse(body).messages.map((m) => m.content).join()
    if (said.includes('First.') && said.includes('Second.')) return json(r, { error: { message: 'too long', code: 'context_length_exceeded' } }, 400)
    chats(q, r, body)
  }
  const page = await at(server)
  await begin(page).click()
  await state(page, 'Listening…')
  for (const n of [1, 2]) {
    await say(page)
    await page.getByText('ms in all').nth(n - 1).waitFor()
    await state(page, 'Listening…')
  }
  assert.deepEqual(server.asked.at(-1).messages.slice(1), [{ role: 'user', content: 'Second.' }])
  await close(page)
  await server.die()
})

test('talk: a WebSocket that is refused is done without', async () => {
  const server = await talker()
  delete server.answers['/v1/realtime/client_secrets']
  server.answers['/v1/realtime'] = (_, r) => r.writeHead(403).end()
  const page = await at(server)
  await begin(page).click()
  await page.getByText('The WebSocket of /v1/realtime was refused: each turn is sent by plain HTTP').waitFor()
  await state(page, 'Listening…')
  await close(page)
  await server.die()
})

test('talk: what is missing is said: the microphone, a recogniser, a conversation that was ended', async () => {
  const server = await talker()
  const page = await open(server.base + '#/talk')
  for (const [name, says] of [['NotAllowedError', 'The browser did not give the microphone to this page. Allow it in the settings'], ['NotFoundError', 'No microphone was found. Plug one in']]) {
    await page.evaluate((name) => void (navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', name))), name)
    await begin(page).click()
    await page.getByRole('alert').filter({ hasText: says }).waitFor()
    await begin(page).waitFor()
  }
  await close(page)

  // Who ends it before the microphone is there is not listened to.
  const hasty = await at(server)
  await hasty.evaluate(() => void (window.allowed = new Promise((resolve) => (window.allow = resolve))))
  await begin(hasty).click()
  await end(hasty).click()
  await hasty.evaluate(() => window.allow())
  await hasty.waitForFunction(() => window.track?.readyState === 'ended')
  await begin(hasty).waitFor()

  // A microphone that is taken away ends it.
  await begin(hasty).click()
  await state(hasty, 'Listening…')
  await hasty.evaluate(() => window.track.dispatchEvent(new Event('ended')))
  await hasty.getByRole('alert').filter({ hasText: 'The microphone is gone.' }).waitFor()
  await begin(hasty).waitFor()
  await close(hasty)

  server.models(model('mouth'))
  const deaf = await open(server.base + '#/talk')
  await deaf.getByText(/no model that listens/).waitFor()
  await close(deaf)
  await server.die()
})

// made is a module of the page, for Node.
async function made(source) {
  const { outputFiles } = await build({ entryPoints: [new URL(`../src/sound/${source}.ts`, import.meta.url).pathname], bundle: true, format: 'esm', write: false })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString('base64')}`)
}

test('talk: turns begin and end where a speaker does', async () => {
  const { Turns, hop } = await made('hear')
  const loud = (n, level = 0.3) => Array.from({ length: n * hop }, (_, i) => level * Math.sin(i * i))
  const still = (n) => Array.from({ length: n * hop }, (_, i) => 0.0005 * Math.sin(i * i))
  const click = still(40).map((v, i) => (i === 20 * hop ? 0.1 : v))
  // Of each turn how many hops its sound has: what was loud, and a little around it.
  for (const [name, heard, want] of [
    ['speech', [still(20), loud(20), still(40)], [[20, 45]]],
    ['a click', [click], []],
    ['a pause', [still(20), loud(10), still(3), loud(10), still(40)], [[23, 48]]],
    ['twice', [loud(10), still(40), loud(10), still(40)], [[10, 35], [10, 35]]],
    ['hum that stays', [Array.from({ length: 300 * hop }, (_, i) => 0.1 * Math.sin(i / 80))], [[13, 100]]],
    ['no end', [still(20), loud(90)], [[100, 100]]],
  ]) {
    for (const piece of [hop, 2048, 100]) {
      const got = []
      let began = 0
      const turns = new Turns(() => began++, (sound) => got.push(sound.length / hop), 4, 100)
      const all = Float32Array.from(heard.flat())
      for (let at = 0; at < all.length; at += piece) turns.hear(all.subarray(at, at + piece))
      assert.equal(began, want.length, `${name}: turns that began`)
      assert.equal(got.length, want.length, `${name}: turns that ended`)
      want.forEach(([least, most], i) => assert.ok(got[i] >= least && got[i] <= most, `${name}: ${got[i]} hops`))
    }
  }
})

test('talk: pieces to be spoken cover the text in order', async () => {
  const { Sentences } = await made('sentences')
  const long = 'word '.repeat(100)
  for (const [text, want] of [
    ['Hello there. How are you today, my friend?', ['Hello there. ', 'How are you today, my friend?']],
    ['Yes. No. Well, that is that.', ['Yes. No. ', 'Well, that is that.']],
    ['Ask Dr. Smith and J. Doe, e.g. on Monday. Then go.', ['Ask Dr. Smith and J. Doe, e.g. on Monday. ', 'Then go.']],
    ['1. Take the flour.\n2. Add the water.\n', ['1. Take the flour.\n', '2. Add the water.\n']],
    ['“That is all!” he said at last, and left.', ['“That is all!” ', 'he said at last, and left.']],
    ['今日は晴れです。明日は雨です。', ['今日は晴れです。', '明日は雨です。']],
    ['It is 3.5 or so, not 4. That is known to all.', ['It is 3.5 or so, not 4. That is known to all.']],
    [long, [long.slice(0, 300), long.slice(300)]],
    ['🙂'.repeat(301), ['🙂'.repeat(150), '🙂'.repeat(150), '🙂']],
    ['x' + '🙂'.repeat(200), ['x' + '🙂'.repeat(149), '🙂'.repeat(51)]],
    [' \n ', []],
  ]) {
    for (const step of [1, 7, text.length]) {
      const s = new Sentences()
      const got = []
      for (let i = 0; i < text.length; i += step) got.push(...s.push(text.slice(i, i + step)))
      got.push(...s.end())
      assert.deepEqual(got, want, `${step} at a time`)
    }
  }
})
