// node same.mjs A B: whether two builds are the same, byte for byte. Of the .br and .gz,
// which differ between versions of Node, what they hold is compared.
import { readFileSync, readdirSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

const [a, b] = process.argv.slice(2)
const list = (dir) => readdirSync(dir, { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).map((f) => join(f.parentPath ?? f.path, f.name).slice(dir.length + 1)).sort()
const whole = { '.br': brotliDecompressSync, '.gz': gunzipSync }
const read = (dir, name) => {
  const bytes = readFileSync(join(dir, name))
  return whole[extname(name)]?.(bytes) ?? bytes
}

let bad = 0
const names = new Set([...list(a), ...list(b)])
for (const name of names) {
  try {
    if (read(a, name).equals(read(b, name))) continue
    console.error(`${name} differs`)
  } catch (error) {
    console.error(`${name}: ${error.message}`)
  }
  bad++
}
console.log(`${names.size} files, ${bad} differ`)
process.exit(bad || names.size < 6 ? 1 : 0)
