// A Word is a piece of a text and when it is said, in seconds.
export interface Word {
  text: string // with the space before it
  start: number
  end: number
}

// A Segment is what a recogniser found in one stretch.
export interface Segment {
  start: number
  end: number
  text: string
  words: Word[]
}

// spread gives the words of a text the time from start to end, by their lengths.
export function spread(text: string, start: number, end: number): Word[] {
  const pieces = text.match(/\s*\S+/g) ?? []
  const all = pieces.reduce((n, p) => n + p.length, 0)
  let done = 0
  return pieces.map((p) => {
    const from = start + ((end - start) * done) / all
    done += p.length
    return { text: p, start: from, end: start + ((end - start) * done) / all }
  })
}

// Alignment is what the API says of the characters of a text.
export interface Alignment {
  characters: string[]
  character_start_times_seconds: number[]
  character_end_times_seconds: number[]
}

// aligned joins the characters of an alignment to words. Space is of the word behind it.
export function aligned(a: Alignment): Word[] {
  const words: Word[] = []
  let space = true
  a.characters.forEach((c, i) => {
    const [start, end] = [a.character_start_times_seconds[i], a.character_end_times_seconds[i]]
    const blank = /^\s*$/.test(c)
    const last = words.at(-1)
    if (!last || (blank && !space)) words.push({ text: c, start, end })
    else {
      if (space && !blank) last.start = start
      last.text += c
      last.end = Math.max(last.end, end)
    }
    space = blank
  })
  return words
}

// at finds the word that is said at a time, -1 between words.
export function at(words: Word[], time: number): number {
  let lo = 0
  let hi = words.length
  while (lo < hi) {
    const mid = (lo + hi) >> 1
    if (words[mid].start <= time) lo = mid + 1
    else hi = mid
  }
  return lo > 0 && time < Math.max(words[lo - 1].end, words[lo - 1].start + 0.05) ? lo - 1 : -1
}

const stamp = (t: number, dot: string) => {
  const ms = Math.round(Math.max(t, 0) * 1000)
  const pad = (n: number, width = 2) => String(n).padStart(width, '0')
  return `${pad(Math.floor(ms / 3600000))}:${pad(Math.floor(ms / 60000) % 60)}:${pad(Math.floor(ms / 1000) % 60)}${dot}${pad(ms % 1000, 3)}`
}

// clock is a time for people.
export function clock(t: number): string {
  const s = Math.max(0, Math.floor(t))
  const rest = `${String(Math.floor(s / 60) % 60)}:${String(s % 60).padStart(2, '0')}`
  return s < 3600 ? rest : `${Math.floor(s / 3600)}:${rest.padStart(5, '0')}`
}

// One caption has one paragraph: a blank line would end it.
const caption = (text: string) => text.trim().replace(/\s*\n\s*/g, '\n')

// captions are the forms a transcript is saved in.
export const captions: Record<string, { mime: string; write: (all: Segment[]) => string }> = {
  txt: { mime: 'text/plain', write: (all) => all.map((s) => caption(s.text)).join('\n') + '\n' },
  srt: {
    mime: 'application/x-subrip',
    write: (all) => all.map((s, i) => `${i + 1}\n${stamp(s.start, ',')} --> ${stamp(s.end, ',')}\n${caption(s.text).replaceAll('-->', '->')}\n`).join('\n'),
  },
  vtt: {
    mime: 'text/vtt',
    write: (all) =>
      'WEBVTT\n' +
      all
        .map((s) => `\n${stamp(s.start, '.')} --> ${stamp(s.end, '.')}\n${caption(s.text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}\n`)
        .join(''),
  },
  json: {
    mime: 'application/json',
    write: (all) => JSON.stringify({ text: all.map((s) => s.text.trim()).join(' '), segments: all.map((s, id) => ({ id, ...s, text: s.text.trim(), words: s.words.map((w) => ({ word: w.text.trim(), start: w.start, end: w.end })) })) }, null, 1) + '\n',
  },
}
