// spelled is sound as 16 bits a sample, which is what every way of sending it wants.
export function spelled(x: Float32Array): Uint8Array<ArrayBuffer> {
  const out = new DataView(new ArrayBuffer(2 * x.length))
  x.forEach((v, i) => out.setInt16(2 * i, Math.max(-1, Math.min(1, v)) * 32767, true))
  return new Uint8Array(out.buffer)
}

// samples is the sound of 16 bits a sample.
export function samples(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Float32Array.from({ length: bytes.length >> 1 }, (_, i) => view.getInt16(2 * i, true) / 32768)
}

const header = 44 // bytes: RIFF and its size, WAVE, the chunk "fmt ", and the head of "data"

// wav is a file of sound.
export function wav(x: Float32Array, rate: number): Blob {
  const head = new DataView(new ArrayBuffer(header))
  const word = (at: number, text: string) => [...text].forEach((c, i) => head.setUint8(at + i, c.charCodeAt(0)))
  word(0, 'RIFF')
  head.setUint32(4, header - 8 + 2 * x.length, true)
  word(8, 'WAVEfmt ')
  head.setUint32(16, 16, true)
  head.setUint16(20, 1, true) // integers
  head.setUint16(22, 1, true) // of one channel
  head.setUint32(24, rate, true)
  head.setUint32(28, 2 * rate, true)
  head.setUint16(32, 2, true)
  head.setUint16(34, 16, true)
  word(36, 'data')
  head.setUint32(40, 2 * x.length, true)
  return new Blob([head, spelled(x)], { type: 'audio/wav' })
}

// unwrapped gives the sound of such a file while it comes.
export async function* unwrapped(file: ReadableStream<Uint8Array>): AsyncGenerator<{ x: Float32Array<ArrayBuffer>; rate: number }> {
  const reader = file.getReader()
  let rest = new Uint8Array(0)
  let rate = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const all = new Uint8Array(rest.length + value.length)
      all.set(rest)
      all.set(value, rest.length)
      rest = all
      if (!rate) {
        if (rest.length < header) continue
        rate = new DataView(rest.buffer).getUint32(24, true)
        rest = rest.slice(header)
      }
      const whole = rest.length & ~1
      if (whole) yield { x: samples(rest.subarray(0, whole)), rate }
      rest = rest.slice(whole)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
