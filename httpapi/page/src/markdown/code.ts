import { copyText } from '../ui/copy'
import { safe } from './render'

// mostColoured is the longest code that is coloured, in characters: more takes too long.
const mostColoured = 50_000

// frameCode gives the code blocks below root a head with their language and a button that
// copies.
export function frameCode(root: ParentNode) {
  for (const code of root.querySelectorAll<HTMLElement>('pre > code')) {
    const pre = code.parentElement!
    const box = document.createElement('div')
    box.className = 'code'
    pre.replaceWith(box)
    box.append(head(languageOf(code)), pre)
    pre.tabIndex = 0
  }
}

// colourCode colours what is in a language that is known, once the code for that is here.
export async function colourCode(root: ParentNode) {
  const blocks = [...root.querySelectorAll<HTMLElement>('pre > code')].filter((c) => languageOf(c) && c.textContent!.length <= mostColoured)
  if (!blocks.length) return
  const { highlight } = await import('./highlight')
  for (const code of blocks) {
    const html = highlight(code.textContent!, languageOf(code))
    if (html !== null) code.replaceChildren(safe(html))
  }
}

const languageOf = (code: Element) => /\blanguage-([\w+#.-]+)/.exec(code.className)?.[1].toLowerCase() ?? ''

function head(language: string): HTMLElement {
  const bar = document.createElement('div')
  bar.className = 'code-head'
  const name = document.createElement('span')
  name.textContent = language
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy quiet'
  button.textContent = 'Copy'
  bar.append(name, button)
  return bar
}

// copyClicked is the click handler of what holds code blocks.
export async function copyClicked(e: Event) {
  const button = (e.target as Element).closest<HTMLButtonElement>('.code-head .copy')
  if (!button) return
  const done = await copyText(button.closest('.code')!.querySelector('code')!.textContent ?? '')
  button.textContent = done ? 'Copied' : 'Not allowed'
  setTimeout(() => (button.textContent = 'Copy'), 1500)
}
