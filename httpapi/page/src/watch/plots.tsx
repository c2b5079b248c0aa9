import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { theme } from '../theme'
import { colour, rgb } from '../ui/colour'
import { count } from '../ui/format'
import { grown, type Sample } from './metrics'

// A Line is one curve of a plot.
export interface Line {
  label: string
  colour: string // of the stylesheet
  values: (number | null)[]
}

const height = 132
const scale = 52 // width of what stands left of a plot, as the stylesheet has it for heat maps
const least = 30 // seconds that a plot is wide

// shown is what a plot shows of times, of which there may be one or none.
function shown(at: ArrayLike<number>): [number, number] {
  const last = at[at.length - 1] ?? Date.now() / 1000
  return [Math.min(at[0] ?? last, last - least), last]
}

const time = (s: number) => new Date(s * 1000).toLocaleTimeString('en-GB')

// useWidth follows how wide an element is.
function useWidth<T extends HTMLElement>() {
  const ref = useRef<T>(null)
  const [width, set] = useState(0)
  useEffect(() => {
    const watch = new ResizeObserver(([e]) => set(Math.floor(e.contentRect.width)))
    watch.observe(ref.current!)
    return () => watch.disconnect()
  }, [])
  return [ref, width] as const
}

// Plot draws lines over time. Its title says what they are now, for those who see no plot.
export function Plot({ title, at, lines, spell }: { title: string; at: number[]; lines: Line[]; spell: (n: number) => string }) {
  const [ref, width] = useWidth<HTMLDivElement>()
  const plot = useRef<uPlot | null>(null)
  useEffect(() => {
    if (!width) return
    const muted = colour('muted')
    const grid = { stroke: colour('line'), width: 1 }
    const font = '11px ' + getComputedStyle(document.body).fontFamily
    const p = new uPlot(
      {
        width,
        height,
        padding: [8, 26, 0, 0], // half of a time stands right of its mark
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: true, range: (p) => shown(p.data[0]) }, y: { range: (_, __, high) => [0, high > 0 ? high * 1.1 : 1] } },
        axes: [
          { stroke: muted, grid: { show: false }, ticks: { show: false }, font, size: 24, space: 76, values: (_, all) => all.map(time) },
          { stroke: muted, grid, ticks: { show: false }, font, size: scale, values: (_, all) => all.map(spell) },
        ],
        series: [{}, ...lines.map((l) => ({ stroke: colour(l.colour), width: 1.5, points: { show: false }, spanGaps: false }))],
      },
      [at, ...lines.map((l) => l.values)] as uPlot.AlignedData,
      ref.current!,
    )
    plot.current = p
    return () => p.destroy()
  }, [width, theme.value, lines.length])
  useEffect(() => {
    plot.current?.setData([at, ...lines.map((l) => l.values)] as uPlot.AlignedData)
  }, [at])
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        {lines.map((l) => {
          const now = l.values.at(-1)
          return (
            <span key={l.label} class="key" data-colour={l.colour}>
              {l.label} <b>{now == null ? '–' : spell(now)}</b>
            </span>
          )
        })}
      </figcaption>
      <div ref={ref} class="plot-field" aria-hidden="true" />
    </figure>
  )
}

// span spells a time in seconds.
const span = (s: number) => (s === Infinity ? 'more' : s < 1 ? `${+(s * 1000).toPrecision(2)} ms` : `${+s.toPrecision(2)} s`)

// Heat draws how often a time lay between two bounds of a histogram, a column a sample.
export function Heat({ title, samples, name }: { title: string; samples: Sample[]; name: string }) {
  const [ref, width] = useWidth<HTMLDivElement>()
  const canvas = useRef<HTMLCanvasElement>(null)
  const { bounds, columns } = grown(samples, name)
  const used = columns.flatMap((c) => c.flatMap((n, k) => (n > 0 ? [k] : [])))
  const [low, high] = used.length ? [Math.max(0, Math.min(...used) - 1), Math.min(bounds.length - 1, Math.max(...used) + 1)] : [0, bounds.length - 1]
  const rows = Math.max(1, high - low + 1)
  useEffect(() => {
    const c = canvas.current!
    const dense = Math.min(devicePixelRatio, 2)
    c.width = Math.max(1, width * dense)
    c.height = height * dense
    const g = c.getContext('2d')!
    const [back, ink] = [rgb(colour('sunk')), rgb(colour('accent'))]
    const most = Math.max(1, ...columns.flat())
    const step = c.width / Math.max(1, columns.length)
    columns.forEach((column, x) => {
      for (let k = low; k <= high; k++) {
        if (!column[k]) continue
        const share = 0.25 + 0.75 * (column[k] / most)
        g.fillStyle = `rgb(${back.map((b, i) => Math.round(b + (ink[i] - b) * share)).join(' ')})`
        const y = ((high - k) * c.height) / rows
        g.fillRect(Math.floor(x * step), y, Math.ceil(step), Math.ceil(c.height / rows))
      }
    })
  }, [samples, width, theme.value])
  const all = columns.flat().reduce((a, b) => a + b, 0)
  const middle = median(bounds, columns)
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        <span class="key">{all ? `half of ${count(all)} below ${span(middle)}` : 'nothing yet'}</span>
      </figcaption>
      <div class="heat" aria-hidden="true">
        <div class="heat-scale">
          <span>{used.length ? span(bounds[high]) : ''}</span>
          <span>{used.length ? span(low ? bounds[low - 1] : 0) : ''}</span>
        </div>
        <div ref={ref} class="plot-field">
          <canvas ref={canvas} />
        </div>
      </div>
    </figure>
  )
}

function median(bounds: number[], columns: number[][]): number {
  const sums = bounds.map((_, k) => columns.reduce((n, c) => n + c[k], 0))
  const all = sums.reduce((a, b) => a + b, 0)
  let n = 0
  for (let k = 0; k < bounds.length; k++) {
    n += sums[k]
    if (2 * n >= all) return bounds[k]
  }
  return Infinity
}
