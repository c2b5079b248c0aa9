import DOMPurify from 'dompurify'
import MarkdownIt, { type Token } from 'markdown-it'
import { math } from './math'

// What models write is text. HTML in it stays text, links lead only to http, https and
// mail, nothing is loaded from elsewhere; DOMPurify is the second lock behind that.
export const md = new MarkdownIt({ html: false, linkify: true, breaks: false })
md.use(math)

const link = /^(https?:\/\/|mailto:)/i
const picture = /^data:image\/(png|jpeg|gif|webp);base64,/i
md.validateLink = (url) => link.test(url.trim()) || picture.test(url.trim())

const rules = md.renderer.rules

rules.link_open = (tokens, i, options, _, self) => {
  const t = tokens[i]
  if (!link.test(String(t.attrGet('href')))) t.attrSet('href', 'about:blank')
  t.attrSet('target', '_blank')
  t.attrSet('rel', 'noopener noreferrer nofollow')
  return self.renderToken(tokens, i, options)
}

// A picture elsewhere is not loaded but linked: who wants to see it opens it.
rules.image = (tokens, i) => {
  const src = String(tokens[i].attrGet('src'))
  const alt = md.utils.escapeHtml(tokens[i].content)
  if (picture.test(src)) return `<img src="${md.utils.escapeHtml(src)}" alt="${alt}">`
  let host = ''
  try {
    host = new URL(src).host
  } catch {
    return alt
  }
  return `<a class="picture" href="${md.utils.escapeHtml(src)}" target="_blank" rel="noopener noreferrer nofollow">${alt || 'Picture'} (${md.utils.escapeHtml(host)})</a>`
}

// Styles in attributes are forbidden: columns are aligned by class.
for (const cell of ['th_open', 'td_open'] as const) {
  rules[cell] = (tokens, i, options, _, self) => {
    const t = tokens[i]
    const align = /text-align:(left|center|right)/.exec(String(t.attrGet('style') ?? ''))?.[1]
    t.attrs = align ? [['class', align]] : null
    return self.renderToken(tokens, i, options)
  }
}
rules.table_open = () => '<div class="table" tabindex="0" role="region" aria-label="Table"><table>'
rules.table_close = () => '</table></div>'

export type { Token }
export type Env = Record<string, unknown>

export const parse = (text: string, env: Env): Token[] => md.parse(text, env)

const allowed = {
  ALLOWED_TAGS: [
    'p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'em', 'strong', 's', 'a', 'img',
    'div', 'span', 'table', 'thead', 'tbody', 'tr', 'th', 'td',
  ],
  ALLOWED_ATTR: ['href', 'title', 'class', 'start', 'target', 'rel', 'src', 'alt', 'tabindex', 'role', 'aria-label'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
} as const

// safe makes nodes of HTML, without anything that is not text.
export const safe = (html: string): DocumentFragment => DOMPurify.sanitize(html, allowed as never) as unknown as DocumentFragment

// draw makes the nodes of tokens.
export const draw = (tokens: Token[], env: Env): DocumentFragment => safe(md.renderer.render(tokens, md.options, env))
