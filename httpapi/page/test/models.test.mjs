import { readFileSync } from 'node:fs'
import { assert, close, fake, json, open, quern, test } from './harness.mjs'
import { Hub } from './hub.mjs'

// A small model that can be served.
const weights = readFileSync(process.env.QUERN_MODEL ?? new URL('../../../engine/model/testdata/smollm2-F32.gguf', import.meta.url))

const card = (page, id) => page.getByRole('list', { name: 'Models', exact: true }).getByRole('listitem').filter({ has: page.getByText(id, { exact: true }) })

test('models: pull from a hub that breaks off, stop, close the page, resume, load, unload, remove', async () => {
  const hub = await new Hub('m-Q4_K_M.gguf', weights).listen()
  const server = await quern({ HF_ENDPOINT: hub.url, HF_HOME: '/nonexistent' })
  let page = await open(server.base + '#/models')
  await card(page, 'quern-tiny').getByText(/needs [\d.]+ MB of .* memory/).waitFor()

  // A cut costs nothing: the server goes on by itself, as far as the hub lets it.
  hub.cuts = 1
  hub.upTo = weights.length >> 1
  await page.getByLabel('Pull a model from the hub').fill('hub:some/model')
  await page.getByRole('button', { name: 'Pull', exact: true }).click()
  await page.getByText(/^50 %$|^49 %$/).waitFor()
  assert.ok(hub.ranges.length >= 2 && hub.ranges[1] > 0, `asked from ${hub.ranges}`)
  await page.getByRole('button', { name: 'Stop pulling some/model' }).click()
  await page.getByText(/^Stopped/).waitFor()
  await page.getByRole('button', { name: 'Resume some/model' }).click()
  await page.getByRole('button', { name: 'Stop pulling some/model' }).waitFor()

  // A page that is closed ends its pull; the next finds what has arrived.
  await close(page)
  page = await open(server.base + '#/models')
  await page.getByRole('progressbar', { name: 'Of some/model' }).waitFor()
  hub.upTo = Infinity
  const before = hub.ranges.length
  await page.getByRole('button', { name: /^(Resume|Follow) some\/model$/ }).click()
  const mine = card(page, 'some/model/m-Q4_K_M')
  await mine.waitFor()
  assert.ok(hub.ranges.slice(before).every((from) => from >= weights.length >> 2), `asked again from ${hub.ranges.slice(before)}`)
  assert.equal(await page.getByRole('progressbar', { name: 'Of some/model' }).count(), 0)

  await mine.getByRole('button', { name: 'Load', exact: true }).click()
  await mine.getByText('Loaded', { exact: true }).waitFor()
  await mine.getByText(/holds/).waitFor()
  await mine.getByRole('button', { name: 'Unload', exact: true }).click()
  await mine.getByText('Not loaded', { exact: true }).waitFor()

  await mine.getByRole('button', { name: 'Remove some/model/m-Q4_K_M' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await mine.count(), 1)
  await mine.getByRole('button', { name: 'Remove some/model/m-Q4_K_M' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
  await mine.waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('button', { name: /^Remove / }).count(), 0, 'what is built in cannot be removed')
  await close(page)
  hub.close()
})

test('models: what cannot be pulled is told in a sentence, and can be thrown away', async () => {
  const hub = await new Hub('m-Q4_K_M.gguf', weights).listen()
  const server = await quern({ HF_ENDPOINT: hub.url, HF_HOME: '/nonexistent' })
  const page = await open(server.base + '#/models')
  for (const [name, said] of [
    ['../../etc/passwd', /not a model reference/],
    ['some/absent', /no public repository/],
    ['<img src=x onerror=alert(1)>/x', /not a model reference/],
  ]) {
    await page.getByLabel('Pull a model from the hub').fill(name)
    await page.getByLabel('Pull a model from the hub').press('Enter')
    await page.getByRole('alert').filter({ hasText: said }).waitFor()
    await page.getByRole('button', { name: `Throw away ${name}` }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  }
  // What has arrived of a pull is thrown away after asking.
  hub.upTo = weights.length >> 1
  await page.getByLabel('Pull a model from the hub').fill('some/model')
  await page.getByLabel('Pull a model from the hub').press('Enter')
  await page.getByText(/^50 %$|^49 %$/).waitFor()
  await page.getByRole('button', { name: 'Stop pulling some/model' }).click()
  await page.getByRole('button', { name: 'Throw away some/model' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Throw away' }).click()
  await page.getByRole('progressbar').waitFor({ state: 'detached' })
  await page.reload()
  await card(page, 'quern-tiny').waitFor()
  assert.equal(await page.getByRole('progressbar').count(), 0)
  await close(page)
  hub.close()
})

test('models: where quern runs in the browser, files and addresses are opened, and failures are sentences', async () => {
  const { base } = await quern()
  const page = await open(base)
  assert.equal(await page.getByRole('region', { name: 'Open a model' }).count(), 0, 'a server opens no files of browsers')
  await page.addInitScript(() => {
    window.asked = []
    const act = (what) => (window.asked.push(what), new Promise((resolve, reject) => Object.assign(window, { answer: resolve, refuse: (text) => reject(new Error(text)) })))
    globalThis.quern = { open: (files) => act(files.map((f) => f.webkitRelativePath || f.name)), fetch: (url, sum) => act([url, sum]) }
  })
  await page.goto(base + '#/models')
  await page.reload()
  const region = page.getByRole('region', { name: 'Open a model' })
  const asked = (n) => page.waitForFunction((n) => window.asked.length === n, n)
  const choose = async (name, files) => {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), region.getByRole('button', { name }).click()])
    await chooser.setFiles(files)
  }
  const file = { name: '<img src=x onerror=alert(1)>.gguf', mimeType: '', buffer: Buffer.from('GGUF') }
  await choose('Choose a file', file)
  await region.getByText('Opening <img src=x onerror=alert(1)>.gguf…').waitFor()
  assert.ok(await region.getByRole('button', { name: 'Choose a folder' }).isDisabled())
  await page.evaluate(() => window.refuse('model "big": 5120 MiB do not fit; take one with fewer bits a weight'))
  await region.getByRole('alert').filter({ hasText: 'model "big": 5120 MiB do not fit; take one with fewer bits a weight' }).waitFor()
  await choose('Choose a file', file)
  await asked(2)
  await region.getByRole('alert').waitFor({ state: 'detached' })
  await page.evaluate(() => window.answer('mine'))
  await page.getByText('mine is here.').waitFor()

  const address = region.getByLabel('Or fetch a GGUF file from an address')
  const fetchIt = () => region.getByRole('button', { name: 'Fetch' }).click()
  for (const bad of ['no address', 'ftp://example.org/x.gguf', 'javascript:alert(1)']) {
    await address.fill(bad)
    await fetchIt()
    assert.equal(await address.evaluate((e) => e.validity.valid), false, bad)
  }
  await address.fill('https://models.example/a.gguf')
  await region.getByLabel('Its SHA-256').fill('abc')
  await fetchIt()
  assert.equal(await page.evaluate(() => window.asked.length), 2)
  await region.getByLabel('Its SHA-256').fill('A'.repeat(64))
  for (const [text, says] of [
    ['Failed to fetch', 'models.example cannot be reached, breaks off, or lets no page of another site fetch from it (CORS).'],
    ['ENOSPC', 'The browser has no room left for this model.'],
    ['EIO', 'The file can no longer be read'],
    ['https://models.example/a.gguf is not the file whose SHA-256 is x; it was thrown away', 'it was thrown away'],
  ]) {
    const before = await page.evaluate(() => window.asked.length)
    await fetchIt()
    await asked(before + 1)
    await page.evaluate((text) => window.refuse(text), text)
    await region.getByRole('alert').filter({ hasText: says }).waitFor()
  }
  assert.deepEqual(await page.evaluate(() => window.asked.slice(2)), Array(4).fill(['https://models.example/a.gguf', 'A'.repeat(64)]))
  assert.equal(await address.inputValue(), 'https://models.example/a.gguf', 'what failed can be tried again')
  await close(page)
})

test('models: who may pull, and what is missing, is said when it is known', async () => {
  const server = await fake()
  let answer
  server.answers['/v1/server'] = (_, r) => (answer = (manage) => json(r, { manage }))
  const page = await open(server.base + '#/models')
  await card(page, 'quern-tiny').waitFor()
  const hint = page.getByText('Models are pulled and removed with quern pull')
  assert.equal(await hint.count(), 0)
  answer(false)
  await hint.waitFor()

  // So with models that listen.
  for (const view of ['listen', 'talk']) {
    let list
    server.answers['/v1/models'] = (_, r) => (list = () => json(r, { data: [] }))
    await page.goto(server.base + '#/' + view)
    await page.reload()
    await page.locator('.view h1').waitFor()
    while (!list) await page.evaluate(() => new Promise(requestAnimationFrame))
    assert.equal(await page.getByText('no model that listens').count(), 0)
    list()
    await page.getByText('no model that listens').waitFor()
  }
  await close(page)
  await server.die()
})
