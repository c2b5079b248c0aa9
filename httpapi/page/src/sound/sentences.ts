// Sizes of what is spoken at a time, in characters. The first is short, so that something
// is heard soon; voices rush what is long and stumble over what is short.
const leastFirst = 8
const leastPiece = 24
const clauseAfter = 80 // a first piece may end at a comma from here on
const mostPiece = 300

// Sentences cuts a text that grows into pieces to be spoken. Joined they are the text;
// httpapi/internal/realtime/sentences.go does the same.
export class Sentences {
  private rest = ''
  private given = 0

  // push takes more text and returns the pieces that are whole.
  push(text: string): string[] {
    this.rest += text
    const whole: string[] = []
    for (let n; (n = this.cut()) > 0; ) whole.push(...this.take(n))
    return whole
  }

  // end returns what is left.
  end = (): string[] => this.take(this.rest.length)

  // take gives the first n characters away, unless there is nothing in them.
  private take(n: number): string[] {
    const piece = this.rest.slice(0, n)
    this.rest = this.rest.slice(n)
    if (!piece.trim()) return []
    this.given++
    return [piece]
  }

  // cut returns the length of the first piece; 0 while it is not known.
  private cut(): number {
    const least = this.given === 0 ? leastFirst : leastPiece
    let clause = 0
    let word = 0
    for (let i = 0; i < Math.min(this.rest.length, mostPiece); i++) {
      const c = this.rest[i]
      if ('。！？'.includes(c)) return i + 1
      if (!/\s/.test(c)) continue
      const text = this.rest.slice(0, i)
      if ((c === '\n' && text.trim()) || (i >= least && ends(text))) return i + 1
      word = i + 1
      if (i > 0 && ',;:–—'.includes(this.rest[i - 1])) clause = i + 1
    }
    if (this.given === 0 && clause >= clauseAfter) return clause
    if (this.rest.length <= mostPiece) return 0
    if (clause || word) return clause || word
    const split = /[\ud800-\udbff]/.test(this.rest[mostPiece - 1]) // between the halves of a character
    return split ? mostPiece - 1 : mostPiece
  }
}

// abbreviations are words whose point ends no sentence.
const abbreviations = new Set('mr mrs ms dr prof st sr jr vs e.g i.e cf approx dept est fig inc ltd'.split(' '))

// ends reports whether a text that a space follows ends a sentence.
function ends(text: string): boolean {
  text = text.replace(/["'”’»)\]*_]+$/, '')
  if (!text.endsWith('.')) return /[!?…]$/.test(text)
  const word = text.slice(0, -1).match(/\S*$/)![0]
  // Initials and numbers of a list end none either.
  return !abbreviations.has(word.toLowerCase()) && !/^[\p{Lu}\d]$/u.test(word)
}
