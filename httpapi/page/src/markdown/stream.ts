import { colourCode, frameCode } from './code'
import { setFormulas } from './math'
import { draw, parse, type Env, type Token } from './render'

// most is how much of an open block is read again with every update, in characters. What
// goes beyond is left as it was drawn until the block ends.
const most = 3000

// A Stream draws Markdown that grows, and reads each part of it a bounded number of times.
//
// A block is final when another one has begun: then it is drawn once, exactly. Only the
// last block is drawn anew with every update. Of a block longer than most, the beginning
// is frozen in pieces: they look nearly right, and are replaced when the block is final.
//
//	root: [final blocks…] open: [frozen pieces…] tip
export class Stream {
  private readonly open = document.createElement('div')
  private readonly tip = document.createElement('div')
  private seen = 0 // length of the text
  private start = 0 // of the open block
  private from = 0 // of what is read with every update
  private prefix = '' // lines that a frozen piece leaves open: of a fence or a table
  private indent = 0 // of the line at from
  private exact = true // all that is final is as the whole text would be
  read = 0 // characters given to the parser, for tests

  constructor(private readonly root: HTMLElement) {
    this.open.className = 'open'
    this.open.append(this.tip)
    root.replaceChildren(this.open)
  }

  // update draws text, which begins with that of the update before.
  update(text: string) {
    if (text.length === this.seen) return
    this.seen = text.length
    for (;;) {
      const rest = text.slice(this.from)
      const env: Env = {}
      const tokens = this.parse(this.prefix + dedent(rest, this.indent), env)
      const above = count(this.prefix)
      const last = tokens.findLastIndex((t) => t.level === 0 && t.nesting >= 0 && t.map)
      const line = last < 0 ? 0 : tokens[last].map![0] - above
      const at = line > 0 ? offset(rest, line) : 0
      // A block on a line that is not complete may yet belong to the one before.
      if (at > 0 && rest.includes('\n', at)) {
        this.close(text, this.from + at, tokens.slice(0, last), env)
        continue
      }
      const cut = rest.length > most ? this.cut(rest, tokens, above) : 0
      if (cut > 0) {
        this.freeze(rest, cut, tokens, above)
        continue
      }
      this.tip.replaceChildren(framed(draw(tokens, env)))
      return
    }
  }

  // finish draws the whole text for good.
  finish(text: string) {
    if (/^ {0,3}\[[^\]\n]+\]:/m.test(text)) this.exact = false // it may define links used before
    if (!this.exact) {
      this.start = this.from = 0
      this.prefix = ''
      this.indent = 0
      this.root.replaceChildren(this.open)
    }
    const env: Env = {}
    const tokens = this.parse(text.slice(this.start), env)
    this.put(framed(draw(tokens, env)))
    this.open.remove()
    this.exact = false // another text begins anew
  }

  private parse(text: string, env: Env): Token[] {
    this.read += text.length
    return parse(text, env)
  }

  // close makes what is before end final. tokens are that, unless pieces of it are frozen.
  private close(text: string, end: number, tokens: Token[], env: Env) {
    if (this.from > this.start) tokens = this.parse(text.slice(this.start, end), (env = {}))
    // A formula may go on after lines that look like another block.
    if (/^ {0,3}(\$\$|\\\[)/m.test(text.slice(this.start, end))) this.exact = false
    this.put(framed(draw(tokens, env)))
    this.open.replaceChildren(this.tip)
    this.start = this.from = end
    this.prefix = ''
    this.indent = 0
  }

  // put appends nodes that are final.
  private put(nodes: DocumentFragment) {
    const added = [...nodes.children]
    this.open.before(nodes)
    const done = { querySelectorAll: (s: string) => added.flatMap((e) => [...(e.matches(s) ? [e] : []), ...e.querySelectorAll(s)]) } as unknown as ParentNode
    colourCode(done)
    setFormulas(done)
  }

  // freeze leaves the first cut characters of rest as they are drawn.
  private freeze(rest: string, cut: number, tokens: Token[], above: number) {
    const line = count(rest.slice(0, cut)) + above
    const inside = (t: Token) => t.level === 0 && t.map && t.map[0] < line && line < t.map[1]
    const env: Env = {}
    const piece = document.createElement('div')
    piece.className = 'piece'
    piece.append(framed(draw(this.parse(this.prefix + dedent(rest.slice(0, cut), this.indent), env), env)))
    this.tip.before(piece)
    const around = tokens.find(inside)
    const lines = (this.prefix + dedent(rest, this.indent)).split('\n')
    const atLine = rest[cut - 1] === '\n'
    if (!atLine) this.prefix = ''
    else if (around?.type === 'fence') this.prefix = lines[around.map![0]] + '\n'
    else if (around?.type === 'table_open') this.prefix = lines.slice(around.map![0], around.map![0] + 2).join('\n') + '\n'
    else this.prefix = ''
    this.tip.className = this.prefix ? 'piece joined' : ''
    if (this.prefix && above) piece.classList.add('joined')
    this.from += cut
    this.indent = this.prefix || !atLine ? 0 : /^ */.exec(rest.slice(cut))![0].length
    this.exact = false
  }

  // cut is where rest can be cut with the least harm, or 0: before the last part of a
  // list, quotation, table or code; within a paragraph between two words.
  private cut(rest: string, tokens: Token[], above: number): number {
    const complete = rest.lastIndexOf('\n') + 1
    let best: Token | undefined
    for (const t of tokens) {
      if (!t.map || t.nesting < 0 || t.map[0] <= above || t.type === 'inline' || t.type === 'tbody_open') continue
      if (offset(rest, t.map[0] - above) >= complete) continue
      if (!best || t.level <= best.level) best = t
    }
    if (best) return offset(rest, best.map![0] - above)
    if (tokens.some((t) => t.type === 'fence' || t.type === 'code_block')) return complete
    // Marks that are open must not be torn apart, unless none ever closes.
    for (const patient of rest.length > 2 * most ? [true, false] : [true]) {
      for (let at = rest.length - 200; at > most / 4; at--) {
        if (rest[at - 1] === ' ' && /\p{L}/u.test(rest[at]) && (!patient || balanced(rest.slice(0, at)))) return at
      }
    }
    if (rest.length < 3 * most) return 0
    // There is no word to be seen: between two characters, then.
    const at = rest.length - 200
    return /[\uDC00-\uDFFF]/.test(rest[at]) ? at + 1 : at
  }
}

const count = (text: string) => text.split('\n').length - 1

// offset is where line n of text begins.
function offset(text: string, n: number): number {
  let at = 0
  while (n-- > 0) at = text.indexOf('\n', at) + 1
  return at
}

const dedent = (text: string, n: number) => (n ? text.replace(new RegExp(`^ {1,${n}}`, 'gm'), '') : text)

// balanced is whether the marks in text come in pairs.
function balanced(text: string): boolean {
  for (const mark of ['*', '_', '`', '$', '~']) if (text.split(mark).length % 2 === 0) return false
  return text.split('[').length === text.split(']').length && text.split('(').length === text.split(')').length
}

function framed(nodes: DocumentFragment): DocumentFragment {
  frameCode(nodes)
  return nodes
}
