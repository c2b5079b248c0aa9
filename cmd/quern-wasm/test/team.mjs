// node team.mjs KERNELS: the kernels share a job with threads, and go on alone when one dies.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { Worker, isMainThread, workerData } from 'node:worker_threads'

// Where dot.c has what threads share: its team, and the job in it.
const TEAM = 1024, [NUMBER, HELPERS, DONE, CHUNKS, PATIENCE, JOB] = [8, 12, 20, 24, 28, 32].map((at) => (TEAM + at) / 4)
const Q8_0 = 7, n = 64, count = 4096, rowBytes = n / 32 * 34, chunk = 512, batch = 5, xStride = 320
const w = 1 << 16, x = 1 << 20, out = 2 << 20
const job = [Q8_0, 64 + Q8_0, w, n, count, rowBytes, chunk, x, xStride, batch, out, count]

if (!isMainThread) {
  const { module, memory, dies } = workerData, words = new Int32Array(memory.buffer), claims = new BigInt64Array(memory.buffer)
  if (!dies) new WebAssembly.Instance(module, { go: { mem: memory }, team: { lost() {} } }).exports.help(30_000)
  // This one takes a chunk and never computes it.
  words[PATIENCE] = 1
  Atomics.store(words, HELPERS, 1)
  for (;;) {
    const claim = Atomics.load(claims, TEAM / 8)
    if (claim > 0n && (claim & 0xffffffffn) < count / chunk && Atomics.compareExchange(claims, TEAM / 8, claim, claim + 1n) === claim) break
  }
} else {
  const module = new WebAssembly.Module(readFileSync(process.argv[2]))

  // make puts random weights and activations into a memory.
  const make = () => {
    const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true }), bytes = new Uint8Array(memory.buffer)
    let seed = 1
    const random = () => (seed = Math.imul(seed, 1103515245) + 12345 >>> 0) >>> 16 & 255
    for (let r = 0; r < count * n / 32; r++) {
      bytes.set([random(), 0x2c], w + r * 34)
      for (let i = 2; i < 34; i++) bytes[w + r * 34 + i] = random()
    }
    for (let b = 0; b < batch; b++) {
      for (let i = 0; i < n; i++) bytes[x + b * xStride + i] = random()
      new Float32Array(memory.buffer, x + b * xStride + 256, 8).fill(0.25)
    }
    let lost = 0
    const { rows } = new WebAssembly.Instance(module, { go: { mem: memory }, team: { lost() { lost++ } } }).exports
    const words = new Int32Array(memory.buffer)
    const thread = async (dies) => {
      const t = new Worker(new URL(import.meta.url), { workerData: { module, memory, dies } })
      while (!Atomics.load(words, HELPERS)) await turn()
      return t
    }
    return { memory, words, thread, lost: () => lost, run: () => rows(...job), result: () => Buffer.from(new Uint8Array(memory.buffer, out, 4 * batch * count).slice()) }
  }

  const alone = make()
  alone.run()
  const want = alone.result()
  assert.ok(new Float32Array(want.buffer, want.byteOffset, 16).every((v) => v !== 0 && Number.isFinite(v)))

  // A helper does a whole job by itself, which is published as rows does.
  const one = make(), helper = await one.thread(false)
  one.words.set(job, JOB)
  Atomics.store(one.words, CHUNKS, count / chunk)
  Atomics.store(new BigInt64Array(one.memory.buffer), TEAM / 8, 1n << 32n)
  Atomics.store(one.words, NUMBER, 1)
  Atomics.notify(one.words, NUMBER)
  while (Atomics.load(one.words, DONE) !== count / chunk) await turn()
  assert.deepEqual(one.result(), want)

  // Both take chunks.
  for (let i = 0; i < 200; i++) one.run()
  assert.deepEqual(one.result(), want)
  assert.equal(one.lost(), 0)
  await helper.terminate()

  // A helper dies with a chunk: as soon as it has one, since a job may be over before.
  const broken = make(), dead = await broken.thread(true)
  while (!broken.lost()) {
    new Uint8Array(broken.memory.buffer, out, 4 * batch * count).fill(0)
    broken.run()
    assert.deepEqual(broken.result(), want)
  }
  broken.run()
  assert.equal(broken.lost(), 1)
  assert.equal(broken.words[HELPERS], 0)
  assert.deepEqual(broken.result(), want)
  await dead.terminate()
  console.log('ok   rows are shared between threads, and a thread that dies is done without')
}
