// rate is of all sound of a conversation, in samples a second.
export const rate = 24000

// hop is how many samples are judged at once: 32 ms.
export const hop = 768

// Levels in dB of full scale; engine/asr/vad/energy.go is the same, and says why.
const startFloor = -50 // of the background
const quietFloor = -66 // and it counts as no less
const rise = (1.5 * hop) / rate
const half = 6 // above it, for a probability of one half

// An Energy takes for speech what is clearly louder than the background, which follows the
// level down at once and up slowly.
export class Energy {
  private floor = startFloor
  private level = NaN // smoothed
  private last = 0

  // hear returns how likely a hop is speech.
  hear(x: Float32Array): number {
    let sum = 0
    for (const v of x) {
      const d = v - 0.9 * this.last
      this.last = v
      sum += d * d
    }
    const level = 10 * Math.log10(sum / x.length + 1e-12)
    this.level = Number.isNaN(this.level) ? level : this.level + (level - this.level) / 2
    this.floor = Math.max(quietFloor, Math.min(this.floor + rise, this.level))
    return 1 / (1 + Math.exp(-(this.level - this.floor - half) / 3))
  }
}

const speech = 0.5 // is at least so likely
const release = 0.35 // silence is less likely speech
const loudHops = 3 // in a row begin a turn: a click is shorter
const before = 10 // hops of a turn before it was found: 320 ms

// Turns finds where turns of a speaker begin and end. It calls began, and ended with the
// sound of the turn.
export class Turns {
  private detector = new Energy()
  private rest = new Float32Array(0)
  private hops: Float32Array[] = [] // of the turn, or those that may become its beginning
  private loud = 0 // hops in a row
  private quiet = 0
  private speaking = false

  // silence and most are how many hops of silence end a turn, and how long one may be.
  constructor(
    private began: () => void,
    private ended: (sound: Float32Array) => void,
    private silence: number,
    private most = 3750, // two minutes
  ) {}

  hear(x: Float32Array) {
    const all = new Float32Array(this.rest.length + x.length)
    all.set(this.rest)
    all.set(x, this.rest.length)
    let at = 0
    for (; at + hop <= all.length; at += hop) this.take(all.slice(at, at + hop))
    this.rest = all.slice(at)
  }

  private take(x: Float32Array) {
    this.hops.push(x)
    const p = this.detector.hear(x)
    if (p >= speech) {
      this.loud++
      this.quiet = 0
    } else {
      this.loud = 0
      // Between the two what was goes on.
      if (p < release || this.quiet > 0) this.quiet++
    }
    if (!this.speaking) {
      if (this.hops.length > before + loudHops) this.hops.shift()
      if (this.loud < loudHops) return
      this.speaking = true
      this.began()
    } else if (this.quiet >= this.silence || this.hops.length >= this.most) {
      const sound = joined(this.hops)
      this.hops = []
      this.loud = this.quiet = 0
      this.speaking = false
      this.ended(sound)
    }
  }
}

function joined(parts: Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((n, p) => n + p.length, 0))
  let at = 0
  for (const p of parts) {
    out.set(p, at)
    at += p.length
  }
  return out
}
