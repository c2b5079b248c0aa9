// QUERN=binary node test/run.mjs [WORDS]: every test of the page, or those with WORDS in
// their names, in Chromium.
import { readdirSync } from 'node:fs'
import { main } from './harness.mjs'

for (const name of readdirSync(new URL('.', import.meta.url)).sort()) {
  if (name.endsWith('.test.mjs')) await import('./' + name)
}
await main(process.argv[2])
