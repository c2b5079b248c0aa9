import type { MarkdownIt } from 'markdown-it'

// math has formulas stand as spans and divs of class "math" that hold their source:
// between $ and $ or \( and \), and by themselves between $$ and $$ or \[ and \].
export function math(md: MarkdownIt) {
  md.inline.ruler.before('escape', 'math', (state, silent) => {
    const { src, pos } = state
    for (const [open, close] of inline) {
      if (!src.startsWith(open, pos)) continue
      const from = pos + open.length
      const end = src.indexOf(close, from)
      if (end < 0 || end === from || end >= state.posMax) return false
      // Two prices are no formula: as Pandoc has it, no space inside and no digit after.
      if (open === '$' && (/\s/.test(src[from]) || /\s/.test(src[end - 1]) || /\d/.test(src[end + 1] ?? ''))) return false
      if (!silent) state.push('math', 'span', 0).content = src.slice(from, end)
      state.pos = end + close.length
      return true
    }
    return false
  })
  md.block.ruler.before(
    'fence',
    'math',
    (state, startLine, endLine, silent) => {
      const line = (n: number) => state.src.slice(state.bMarks[n] + state.tShift[n], state.eMarks[n])
      const pair = block.find(([open]) => line(startLine).startsWith(open))
      if (!pair || state.sCount[startLine] - state.blkIndent >= 4) return false
      const [open, close] = pair
      const text: string[] = []
      for (let n = startLine; n < endLine && !state.isEmpty(n) && state.sCount[n] >= state.blkIndent; n++) {
        const part = n === startLine ? line(n).slice(open.length) : line(n)
        const end = part.trimEnd().endsWith(close)
        text.push(end ? part.trimEnd().slice(0, -close.length) : part)
        if (!end) continue
        if (silent) return true
        const token = state.push('math_block', 'div', 0)
        token.content = text.join('\n').trim()
        token.block = true
        token.map = [startLine, n + 1]
        state.line = n + 1
        return true
      }
      return false
    },
    { alt: ['paragraph', 'blockquote', 'list'] },
  )
  md.renderer.rules.math = (tokens, i) => `<span class="math">${md.utils.escapeHtml(tokens[i].content)}</span>`
  md.renderer.rules.math_block = (tokens, i) => `<div class="math">${md.utils.escapeHtml(tokens[i].content)}</div>\n`
}

const inline = [['\\(', '\\)'], ['$$', '$$'], ['$', '$']] as const
const block = [['$$', '$$'], ['\\[', '\\]']] as const

// setFormulas draws the formulas below root, once the code for that is here. Where a
// formula is wrong its source stays.
export async function setFormulas(root: ParentNode) {
  const found = root.querySelectorAll<HTMLElement>('.math:not(.set)')
  if (!found.length) return
  const { set } = await import('./katex')
  for (const e of found) {
    if (e.classList.contains('set')) continue
    e.classList.add('set')
    set(e, e.textContent ?? '', e.tagName === 'DIV')
  }
}
