import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, close, fake, model, open, plain, test } from './harness.mjs'

const tab = async (page, name) => {
  await page.getByRole('tab', { name, exact: true }).click()
  return page.getByRole('tabpanel', { name }).locator('code').innerText()
}

test('use: what is shown works as it stands', async () => {
  const page = await open((await plain()).base)
  await page.getByRole('button', { name: 'Settings of this conversation' }).click()
  await page.getByRole('textbox', { name: 'System prompt' }).fill(`It's "you" & \\`)
  await page.getByRole('spinbutton', { name: 'Temperature' }).fill('0')
  await page.getByRole('spinbutton', { name: 'Min p' }).fill('0.05')
  await page.getByRole('button', { name: 'Use these' }).click()
  await page.getByRole('link', { name: 'Use it' }).click()
  const dir = mkdtempSync(join(tmpdir(), 'quern-use-'))
  const put = (name, text) => (writeFileSync(join(dir, name), text), join(dir, name))
  try {
    const curl = await tab(page, 'curl')
    assert.match(curl, /"temperature":0/)
    assert.match(JSON.parse(execFileSync('bash', [put('a.sh', curl)], { stdio: ['ignore', 'pipe', 'ignore'] })).choices[0].message.content, /./)
    execFileSync('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', put('a.py', await tab(page, 'Python'))])
    execFileSync(process.execPath, ['--check', put('a.mjs', await tab(page, 'JavaScript'))])
    execFileSync('gofmt', ['-l', put('a.go', await tab(page, 'Go'))])
  } finally {
    rmSync(dir, { recursive: true })
  }
  assert.match(await tab(page, 'Environment'), /export OPENAI_BASE_URL='http:\/\/127\.0\.0\.1:\d+\/v1'\n/)
  for (const name of ['Open WebUI', 'Continue', 'aider', 'llm']) assert.match(await tab(page, name), /quern-tiny|OPENAI_API_BASE_URL/)
  await page.getByRole('tab', { name: 'curl' }).click()
  await page.keyboard.press('ArrowRight')
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Python')
  await close(page)
})

test('use: every kind of model has its programs', async () => {
  const server = await fake()
  const kinds = { chat: 'chat/completions', completion: 'completions', embedding: 'embeddings', rerank: 'rerank', speech: 'audio/speech', transcription: 'audio/transcriptions' }
  server.models(...Object.keys(kinds).map((type) => model(`it's "${type}"`, { type })))
  const page = await open(server.base + '#/use')
  const dir = mkdtempSync(join(tmpdir(), 'quern-use-'))
  const put = (name, text) => (writeFileSync(join(dir, name), text), join(dir, name))
  try {
    for (const [kind, path] of Object.entries(kinds)) {
      await page.getByRole('combobox', { name: 'Model' }).selectOption(`it's "${kind}"`)
      assert.ok((await tab(page, 'curl')).includes(`${server.base}v1/${path} `))
      execFileSync('bash', ['-n', put('a.sh', await tab(page, 'curl'))])
      execFileSync('python3', ['-c', 'import ast, sys; ast.parse(open(sys.argv[1]).read())', put('a.py', await tab(page, 'Python'))])
      execFileSync(process.execPath, ['--check', put('a.mjs', await tab(page, 'JavaScript'))])
      execFileSync('gofmt', ['-l', put('a.go', await tab(page, 'Go'))])
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
  await close(page)
})
