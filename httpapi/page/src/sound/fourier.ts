// magnitudes writes how strong each of the frequencies of a window is, in decibels below
// the strongest there can be. Its length is a power of two.
export function magnitudes(window: Float32Array, out: Float32Array) {
  const n = window.length
  const re = new Float32Array(n)
  const im = new Float32Array(n)
  for (let i = 0, j = 0; i < n; i++) {
    re[j] = window[i] * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / n))
    let bit = n >> 1
    for (; j & bit; bit >>= 1) j ^= bit
    j ^= bit
  }
  for (let size = 2; size <= n; size *= 2) {
    const step = (-2 * Math.PI) / size
    for (let k = 0; k < size / 2; k++) {
      const c = Math.cos(step * k)
      const s = Math.sin(step * k)
      for (let a = k; a < n; a += size) {
        const b = a + size / 2
        const x = re[b] * c - im[b] * s
        const y = re[b] * s + im[b] * c
        re[b] = re[a] - x
        im[b] = im[a] - y
        re[a] += x
        im[a] += y
      }
    }
  }
  for (let i = 0; i < out.length; i++) out[i] = 20 * Math.log10(Math.hypot(re[i], im[i]) / (n / 4) + 1e-9)
}
