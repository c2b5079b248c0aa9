// Makes dist from src: `npm run build`. The same sources make the same bytes on every
// machine but for the .br and .gz, which hold the same and depend on Node's compressors.
import { build } from 'esbuild'
import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = dirname(fileURLToPath(import.meta.url))
const out = process.argv[2] ?? join(root, 'dist')
process.chdir(root)

await rm(out, { recursive: true, force: true })
const { metafile } = await build({
  entryPoints: { main: 'src/main.tsx', style: 'src/css/style.css' },
  outdir: join(out, 'assets'),
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: ['chrome123', 'firefox120', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  charset: 'utf8',
  legalComments: 'none', // licences.txt has them whole
  metafile: true,
  logLevel: 'warning',
})

// made is the output of a source.
const made = (source) => Object.entries(metafile.outputs).find(([, o]) => o.entryPoint === source)[0]
const address = (output) => `assets/${output.split('/').pop()}`

// needs are an output and all that it imports.
function needs(output, found = new Set()) {
  if (found.has(output)) return found
  found.add(output)
  for (const { path, kind } of metafile.outputs[output].imports) if (kind === 'import-statement') needs(path, found)
  return found
}

// The first view is fetched beside main, with what both need: not one after another.
const first = new Set([...needs(made('src/main.tsx')), ...needs(made('src/views/chat.tsx'))])
first.delete(made('src/main.tsx'))
const template = await readFile('src/index.html', 'utf8')
const names = {
  main: address(made('src/main.tsx')),
  style: address(made('src/css/style.css')),
  preloads: [...first].map((o) => `<link rel="modulepreload" href="${address(o)}">`).sort().join('\n'),
}
await writeFile(join(out, 'index.html'), template.replace(/%(\w+)%/g, (_, name) => names[name]))
await writeFile(join(out, 'assets/icon.svg'), await readFile('src/icon.svg'))
await writeFile(join(out, 'assets/licences.txt'), await licences())

for (const name of await readdir(out, { recursive: true })) {
  if (!/\.(html|js|css|svg|txt)$/.test(name)) continue
  const whole = await readFile(join(out, name))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: whole.length }
  await writeFile(join(out, `${name}.br`), brotliCompressSync(whole, { params }))
  await writeFile(join(out, `${name}.gz`), gzipSync(whole, { level: 9 }))
}

// licences are those of the packages whose code is in dist.
async function licences() {
  const packages = new Set()
  for (const { inputs } of Object.values(metafile.outputs)) {
    for (const source of Object.keys(inputs)) {
      const found = source.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)
      if (found) packages.add(found[1])
    }
  }
  let text = 'The page of quern contains these packages.\n'
  for (const name of [...packages].sort()) {
    const dir = join('node_modules', name)
    const { version, license } = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'))
    const file = (await readdir(dir)).sort().find((f) => /^licen[sc]e/i.test(f))
    if (!file) throw new Error(`${name} has no licence file`)
    text += `\n${'='.repeat(76)}\n${name} ${version} (${license})\n\n${(await readFile(join(dir, file), 'utf8')).trim()}\n`
  }
  return text
}
