// A Sample is what /metrics says at a time: the sums of what plots show, by name, and the
// counts of histograms by their upper bounds.
export interface Sample {
  at: number // seconds
  values: Record<string, number>
  buckets: Record<string, [bound: number, count: number][]>
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)/
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g

// parse reads Prometheus' text. Values of several models are added up.
export function parse(text: string, at: number): Sample {
  const values: Record<string, number> = {}
  const bounds: Record<string, Map<number, number>> = {}
  for (const row of text.split('\n')) {
    const m = line.exec(row)
    if (!m) continue
    const [, name, labels = '', written] = m
    const value = written === '+Inf' ? Infinity : Number(written)
    if (!Number.isFinite(value)) continue
    if (name.endsWith('_bucket')) {
      const le = [...labels.matchAll(label)].find(([, k]) => k === 'le')?.[2]
      if (le === undefined) continue
      const bound = le === '+Inf' ? Infinity : Number(le)
      const h = (bounds[name.slice(0, -'_bucket'.length)] ??= new Map())
      h.set(bound, (h.get(bound) ?? 0) + value)
      continue
    }
    values[name] = (values[name] ?? 0) + value
  }
  const buckets: Sample['buckets'] = {}
  for (const [name, h] of Object.entries(bounds)) {
    // Prometheus counts what is below each bound: the counts between are wanted.
    const sorted = [...h].sort(([a], [b]) => a - b)
    buckets[name] = sorted.map(([bound, n], i) => [bound, n - (i ? sorted[i - 1][1] : 0)])
  }
  return { at, values, buckets }
}

// rates are how fast a counter grew between samples. One that is smaller than before has
// begun anew, as with a model that was loaded again.
export function rates(samples: Sample[], name: string): (number | null)[] {
  return samples.map((s, i) => {
    const before = samples[i - 1]
    if (!before || !(name in s.values)) return null
    const grown = s.values[name] - (before.values[name] ?? 0)
    return grown < 0 ? 0 : grown / Math.max(0.001, s.at - before.at)
  })
}

export const gauge = (samples: Sample[], name: string) => samples.map((s) => s.values[name] ?? null)

// grown are the counts of a histogram between samples, by bucket.
export function grown(samples: Sample[], name: string): { bounds: number[]; columns: number[][] } {
  const bounds = samples.at(-1)?.buckets[name]?.map(([b]) => b) ?? []
  const columns = samples.map((s, i) => {
    const now = s.buckets[name] ?? []
    const before = i ? (samples[i - 1].buckets[name] ?? []) : now
    return bounds.map((_, k) => Math.max(0, (now[k]?.[1] ?? 0) - (before[k]?.[1] ?? 0)))
  })
  return { bounds, columns }
}
