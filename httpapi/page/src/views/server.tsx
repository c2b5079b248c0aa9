import { useEffect, useState } from 'preact/hooks'
import { call, get } from '../api'
import { parse, gauge, rates, type Sample } from '../watch/metrics'
import { Heat, Plot } from '../watch/plots'
import { Failed } from '../ui/failure'
import { bytes, count, rate } from '../ui/format'

interface Info {
  version: string
  started: number
  auth: boolean
  keys: string[]
  key?: string
  manage: boolean
  limits: Record<string, number | string>
  timeouts: Record<string, string | Record<string, string>>
}

// every is how often /metrics is read, and most how many readings are shown: five minutes.
const every = 2000
const most = 150

export default function Server() {
  const [failure, fail] = useState<unknown>(null)
  const [info, setInfo] = useState<Info | null>(null)
  const [samples, setSamples] = useState<Sample[]>([])

  const load = () => {
    fail(null)
    get<Info>('v1/server').then(setInfo, fail)
  }
  useEffect(() => {
    load()
    const end = new AbortController()
    let timer = 0
    const read = async () => {
      try {
        if (!document.hidden) {
          const text = await (await call('metrics', { signal: end.signal })).text()
          setSamples((old) => [...old, parse(text, Date.now() / 1000)].slice(-most))
          fail(null)
        }
      } catch (error) {
        if (end.signal.aborted) return
        fail(error)
      }
      if (!end.signal.aborted) timer = setTimeout(read, every)
    }
    read()
    return () => {
      end.abort()
      clearTimeout(timer)
    }
  }, [])

  const at = samples.map((s) => s.at)
  const v = (name: string) => gauge(samples, name)
  const percent = (n: number) => `${Math.round(n * 100)} %`
  return (
    <div class="view server">
      <h1>Server</h1>
      <p class="lead">
        {info ? (
          <>
            quern {info.version}, running since {new Date(info.started * 1000).toLocaleString()}
          </>
        ) : (
          'What the server does, as it does it.'
        )}
      </p>
      {failure !== null && <Failed error={failure} retry={load} />}
      {samples.length > 0 && (
        // The focus is here for the keys that scroll: nothing else takes it.
        <div class="plots" role="group" aria-label="Plots" tabIndex={0}>
          <Plot
            title="Tokens a second"
            at={at}
            spell={rate}
            lines={[
              { label: 'read', colour: 'second', values: rates(samples, 'vllm:prompt_tokens_total') },
              { label: 'written', colour: 'accent', values: rates(samples, 'vllm:generation_tokens_total') },
            ]}
          />
          <Plot
            title="Requests"
            at={at}
            spell={rate}
            lines={[
              { label: 'running', colour: 'accent', values: v('vllm:num_requests_running') },
              { label: 'waiting', colour: 'danger', values: v('vllm:num_requests_waiting') },
            ]}
          />
          <Heat title="Time to the first token" samples={samples} name="vllm:time_to_first_token_seconds" />
          <Heat title="Time between tokens" samples={samples} name="vllm:time_per_output_token_seconds" />
          <Plot title="KV cache in use" at={at} spell={percent} lines={[{ label: '', colour: 'accent', values: v('vllm:kv_cache_usage_perc') }]} />
          <Plot
            title="Memory"
            at={at}
            spell={(n) => bytes(Math.round(n))}
            lines={[
              { label: 'process', colour: 'second', values: v('process_resident_memory_bytes') },
              { label: 'models', colour: 'accent', values: v('model_memory_bytes') },
            ]}
          />
          <Plot
            title="Sound, seconds a second"
            at={at}
            spell={rate}
            lines={[{ label: 'heard and spoken', colour: 'accent', values: rates(samples, 'audio_seconds_total') }]}
          />
          <Plot title="Answers a second" at={at} spell={rate} lines={[{ label: '', colour: 'accent', values: rates(samples, 'http_requests_total') }]} />
        </div>
      )}
      {info && (
        <>
          <h2>Keys</h2>
          <p>
            {info.keys.length ? (
              <>
                {info.keys.map((k) => (
                  <span key={k} class={k === info.key ? 'badge loaded' : 'badge'}>
                    {k}
                    {k === info.key ? ', yours' : ''}
                  </span>
                ))}
              </>
            ) : (
              'None: whoever reaches this address may use it.'
            )}{' '}
            {info.manage ? 'You may pull and remove models.' : 'You may not pull or remove models.'}
          </p>
          <div class="facts">
            <Facts title="Limits" rows={Object.entries(info.limits).map(([k, n]) => [k, limit(k, n)])} />
            <Facts
              title="Times"
              rows={Object.entries(info.timeouts).flatMap(([k, t]) =>
                typeof t === 'string' ? [[k, t === '0s' ? 'off' : round(t)] as [string, string]] : Object.entries(t).map(([path, d]) => [path, round(d)] as [string, string]),
              )}
            />
          </div>
        </>
      )}
    </div>
  )
}

// round leaves out the zeros of a length of time: 15m0s is 15m.
const round = (t: string) => t.replace(/(?<=[hm])0[ms](0s)?$/, '')

// limit spells a limit: a length of time is spelled already.
function limit(name: string, n: number | string): string {
  if (typeof n === 'string') return round(n)
  if (/body|upload|files|headers|message/.test(name)) return bytes(n)
  return n === 0 ? 'none' : count(n)
}

function Facts({ title, rows }: { title: string; rows: [string, string][] }) {
  return (
    <section>
      <h2>{title}</h2>
      <dl>
        {rows.map(([k, v]) => (
          <div key={k}>
            <dt>
              <code>{k}</code>
            </dt>
            <dd>{v}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
