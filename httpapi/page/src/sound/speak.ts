import { call, Failure } from '../api'
import { events } from '../sse'
import { aligned, type Alignment, type Word } from './words'

export interface Order {
  text: string
  voice: string // or a mixture
  speed: number
}

// A Part is sound that has just come, and the words so far.
export interface Part {
  sound: Uint8Array<ArrayBuffer>
  words: Word[]
}

export const mime = 'audio/mpeg'

// speak has a text spoken, and gives the sound as it is made.
export async function* speak(order: Order, signal: AbortSignal): AsyncGenerator<Part> {
  const path = `v1/text-to-speech/${encodeURIComponent(order.voice)}/stream/with-timestamps?output_format=mp3_44100_128`
  const response = await call(path, {
    method: 'POST',
    body: JSON.stringify({ text: order.text, voice_settings: { speed: order.speed } }),
    headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    signal,
  })
  let words: Word[] = []
  let some = false
  for await (const { data } of events(response, signal)) {
    if (data === '[DONE]') break
    const e = JSON.parse(data) as { audio_base64?: string; alignment?: Alignment | null }
    if (e.alignment) words = [...words, ...aligned(e.alignment)]
    const sound = Uint8Array.from(atob(e.audio_base64 ?? ''), (c) => c.charCodeAt(0))
    some ||= sound.length > 0
    yield { sound, words }
  }
  if (!some) throw new Failure('The server sent no sound. Is there anything to say in the text?')
}

// A Feed is a source for a media element that plays sound while more of it comes. Browsers
// that cannot do so for MP3 have no feed, and play the whole when it is here.
export class Feed {
  readonly url: string
  private source: MediaSource
  private buffer: SourceBuffer | null = null
  private queue: Uint8Array<ArrayBuffer>[] = []
  private over = false

  static possible = () => typeof MediaSource !== 'undefined' && MediaSource.isTypeSupported(mime)

  constructor() {
    this.source = new MediaSource()
    this.url = URL.createObjectURL(this.source)
    this.source.addEventListener('sourceopen', () => {
      this.buffer = this.source.addSourceBuffer(mime)
      this.buffer.addEventListener('updateend', () => this.next())
      this.next()
    }, { once: true })
  }

  add(sound: Uint8Array<ArrayBuffer>) {
    if (sound.length) this.queue.push(sound)
    this.next()
  }

  end() {
    this.over = true
    this.next()
  }

  private next() {
    if (!this.buffer || this.buffer.updating || this.source.readyState !== 'open') return
    const sound = this.queue.shift()
    if (sound) {
      try {
        this.buffer.appendBuffer(sound)
      } catch {
        this.queue = [] // the element is gone, or its memory is full: the whole is played afterwards
      }
    } else if (this.over) this.source.endOfStream()
  }
}
