// What the tests of Markdown run in the browser.
import { Stream } from '../src/markdown/stream'

const made = (text: string, pieces: number[]) => {
  const root = document.createElement('div')
  const stream = new Stream(root)
  let most = 0 // characters read for one update
  let at = 0
  let updates = 0
  for (let i = 0; at < text.length; i++) {
    at += pieces[i % pieces.length]
    const before = stream.read
    stream.update(text.slice(0, at))
    most = Math.max(most, stream.read - before)
    updates++
  }
  const grown = stream.read
  stream.finish(text)
  return { root, grown, most, updates }
}

// plain is the HTML of root without colours, which come later.
const plain = (root: Element) => {
  const copy = root.cloneNode(true) as Element
  for (const code of copy.querySelectorAll('pre > code')) code.textContent = code.textContent
  return copy.innerHTML
}

Object.assign(window, {
  // grown compares text drawn piece by piece with the same drawn at once.
  grown(text: string, pieces: number[]) {
    const { root, grown, most, updates } = made(text, pieces)
    const once = document.createElement('div')
    new Stream(once).finish(text)
    return { grown: plain(root), once: plain(once), read: grown, most, updates }
  },
})
