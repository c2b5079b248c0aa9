import { Failure, get, gone, post, send } from '../api'
import { newID } from '../chat/types'
import { values } from '../sse'
import type { Device } from './device'
import { hop, rate, Turns } from './hear'
import { Sentences } from './sentences'
import { silence, type Listeners, type Partners, type Timings } from './transport'
import { unwrapped, wav } from './wav'

interface Said {
  role: 'user' | 'assistant'
  content: string
}

// A Reply is one turn of the user's, and what is said to it.
class Reply {
  readonly id = newID()
  readonly work = new AbortController()
  readonly said: Said = { role: 'assistant', content: '' }
  readonly spoken: { text: string; ms: number }[] = [] // its pieces, as far as there is sound of them
  interrupted = false

  // end stops the work on it, and keeps of what was said what was heard.
  end(heard: number) {
    this.interrupted = true
    this.work.abort()
    this.said.content = ''
    for (const { text, ms } of this.spoken) {
      const words = text.match(/\s*\S+\s*/g) ?? []
      this.said.content += heard >= ms ? text : words.slice(0, Math.floor((words.length * heard) / ms)).join('')
      if (heard < ms) break
      heard -= ms
    }
  }
}

// overRequests is the Transport over plain HTTP: the page finds the turns, has each written
// down, then answered, and the answer spoken sentence by sentence while it grows.
export async function overRequests(device: Device, with_: Partners, on: Listeners, signal: AbortSignal): Promise<void> {
  const voice = with_.voice || (await usualVoice(signal))
  const talk: Said[] = []
  let last: Reply | null = null
  let order = Promise.resolve() // ends when all turns before are in talk

  const transcribe = async (sound: Float32Array) => {
    const form = new FormData()
    form.append('model', with_.ear)
    form.append('file', wav(sound, rate), 'turn.wav')
    return (await post<{ text: string }>('v1/audio/transcriptions', form, signal)).text.trim()
  }

  // What is said while an answer is made belongs to the next: the turn is written down all the
  // same, and both are answered together.
  const listenTo = async (sound: Float32Array, reply: Reply) => {
    const before = order
    let text = ''
    const mine = transcribe(sound).then((t) => (text = t))
    order = Promise.allSettled([before, mine]).then(() => void (text && talk.push({ role: 'user', content: text })))
    await mine
    on.heard(reply.id + '-heard', text || '…')
    await order
    return text
  }

  const take = async (sound: Float32Array) => {
    const reply = new Reply()
    last = reply
    const clock = new Clock()
    on.state('answering')
    on.heard(reply.id + '-heard', '')
    try {
      const text = await listenTo(sound, reply)
      clock.mark('transcription_ms')
      if (text && !reply.interrupted) await answer(device, with_, voice, talk, reply, clock, on)
    } catch (error) {
      if (!signal.aborted && !reply.interrupted) on.fail(error)
    }
    if (reply === last && !signal.aborted && !reply.interrupted) on.state('listening')
  }

  const turns = new Turns(
    () => {
      const cut = device.player.stop()
      last?.end(cut?.id === last.id ? cut.ms : Infinity)
      on.state('hearing')
    },
    take,
    Math.round((silence * rate) / 1000 / hop),
  )
  device.heard = (x) => signal.aborted || turns.hear(x)
  signal.addEventListener('abort', () => last?.work.abort())
  on.state('listening')
}

// A Clock times the legs of a turn.
class Clock {
  readonly timings: Timings = {}
  private begun = performance.now()
  private last = this.begun

  // mark ends a leg, once.
  mark(leg: keyof Timings) {
    if (this.timings[leg] !== undefined) return
    const now = performance.now()
    this.timings[leg] = now - this.last
    this.timings.turn_ms = now - this.begun
    this.last = now
  }
}

interface Chunk {
  choices: { delta: { content?: string | null } }[]
}

// answer has a reply made to talk, and spoken.
async function answer(device: Device, with_: Partners, voice: string, talk: Said[], reply: Reply, clock: Clock, on: Listeners) {
  const { signal } = reply.work
  const response = await ask(with_, talk, signal)
  talk.push(reply.said)
  const sentences = new Sentences()
  let speaking = Promise.resolve()
  let failure: unknown
  const speak = (pieces: string[]) => {
    for (const text of pieces) speaking = speaking.then(() => (failure ? undefined : spoken(device, voice, text, reply, clock))).catch((error) => void (failure ??= error))
  }
  for await (const chunk of values<Chunk>(response, signal)) {
    signal.throwIfAborted()
    if (failure) break
    const more = chunk.choices[0]?.delta.content
    if (!more) continue
    clock.mark('first_token_ms')
    reply.said.content += more
    on.said(reply.id, more)
    speak(sentences.push(more))
  }
  speak(sentences.end())
  await speaking
  signal.throwIfAborted()
  if (failure) throw failure
  on.done(clock.timings)
}

// ask has the model answer. Where the conversation has become too long its beginning is left
// out.
async function ask(with_: Partners, talk: Said[], signal: AbortSignal): Promise<Response> {
  for (;;) {
    try {
      const messages = [{ role: 'system', content: with_.instructions }, ...inTurns(talk)]
      return await send('v1/chat/completions', { model: with_.model, messages, stream: true }, signal)
    } catch (error) {
      const longer = talk.findIndex((s, i) => i > 0 && s.role === 'user')
      if (!(error instanceof Failure && error.code === 'context_length_exceeded') || longer < 0) throw error
      talk.splice(0, longer)
    }
  }
}

// inTurns joins what one side said in several pieces: templates of models want turns.
function inTurns(talk: Said[]): Said[] {
  const out: Said[] = []
  for (const { role, content } of talk) {
    const before = out.at(-1)
    if (!content.trim()) continue
    if (before?.role === role) before.content += '\n' + content
    else out.push({ role, content })
  }
  return out
}

// pause is the silence between two pieces, in seconds.
const pause = 0.35

// spoken plays a piece of a reply while its sound comes. One that has nothing in it to be
// spoken, which the server says, is passed over.
async function spoken(device: Device, voice: string, text: string, reply: Reply, clock: Clock) {
  const { signal } = reply.work
  const response = await send('v1/audio/speech', { input: text.trim(), voice, response_format: 'wav' }, signal).catch((error) => {
    if (error instanceof Failure && error.param === 'input') return null
    throw error
  })
  if (!response) return
  const piece = { text, ms: 0 }
  try {
    for await (const { x, rate } of unwrapped(response.body!)) {
      signal.throwIfAborted()
      clock.mark('first_audio_ms')
      if (piece.ms === 0) {
        if (reply.spoken.length) {
          piece.ms = 1000 * pause
          device.player.add(reply.id, new Float32Array(Math.round(pause * rate)), rate)
        }
        reply.spoken.push(piece)
      }
      piece.ms += (1000 * x.length) / rate
      device.player.add(reply.id, x, rate)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw gone(error)
  }
}

async function usualVoice(signal: AbortSignal): Promise<string> {
  const { voices } = await get<{ voices: { id: string; alias_of?: string }[] }>('v1/audio/voices', signal)
  const voice = voices.find((v) => !v.alias_of)
  if (!voice) throw new Error('The server has no voice. Serve a model that speaks, then begin again.')
  return voice.id
}
