import { readFile, writeFile } from 'node:fs/promises'
import { assert, at, close, ended, fake, json, model, open, plain, say, test } from './harness.mjs'

test('chat: type, stream, branch, edit, go back, reload', async () => {
  const page = await open((await plain()).base)
  await say(page, 'What is the capital of France?')
  await assertText(at.answers(page), ['The capital of France is Paris.'])
  assert.match(await page.locator('.measured').textContent(), /^7 tokens · [\d,.]+ a second · first after [\d.]+ m?s$/)
  assert.match(await page.locator('.bar .meter').textContent(), /^\d+ \/ 1,024$/)
  assert.match(page.url(), /#\/chat\/[0-9a-f]{24}$/)

  // Another answer stands beside the first.
  await page.getByRole('button', { name: 'Answer again' }).click()
  await page.getByText('2 / 2').waitFor()
  await ended(page)
  await page.getByRole('button', { name: 'Branch before' }).click()
  await page.getByText('1 / 2').waitFor()

  // So does what is said instead.
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('textbox', { name: 'Edit message' }).fill('What is the capital of Italy?')
  await page.getByRole('textbox', { name: 'Edit message' }).press('Enter')
  await at.answers(page).filter({ hasText: 'Rome' }).waitFor()
  await ended(page)
  await assertText(at.user(page).locator('.plain'), ['What is the capital of Italy?'])
  await page.getByRole('button', { name: 'Branch before' }).click()
  await assertText(at.user(page).locator('.plain'), ['What is the capital of France?'])

  await say(page, 'What is the opposite of hot?', false)
  await at.answers(page).nth(1).waitFor()
  await ended(page)
  const before = await page.locator('.messages').innerText()
  await page.reload()
  await at.answers(page).nth(1).locator('.measured').waitFor()
  assert.equal(await page.locator('.messages').innerText(), before)
  await close(page)
})

test('chat: titles, search, rename, export, remove, import', async () => {
  const page = await open((await plain()).base)
  await say(page, 'What is the capital of France?')
  await page.getByRole('link', { name: 'New conversation' }).click()
  await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor()
  await say(page, 'What is the opposite of hot?\nAnswer in one word.')
  await assertText(at.list(page), ['What is the opposite of hot?', 'What is the capital of France?'])

  const seek = page.getByRole('searchbox', { name: 'Search conversations' })
  await seek.fill('paris') // the answer has it, no title
  await waitTexts(at.list(page), ['What is the capital of France?'])
  await seek.fill('no such words')
  await page.getByText('Nothing was found.').waitFor()
  await seek.fill('')

  const row = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'What is the capital of France?' }) })
  await row.hover()
  await row.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill('Capitals')
  await page.getByRole('textbox', { name: 'Title' }).press('Enter')
  await waitTexts(at.list(page), ['What is the opposite of hot?', 'Capitals'])

  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export all' }).click()])
  const path = await file.path()
  const { format, conversations } = JSON.parse(await readFile(path, 'utf8'))
  assert.equal(format, 'quern-conversations')
  assert.deepEqual(conversations.map((c) => [c.title, c.messages.length]).sort(), [['Capitals', 2], ['What is the opposite of hot?', 2]])

  for (const title of ['Capitals', 'What is the opposite of hot?']) {
    const row = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: title }) })
    await row.hover()
    await row.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await row.waitFor({ state: 'detached' })
  }
  await page.reload()
  await page.getByText('Conversations are kept in this browser only.').waitFor()

  await importFile(page, path)
  await page.getByText('2 conversations were imported.').waitFor()
  await at.list(page).filter({ hasText: 'Capitals' }).click()
  await at.answers(page).filter({ hasText: 'Paris' }).waitFor()

  // What is no such file is refused whole.
  for (const [text, says] of [
    ['{', /is not JSON/],
    ['{"format": "other", "conversations": []}', /has no conversations of this page/],
    ['{"format": "quern-conversations", "version": 9, "conversations": []}', /newer page/],
    ['{"format": "quern-conversations", "version": 1, "conversations": [{"title": "half", "created": 1, "changed": 1, "messages": [{"id": "a", "role": "ghost", "at": 1, "text": ""}]}]}', /damaged: there is no role ghost. Nothing was imported/],
  ]) {
    const bad = path + '.bad.json'
    await writeFile(bad, text)
    await importFile(page, bad)
    await at.failed(page).filter({ hasText: says }).waitFor()
  }
  assert.equal(await at.list(page).count(), 2)
  await close(page)
})

test('chat: stop keeps what was written', async () => {
  const server = await fake()
  const page = await open(server.base)
  let stopped
  server.chats((reply) => {
    stopped = reply.closed
    reply.delta({ content: 'Once upon' })
  })
  await say(page, 'Tell me a story', false)
  await at.answers(page).filter({ hasText: 'Once upon' }).waitFor()
  assert.equal(await at.send(page).count(), 0)
  await at.stop(page).click()
  await stopped // the server hears of it
  await page.getByText('Stopped.').waitFor()
  await page.reload()
  await at.answers(page).filter({ hasText: /Once upon.*Stopped\./s }).waitFor()
  await close(page)
})

test('chat: thinking is folded, calls are shown and answered', async () => {
  const server = await fake()
  const page = await open(server.base)
  await page.getByRole('button', { name: 'Settings of this conversation' }).click()
  await page.getByRole('textbox', { name: 'System prompt' }).fill('Be brief.')
  await page.getByRole('spinbutton', { name: 'Temperature' }).fill('0.5')
  await page.getByText('Tools', { exact: true }).click()
  const tools = page.getByRole('textbox', { name: /Functions the model may call/ })
  await tools.fill('[{"type": "function"')
  await page.getByText(/This is not JSON/).waitFor()
  const weather = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]
  await tools.fill(JSON.stringify(weather))
  await page.getByText('Presets', { exact: true }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Brief weather')
  await page.getByRole('button', { name: 'Save as preset' }).click()
  await page.getByRole('button', { name: 'Use these' }).click()

  server.chats((reply, body) => {
    if (body.messages.at(-1).role === 'tool') return reply.delta({ content: 'It is sunny.' }).end()
    reply.delta({ reasoning_content: 'I need the weather.' })
    reply.delta({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'weather', arguments: '' } }] })
    reply.delta({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] })
    reply.delta({ tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] }).end('tool_calls')
  })
  await say(page, 'How is it in Oslo?')
  const thinking = page.locator('details.thinking')
  assert.equal(await thinking.getAttribute('open'), null)
  await thinking.locator('summary').click()
  await page.getByText('I need the weather.').waitFor()
  await page.locator('.call').filter({ hasText: 'weather' }).filter({ hasText: '"city": "Oslo"' }).waitFor()
  await page.getByRole('textbox', { name: 'What it returned' }).fill('sunny')
  await page.getByRole('button', { name: 'Go on with this result' }).click()
  await at.answers(page).filter({ hasText: 'It is sunny.' }).waitFor()
  await ended(page)
  const asked = server.asked.at(-1)
  assert.deepEqual(asked.messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'How is it in Oslo?' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }] },
    { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
  ])
  assert.deepEqual([asked.temperature, asked.tools, asked.stream], [0.5, weather, true])

  // A preset brings the settings to another conversation.
  await page.reload()
  await page.getByRole('link', { name: 'New conversation' }).click()
  await page.getByRole('button', { name: 'Settings of this conversation' }).click()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('Presets', { exact: true }).click()
  await page.getByRole('button', { name: 'Brief weather', exact: true }).click()
  await page.getByRole('textbox', { name: 'System prompt' }).and(page.locator('textarea')).evaluate((area) => new Promise((done, fail) => {
    setTimeout(() => fail(new Error(`it is ${area.value}`)), 20000)
    const look = () => (area.value === 'Be brief.' ? done() : requestAnimationFrame(look))
    look() // settings are shown when they are saved
  }))
  await close(page)
})

test('chat: files go with a message, sound as what is said in it', async () => {
  const server = await fake()
  const recogniser = model('ear', { type: 'transcription', capabilities: ['transcription'] })
  server.models(model('mouth'))
  server.says('Noted.')
  const page = await open(server.base)
  await attach(page, { name: 'talk.mp3', mimeType: 'audio/mpeg', buffer: Buffer.from('ID3') })
  await at.failed(page).filter({ hasText: 'no model that transcribes' }).waitFor()
  await attach(page, { name: 'photo.jpg', mimeType: 'image/jpeg', buffer: Buffer.from([0xff, 0xd8, 0xff, 0]) })
  await at.failed(page).filter({ hasText: 'photo.jpg is neither text in UTF-8 nor sound' }).waitFor()
  await attach(page, { name: 'big.txt', mimeType: 'text/plain', buffer: Buffer.alloc((1 << 20) + 1, 'a') })
  await at.failed(page).filter({ hasText: 'big.txt is larger than 1 MB' }).waitFor()

  server.models(model('mouth'), recogniser)
  server.answers['/v1/audio/transcriptions'] = (_, r, body) => json(r, { text: body.includes('name="model"\r\n\r\near') ? ' Hello from the tape. ' : 'wrong model' })
  await page.reload()
  await attach(page, { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('a ``` b') })
  await attach(page, { name: 'talk.mp3', mimeType: 'audio/mpeg', buffer: Buffer.from('ID3') })
  await page.getByRole('button', { name: 'Remove talk.mp3' }).waitFor()
  await say(page, 'What is this?')
  assert.equal(server.asked.at(-1).messages[0].content, 'notes.md:\n````\na ``` b\n````\n\nSaid in talk.mp3:\nHello from the tape.\n\nWhat is this?')
  await assertText(at.user(page).locator('summary'), ['notes.md', 'talk.mp3'])
  await close(page)
})

test('chat: a model is picked by what it can do', async () => {
  const server = await fake()
  server.models(model('small', { capabilities: ['chat', 'tools'], quantization: 'Q4_K_M', size_bytes: 807e6 }), model('large'), model('vectors', { type: 'embedding' }))
  server.says('Hello.')
  const page = await open(server.base)
  await page.locator('.picker').filter({ hasText: 'small' }).click()
  const dialog = page.getByRole('dialog', { name: 'Model' })
  await assertText(dialog.locator('.name'), ['small', 'large'])
  assert.match(await dialog.getByRole('listitem').first().innerText(), /8,192 tokens of context · Q4_K_M · 807 MB · in memory\s+chat\s+tools/)
  await dialog.getByRole('button', { name: 'large' }).click()
  await say(page, 'Hi')
  assert.equal(server.asked.at(-1).model, 'large')
  await page.reload()
  await page.locator('.picker').filter({ hasText: 'large' }).waitFor()
  await close(page)
})

test('chat: the server dies while it writes, and comes back', async () => {
  const server = await fake()
  const page = await open(server.base)
  let reply
  server.chats((r) => (reply = r.delta({ content: 'Half of an' })))
  await say(page, 'Hello', false)
  await at.answers(page).filter({ hasText: 'Half of an' }).waitFor()
  await server.die()
  await at.failed(page).filter({ hasText: `The server at 127.0.0.1:${server.port} does not answer. See that quern serve runs there, then try again.` }).waitFor()
  await at.answers(page).filter({ hasText: 'Half of an' }).waitFor()

  // Nothing listens: the message that is sent then is kept too.
  await at.message(page).fill('Are you there?')
  await at.message(page).press('Enter')
  await at.answers(page).nth(1).getByRole('alert').waitFor()
  await server.listen(server.port)
  server.says('I am back.')
  await at.answers(page).nth(1).getByRole('button', { name: 'Try again' }).click()
  await at.answers(page).filter({ hasText: 'I am back.' }).waitFor()
  await ended(page)

  // A stream that ends without its end was cut off, and an error in it is shown as it is.
  server.chats((r) => r.delta({ content: 'Cut' }).r.end())
  await say(page, 'Again')
  await at.failed(page).filter({ hasText: 'The server ended its answer early.' }).waitFor()
  server.chats((r) => r.delta({ content: 'Broken' }).event({ error: { message: 'the engine has run out of luck', type: 'server_error', param: null, code: 'engine_failure' } }).r.end())
  await say(page, 'And again')
  await at.failed(page).filter({ hasText: 'the engine has run out of luck engine_failure' }).waitFor()
  await page.reload()
  await at.answers(page).filter({ hasText: 'Half of an' }).waitFor()
  await close(page)
})

test('chat: the page is closed while an answer is written', async () => {
  const server = await fake()
  const page = await open(server.base)
  server.chats((reply) => reply.delta({ content: 'Some words' }))
  await say(page, 'Hello', false)
  await at.answers(page).filter({ hasText: 'Some words' }).waitFor()
  await saved(page, 'Some words')
  await page.reload()
  await at.failed(page).filter({ hasText: 'The page was closed while this was written.' }).waitFor()
  await at.answers(page).filter({ hasText: 'Some words' }).waitFor()
  await close(page)
})

// holdMessages lets a test keep back, with hold(true), what other tabs tell this one.
function holdMessages() {
  const { set } = Object.getOwnPropertyDescriptor(BroadcastChannel.prototype, 'onmessage')
  let held
  Object.defineProperty(BroadcastChannel.prototype, 'onmessage', {
    set(handle) {
      set.call(this, (event) => (held ? held.push(() => handle(event)) : handle(event)))
    },
  })
  window.hold = (on) => {
    const late = held ?? []
    held = on ? late : undefined
    if (!on) late.forEach((pass) => pass())
  }
}

test('chat: two tabs on one conversation', async () => {
  const server = await fake()
  const one = await open(server.base)
  server.says('First.')
  await say(one, 'Hello')
  const two = await one.context().newPage()
  await two.addInitScript(holdMessages)
  await two.goto(one.url())
  await at.answers(two).filter({ hasText: 'First.' }).waitFor()

  // What one tab writes the other shows, while it is written.
  let reply
  server.chats((r) => (reply = r.delta({ content: 'Neither' })))
  await say(one, 'More', false)
  await at.answers(one).filter({ hasText: 'Neither' }).waitFor()
  await two.getByText('Another tab is writing this.').waitFor()
  reply.delta({ content: ' nor.' }).end()
  await at.answers(two).filter({ hasText: 'Neither nor.' }).waitFor()
  await two.getByText('Another tab is writing this.').waitFor({ state: 'detached' })

  // Both write at once: both are kept, as branches.
  const replies = []
  server.chats((r, body) => replies.push(r.delta({ content: `Answer to ${body.messages.at(-1).content}.` })))
  await at.message(one).fill('A')
  await at.message(two).fill('B')
  await two.evaluate(() => hold(true)) // it does not know of A when B is sent
  await at.message(one).press('Enter')
  await at.answers(one).filter({ hasText: 'Answer to A.' }).waitFor()
  await at.message(two).press('Enter')
  await at.answers(two).filter({ hasText: 'Answer to B.' }).waitFor()
  await two.evaluate(() => hold(false))
  for (const r of replies) r.end()
  await ended(one)
  await ended(two)
  await one.reload()
  await one.getByText(/[12] \/ 2/).waitFor()
  const texts = []
  for (const [step, place] of [['Branch before', '1 / 2'], ['Next branch', '2 / 2']]) {
    const button = one.getByRole('button', { name: step })
    if (await button.isEnabled()) await button.click()
    await one.getByText(place).waitFor()
    texts.push(await at.answers(one).last().locator('.prose').innerText())
  }
  assert.deepEqual(new Set(texts), new Set(['Answer to A.', 'Answer to B.']))

  // One removes it: the other says so.
  const row = one.getByRole('listitem').filter({ has: one.getByRole('link', { name: 'Hello' }) })
  await row.hover()
  await row.getByRole('button', { name: 'Remove' }).click()
  await one.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await two.getByText('This conversation was removed in another tab.').waitFor()
  await close(one)
})

test('chat: storage is full, then has room again', async () => {
  const server = await fake()
  const page = await open(server.base)
  const devtools = await page.context().newCDPSession(page)
  const origin = new URL(server.base).origin
  await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1 })
  server.says('Not stored. ' + 'x'.repeat(100_000))
  await say(page, 'While full')
  await page.getByText('This browser has no room left for conversations.').waitFor()
  await at.answers(page).filter({ hasText: 'Not stored.' }).waitFor()
  const [file] = await Promise.all([page.waitForEvent('download'), page.locator('.trouble').getByRole('button', { name: 'Export all' }).click()])
  assert.match(await readFile(await file.path(), 'utf8'), /Not stored\./)

  await devtools.send('Storage.overrideQuotaForOrigin', { origin })
  await page.getByRole('button', { name: 'Save again' }).click()
  await page.locator('.trouble').waitFor({ state: 'detached' })
  await page.reload()
  await at.answers(page).filter({ hasText: 'Not stored.' }).waitFor()
  await close(page)
})

// hold keeps what the page writes waiting until release.
const hold = (page) =>
  page.evaluate(async () => {
    const open = indexedDB.open('quern')
    await new Promise((done) => (open.onsuccess = done))
    const store = open.result.transaction(['conversations', 'messages', 'presets'], 'readwrite').objectStore('presets')
    const again = () => (window.released ? open.result.close() : (store.get('').onsuccess = again))
    window.released = false
    again()
  })
const release = (page) => page.evaluate(() => void (window.released = true))

// frames waits until the page has been drawn so often that what it shows at once is shown.
const frames = (page) =>
  page.evaluate(async () => {
    for (let i = 0; i < 20; i++) await new Promise((done) => requestAnimationFrame(done))
  })

test('chat: what is shown is saved already, and what is not saved is kept', async () => {
  const server = await fake()
  server.says('Good day.')
  const page = await open(server.base)
  await at.message(page).waitFor()

  // A first message is neither listed nor at an address before it is saved; a reload loses nothing.
  await hold(page)
  await at.message(page).fill('Hello there')
  await at.message(page).press('Enter')
  await frames(page)
  assert.equal(await at.user(page).count(), 0)
  assert.ok(!/#\/chat\/./.test(page.url()), page.url())
  assert.ok((await page.evaluate(() => Object.values({ ...sessionStorage }))).includes('Hello there'), 'the draft is gone')
  await release(page)
  await at.user(page).waitFor()
  await ended(page)
  assert.ok(!(await page.evaluate(() => Object.values({ ...sessionStorage }))).includes('Hello there'), 'the draft is left')

  // So with the end of an answer, a title, a branch, settings and an edit.
  let reply
  server.chats((r) => (reply = r.delta({ content: 'Quite so' })))
  await say(page, 'And then?', false)
  await at.answers(page).filter({ hasText: 'Quite so' }).waitFor()
  await saved(page, 'Quite so')
  await hold(page)
  reply.delta({ content: '.' }).end()
  await at.answers(page).filter({ hasText: 'Quite so.' }).waitFor()
  await frames(page)
  assert.equal(await at.stop(page).count(), 1, 'the answer has ended before it was saved')
  await release(page)
  await ended(page)

  const row = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'Hello there' }) })
  await row.hover()
  await row.getByRole('button', { name: 'Rename' }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill('Greetings')
  await hold(page)
  await page.getByRole('textbox', { name: 'Title' }).press('Enter')
  await frames(page)
  await assertText(at.list(page), ['Hello there'])
  assert.equal(await page.getByRole('dialog').count(), 1)
  await release(page)
  await waitTexts(at.list(page), ['Greetings'])

  await page.getByRole('button', { name: 'Settings of this conversation' }).click()
  await page.getByRole('textbox', { name: 'System prompt' }).fill('Be brief.')
  await hold(page)
  await page.getByRole('button', { name: 'Use these' }).click()
  await frames(page)
  assert.equal(await page.getByRole('dialog').count(), 1)
  await release(page)
  await page.getByRole('dialog').waitFor({ state: 'detached' })

  server.says('Another.')
  await page.getByRole('button', { name: 'Edit', exact: true }).last().click()
  await page.getByRole('textbox', { name: 'Edit message' }).fill('And now?')
  await hold(page)
  await page.getByRole('textbox', { name: 'Edit message' }).press('Enter')
  await frames(page)
  assert.equal(await page.getByRole('textbox', { name: 'Edit message' }).inputValue(), 'And now?')
  await release(page)
  await at.answers(page).filter({ hasText: 'Another.' }).waitFor()
  await ended(page)
  await hold(page)
  await page.getByRole('button', { name: 'Branch before' }).last().click()
  await frames(page)
  assert.equal(await at.answers(page).filter({ hasText: 'Another.' }).count(), 1)
  await release(page)
  await at.answers(page).filter({ hasText: 'Quite so.' }).waitFor()
  await page.reload()
  await at.answers(page).filter({ hasText: 'Quite so.' }).waitFor()
  await close(page)
})

test('chat: a draft outlives a reload', async () => {
  const page = await open((await plain()).base)
  await say(page, 'What is the capital of France?')
  await at.message(page).fill('half a thought')
  await page.reload()
  await at.answers(page).waitFor()
  assert.equal(await at.message(page).inputValue(), 'half a thought')
  await close(page)
})

// assertText waits for a list to show these, and wants their first lines to be these.
async function assertText(locator, want) {
  await waitTexts(locator, want)
  assert.deepEqual((await locator.allInnerTexts()).map((t) => t.trim().split('\n')[0].trim()), want)
}

// waitTexts waits for a list to show exactly these.
async function waitTexts(locator, want) {
  await locator.nth(want.length).waitFor({ state: 'detached' })
  for (const [i, text] of want.entries()) await locator.nth(i).filter({ hasText: text }).waitFor()
}

async function importFile(page, path) {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Import' }).click()])
  await chooser.setFiles(path)
}

async function attach(page, file) {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach text or sound' }).click()])
  await chooser.setFiles(file)
}

// saved waits until a text is in the browser's storage.
async function saved(page, text) {
  const look = async (text) => {
    const open = indexedDB.open('quern')
    await new Promise((done) => (open.onsuccess = done))
    const all = open.result.transaction('messages').objectStore('messages').getAll()
    await new Promise((done) => (all.onsuccess = done))
    open.result.close()
    return all.result.some((m) => m.text.includes(text))
  }
  while (!(await page.evaluate(look, text)));
}
