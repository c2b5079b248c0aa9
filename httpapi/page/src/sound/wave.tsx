import { useEffect, useRef, useState } from 'preact/hooks'
import { theme } from '../theme'
import { colour, rgb } from '../ui/colour'
import { magnitudes } from './fourier'
import { clock } from './words'

// Decoded is sound as one row of samples.
export interface Decoded {
  samples: Float32Array
  rate: number
}

// mostBytes bounds what is decoded for a picture: ten bytes of memory come of one.
const mostBytes = 64 << 20

// decode reads sound for its picture; null where the browser cannot, or it is very long.
export async function decode(sound: Blob): Promise<Decoded | null> {
  if (sound.size > mostBytes) return null
  try {
    const rate = 16000 // pictures need no more
    const buffer = await new OfflineAudioContext(1, 1, rate).decodeAudioData(await sound.arrayBuffer())
    const samples = buffer.getChannelData(0)
    for (let c = 1; c < buffer.numberOfChannels; c++) {
      const other = buffer.getChannelData(c)
      for (let i = 0; i < samples.length; i++) samples[i] += (other[i] - samples[i]) / (c + 1)
    }
    return { samples, rate }
  } catch {
    return null
  }
}

interface Props {
  sound: Decoded | null
  media: HTMLMediaElement | null
}

// Wave draws sound as its shape, or as its frequencies, with the place that is heard. It
// is moved with the pointer or the arrow keys.
export function Wave({ sound, media }: Props) {
  const [spectral, setSpectral] = useState(false)
  const canvas = useRef<HTMLCanvasElement>(null)
  const head = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const length = sound ? sound.samples.length / sound.rate : 0

  useEffect(() => {
    const watch = new ResizeObserver(([e]) => setWidth(Math.round(e.contentRect.width)))
    watch.observe(canvas.current!)
    return () => watch.disconnect()
  }, [])
  useEffect(() => {
    const c = canvas.current!
    const scale = Math.min(devicePixelRatio, 2)
    c.width = Math.max(1, width * scale)
    c.height = 72 * scale
    if (sound && width) (spectral ? drawSpectrum : drawShape)(c, sound)
  }, [sound, width, spectral, theme.value])
  useEffect(() => {
    if (!media) return
    let frame = 0
    const step = () => {
      frame = requestAnimationFrame(step)
      const all = length || media.duration || 1
      head.current!.style.insetInlineStart = `${Math.min(100, (100 * media.currentTime) / all)}%`
    }
    step()
    return () => cancelAnimationFrame(frame)
  }, [media, length])

  const seek = (t: number) => media && length && (media.currentTime = Math.max(0, Math.min(t, length)))
  return (
    <div class="wave">
      <div
        class="wave-field"
        role="slider"
        tabIndex={0}
        aria-label="Place in the sound"
        aria-valuemin={0}
        aria-valuemax={Math.round(length)}
        aria-valuenow={Math.round(media?.currentTime ?? 0)}
        aria-valuetext={clock(media?.currentTime ?? 0)}
        dir="ltr"
        onPointerDown={(e) => {
          const box = e.currentTarget.getBoundingClientRect()
          seek(((e.clientX - box.left) / box.width) * length)
        }}
        onKeyDown={(e) => {
          const step = { ArrowLeft: -2, ArrowRight: 2, PageUp: -15, PageDown: 15 }[e.key]
          if (step && media) (e.preventDefault(), seek(media.currentTime + step))
        }}
      >
        <canvas ref={canvas} />
        <div ref={head} class="wave-head" />
      </div>
      <button type="button" class="quiet wave-kind" onClick={() => setSpectral(!spectral)}>
        {spectral ? 'Show the waveform' : 'Show the spectrogram'}
      </button>
    </div>
  )
}

function drawShape(c: HTMLCanvasElement, { samples }: Decoded) {
  const g = c.getContext('2d')!
  g.fillStyle = colour('accent')
  const middle = c.height / 2
  for (let x = 0; x < c.width; x++) {
    const from = Math.floor((x * samples.length) / c.width)
    const to = Math.max(from + 1, Math.floor(((x + 1) * samples.length) / c.width))
    let low = 0
    let high = 0
    // Long sound is looked at in places.
    for (let i = from, step = Math.max(1, (to - from) >> 8); i < to; i += step) {
      low = Math.min(low, samples[i])
      high = Math.max(high, samples[i])
    }
    g.fillRect(x, middle - high * middle, 1, Math.max(1, (high - low) * middle))
  }
}

// depth is how far below the strongest a frequency is still drawn, in decibels.
const depth = 80

function drawSpectrum(c: HTMLCanvasElement, { samples }: Decoded) {
  const g = c.getContext('2d')!
  const image = g.createImageData(c.width, c.height)
  const [back, ink] = [rgb(colour('sunk')), rgb(colour('accent'))]
  const window = new Float32Array(512)
  const bins = new Float32Array(256)
  for (let x = 0; x < c.width; x++) {
    const from = Math.floor((x * Math.max(0, samples.length - window.length)) / c.width)
    window.fill(0)
    window.set(samples.subarray(from, from + window.length))
    magnitudes(window, bins)
    for (let y = 0; y < c.height; y++) {
      const bin = Math.floor(((c.height - 1 - y) * bins.length) / c.height)
      const share = Math.max(0, Math.min(1, 1 + bins[bin] / depth))
      const at = 4 * (y * c.width + x)
      for (let k = 0; k < 3; k++) image.data[at + k] = back[k] + (ink[k] - back[k]) * share * share
      image.data[at + 3] = 255
    }
  }
  g.putImageData(image, 0, 0)
}
