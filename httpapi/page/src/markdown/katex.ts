import katex from 'katex'

// set draws a formula into an element, as MathML: browsers have its type and its fonts.
export function set(into: HTMLElement, tex: string, display: boolean) {
  try {
    katex.render(tex, into, { output: 'mathml', displayMode: display, throwOnError: true, trust: false, maxExpand: 500, maxSize: 20, strict: 'ignore' })
  } catch {
    into.textContent = tex
    into.classList.add('wrong')
  }
}
