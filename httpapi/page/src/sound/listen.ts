import { Failure, post, send } from '../api'
import { events } from '../sse'
import { spread, type Segment, type Word } from './words'

export interface Wish {
  model: string
  language: string
  translate: boolean
  prompt: string
}

interface Place {
  start: number
  end: number
}
interface Whole {
  text: string
  language?: string
  duration?: number
  segments?: (Place & { text: string })[]
  words?: (Place & { word: string })[]
}

export interface Transcript {
  segments: Segment[]
  language: string
  done: boolean
}

// listen has a file transcribed, and gives what is found as it is found.
export async function* listen(file: Blob, name: string, wish: Wish, signal: AbortSignal): AsyncGenerator<Transcript> {
  const form = new FormData()
  form.append('model', wish.model)
  form.append('response_format', 'verbose_json')
  if (wish.prompt.trim()) form.append('prompt', wish.prompt)
  if (wish.translate) {
    form.append('file', file, name)
    yield finished(await post<Whole>('v1/audio/translations', form, signal))
    return
  }
  form.append('stream', 'true')
  form.append('timestamp_granularities[]', 'word')
  form.append('timestamp_granularities[]', 'segment')
  if (wish.language.trim()) form.append('language', wish.language.trim())
  form.append('file', file, name)
  const segments: Segment[] = []
  const response = await send('v1/audio/transcriptions', form, signal)
  for await (const { data } of events(response, signal)) {
    const e = JSON.parse(data)
    if (e.type === 'transcript.text.done') {
      yield finished(e)
      return
    }
    if (e.type !== 'transcript.text.delta') continue
    const { start, end } = e.segment as Place
    segments.push({ start, end, text: e.delta, words: spread(e.delta, start, end) })
    yield { segments: [...segments], language: '', done: false }
  }
  throw new Failure('The server ended the transcript early. What was heard so far is kept; try again for the rest.')
}

// finished gives every segment its words.
function finished(whole: Whole): Transcript {
  const words = whole.words ?? []
  let next = 0
  const segments = (whole.segments ?? []).map((s, i, all) => {
    const last = i === all.length - 1
    const mine: Word[] = []
    while (next < words.length && (last || words[next].start < all[i + 1].start)) {
      const w = words[next++]
      mine.push({ text: (mine.length ? ' ' : '') + w.word.trim(), start: w.start, end: w.end })
    }
    const text = s.text.trim()
    // Writing without spaces between words is shown as it is written.
    const said = mine.map((w) => w.text).join('') === text ? mine : fit(text, mine) ?? spread(text, s.start, s.end)
    return { start: s.start, end: s.end, text, words: said }
  })
  return { segments, language: whole.language ?? '', done: true }
}

// fit finds the words in the text they were taken from, with what stands between them.
function fit(text: string, words: Word[]): Word[] | null {
  let at = 0
  const out: Word[] = []
  for (const w of words) {
    const bare = w.text.trim()
    const found = text.indexOf(bare, at)
    if (found < 0) return null
    out.push({ ...w, text: text.slice(at, found + bare.length) })
    at = found + bare.length
  }
  if (!out.length) return null
  out[out.length - 1].text += text.slice(at)
  return out
}
