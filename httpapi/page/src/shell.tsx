import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { place, to } from './router'
import { theme, themes, type Theme } from './theme'
import { Questions } from './ui/dialog'
import { Failed } from './ui/failure'
import * as icons from './ui/icons'
import { KeyDialog } from './ui/key'
import { Notices } from './ui/notice'
import { views, type View, type ViewProps } from './views'

// The Shell is what stays: navigation around the view of the address.
export function Shell() {
  const view = views.find((v) => v.id === place.value.view) ?? views[0]
  useEffect(() => {
    document.title = view.title + ' · quern'
  }, [view])
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to content
      </a>
      <nav class="rail" aria-label="Views">
        <a class="brand" href={to(views[0].id)} title="quern" aria-label="quern">
          <icons.quern />
        </a>
        {views.map((v) => (
          <a key={v.id} href={to(v.id)} aria-current={v === view ? 'page' : undefined}>
            <v.icon />
            <span>{v.title}</span>
          </a>
        ))}
        <ThemeButton />
      </nav>
      <main id="content" tabindex={-1}>
        <Loaded key={view.id} view={view} rest={place.value.rest} />
      </main>
      <KeyDialog />
      <Questions />
      <Notices />
    </>
  )
}

function skip(e: Event) {
  e.preventDefault() // the hash is the router's
  document.getElementById('content')!.focus()
}

const themeIcons: Record<Theme, icons.Icon> = { auto: icons.auto, light: icons.sun, dark: icons.moon }
const themeNames: Record<Theme, string> = { auto: 'as the system', light: 'light', dark: 'dark' }

function ThemeButton() {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length]
  const Icon = themeIcons[theme.value]
  const label = `Colours: ${themeNames[theme.value]}. Change to ${themeNames[next]}`
  return (
    <button type="button" class="theme quiet" title={label} aria-label={label} onClick={() => (theme.value = next)}>
      <Icon />
    </button>
  )
}

const loaded = new Map<string, FunctionComponent<ViewProps>>()

// Loaded shows a view once its code is here.
function Loaded({ view, rest }: { view: View; rest: string[] }) {
  const [failure, fail] = useState<unknown>(null)
  const [, arrived] = useState(0)
  useEffect(() => {
    if (loaded.has(view.id)) return
    let left = false
    view.load().then(
      (m) => {
        loaded.set(view.id, m.default)
        if (!left) arrived((n) => n + 1)
      },
      () => left || fail(new Error('This part of the page could not be loaded. See that quern serve runs, then load the page again.')),
    )
    return () => void (left = true)
  }, [view])
  if (failure) {
    return (
      <div class="view">
        {/* A browser does not ask again for a module that failed. */}
        <Failed error={failure} retry={() => location.reload()} label="Load again" />
      </div>
    )
  }
  const Content = loaded.get(view.id)
  return Content ? <Content rest={rest} /> : null
}
