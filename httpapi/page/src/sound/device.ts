import { rate } from './hear'
import { microphone } from './record'

// A Device is the microphone and the loudspeaker of a conversation, until signal ends it.
export class Device {
  heard: (x: Float32Array) => void = () => {} // is given what the microphone hears, at rate
  gone: () => void = () => {} // is called when the microphone is taken away
  readonly player: Player

  private constructor(audio: AudioContext, stream: MediaStream) {
    this.player = new Player(audio)
    // A ScriptProcessor is enough: what it is late with is sound that is waited for anyway.
    const ear = audio.createScriptProcessor(2048, 1, 1)
    ear.onaudioprocess = (e) => this.heard(e.inputBuffer.getChannelData(0))
    audio.createMediaStreamSource(stream).connect(ear).connect(audio.destination)
    for (const track of stream.getTracks()) track.onended = () => this.gone()
  }

  // open throws an Error that says what to do.
  static async open(signal: AbortSignal): Promise<Device> {
    const stream = await microphone('or write in Chat instead')
    const off = () => stream.getTracks().forEach((t) => t.stop())
    if (signal.aborted) off()
    signal.throwIfAborted()
    const audio = new AudioContext({ sampleRate: rate })
    signal.addEventListener('abort', () => {
      off()
      audio.close()
    })
    return new Device(audio, stream)
  }
}

interface Piece {
  node: AudioBufferSourceNode
  start: number // time of the context
  length: number // seconds
}

// A Player plays the sound of one reply after the other, as it comes.
export class Player {
  private playing: Piece[] = []
  private id = ''
  private played = 0 // seconds of the reply that have ended
  private until = 0

  constructor(private audio: AudioContext) {}

  add(id: string, x: Float32Array<ArrayBuffer>, rate: number) {
    if (x.length === 0) return
    if (id !== this.id) {
      this.id = id
      this.played = 0
    }
    const buffer = this.audio.createBuffer(1, x.length, rate)
    buffer.copyToChannel(x, 0)
    const node = this.audio.createBufferSource()
    node.buffer = buffer
    node.connect(this.audio.destination)
    const now = this.audio.currentTime
    if (this.until < now) this.until = now + 0.05
    const piece = { node, start: this.until, length: buffer.duration }
    node.onended = () => {
      this.playing = this.playing.filter((p) => p !== piece)
      if (id === this.id) this.played += piece.length
    }
    node.start(piece.start)
    this.until += piece.length
    this.playing.push(piece)
  }

  // stop ends what plays and says how much of which reply was heard; null when nothing plays.
  stop(): { id: string; ms: number } | null {
    if (this.playing.length === 0) return null
    const now = this.audio.currentTime
    let heard = this.played
    for (const { node, start, length } of this.playing) {
      node.onended = null
      node.stop()
      heard += Math.max(0, Math.min(now - start, length))
    }
    this.playing = []
    this.until = 0
    return { id: this.id, ms: Math.floor(heard * 1000) }
  }
}
