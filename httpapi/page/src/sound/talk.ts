import { base, Failure, post } from '../api'
import { microphone } from './record'

// What a spoken conversation is with; voice '' is the model's own.
export interface Partners {
  model: string
  ear: string
  voice: string
  instructions: string
}

// Timings are the legs of a turn, in milliseconds; those that did not come are not there.
export interface Timings {
  transcription_ms?: number
  first_token_ms?: number
  first_audio_ms?: number
  turn_ms?: number
}

// Listeners hear how the conversation goes.
export interface Listeners {
  state: (state: 'listening' | 'hearing' | 'answering') => void
  heard: (id: string, text: string) => void // what the user said; '' is not known yet
  said: (id: string, more: string) => void // what the reply adds
  done: (timings: Timings) => void
  fail: (error: unknown) => void
}

const rate = 24000
const silence = 500 // ms that end a turn

// converse opens a session of /v1/realtime with the microphone on, and returns what ends it.
export async function converse(with_: Partners, on: Listeners): Promise<() => void> {
  // A secret opens the socket: pages cannot send a key with it, and a key is asked for as ever.
  const { value } = await post<{ value: string }>('v1/realtime/client_secrets', {
    session: {
      type: 'realtime',
      model: with_.model,
      instructions: with_.instructions,
      output_modalities: ['audio'],
      audio: {
        input: { transcription: { model: with_.ear }, turn_detection: { type: 'server_vad', silence_duration_ms: silence } },
        output: with_.voice ? { voice: with_.voice } : {},
      },
    },
  })
  const stream = await microphone('or write in Chat instead')
  const audio = new AudioContext({ sampleRate: rate })
  const address = new URL('v1/realtime', base)
  address.protocol = address.protocol.replace('http', 'ws')
  const socket = new WebSocket(address, ['realtime', 'openai-insecure-api-key.' + value])
  let over = false
  const end = () => {
    if (over) return
    over = true
    socket.close()
    stream.getTracks().forEach((t) => t.stop())
    audio.close()
  }
  const send = (event: object) => socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(event))

  // A ScriptProcessor is enough: what it is late with is sound that the server waits for anyway.
  const ear = audio.createScriptProcessor(2048, 1, 1)
  ear.onaudioprocess = (e) => send({ type: 'input_audio_buffer.append', audio: encode(e.inputBuffer.getChannelData(0)) })
  audio.createMediaStreamSource(stream).connect(ear).connect(audio.destination)

  const player = new Player(audio)
  socket.onmessage = ({ data }) => {
    const e = JSON.parse(data)
    switch (e.type) {
      case 'input_audio_buffer.speech_started': {
        on.state('hearing')
        const cut = player.stop()
        if (cut) send({ type: 'conversation.item.truncate', item_id: cut.id, content_index: 0, audio_end_ms: cut.ms })
        break
      }
      case 'input_audio_buffer.committed':
        on.state('answering')
        on.heard(e.item_id, '')
        break
      case 'conversation.item.input_audio_transcription.completed':
        on.heard(e.item_id, e.transcript || '…')
        break
      case 'conversation.item.input_audio_transcription.failed':
        on.fail(new Failure(e.error.message, 0, e.error.code))
        break
      case 'response.output_audio_transcript.delta':
        on.said(e.item_id, e.delta)
        break
      case 'response.output_audio.delta':
        player.add(e.item_id, decode(e.delta))
        break
      case 'response.done':
        if (e.response.status === 'failed') on.fail(new Failure(e.response.status_details.error.message, 0, e.response.status_details.error.code))
        if (e.response.status === 'completed') on.state('listening')
        on.done(e.response.timings)
        break
      case 'error': // of a truncation that came too late nobody needs to know
        if (e.error.param !== 'audio_end_ms' && e.error.param !== 'item_id') on.fail(new Failure(e.error.message, 0, e.error.code))
    }
  }
  socket.onopen = () => on.state('listening')
  socket.onclose = (e) => {
    if (!over) on.fail(new Error(e.reason || 'The server closed the conversation. Begin again, or see its log.'))
    end()
  }
  return end
}

// A Player plays the sound of one reply after the other, as it comes.
class Player {
  private playing: AudioBufferSourceNode[] = []
  private id = ''
  private begun = 0 // times of the context
  private until = 0

  constructor(private audio: AudioContext) {}

  add(id: string, x: Float32Array<ArrayBuffer>) {
    if (x.length === 0) return
    const now = this.audio.currentTime
    if (id !== this.id || this.until < now) {
      if (id !== this.id) this.begun = Math.max(this.until, now + 0.05)
      this.until = Math.max(this.until, now + 0.05)
      this.id = id
    }
    const buffer = this.audio.createBuffer(1, x.length, rate)
    buffer.copyToChannel(x, 0)
    const node = this.audio.createBufferSource()
    node.buffer = buffer
    node.connect(this.audio.destination)
    node.onended = () => (this.playing = this.playing.filter((n) => n !== node))
    node.start(this.until)
    this.until += buffer.duration
    this.playing.push(node)
  }

  // stop ends what plays and says how much of which reply was heard; null when nothing plays.
  stop(): { id: string; ms: number } | null {
    if (this.playing.length === 0) return null
    for (const node of this.playing) node.stop()
    this.playing = []
    const ms = Math.max(0, Math.floor((Math.min(this.audio.currentTime, this.until) - this.begun) * 1000))
    this.until = 0
    return { id: this.id, ms }
  }
}

// encode spells sound as 16 bits in base64.
function encode(x: Float32Array): string {
  const out = new DataView(new ArrayBuffer(2 * x.length))
  x.forEach((v, i) => out.setInt16(2 * i, Math.max(-1, Math.min(1, v)) * 32767, true))
  let text = ''
  for (const byte of new Uint8Array(out.buffer)) text += String.fromCharCode(byte)
  return btoa(text)
}

function decode(text: string): Float32Array<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
  const view = new DataView(bytes.buffer)
  return Float32Array.from({ length: bytes.length >> 1 }, (_, i) => view.getInt16(2 * i, true) / 32768)
}
