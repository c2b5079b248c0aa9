import { effect, signal } from '@preact/signals'
import { recall, remember } from './ui/memory'

export type Theme = 'auto' | 'light' | 'dark'
export const themes: Theme[] = ['auto', 'light', 'dark']

const stored = recall('theme') as Theme
export const theme = signal<Theme>(themes.includes(stored) ? stored : 'auto')

effect(() => {
  document.documentElement.dataset.theme = theme.value
  remember('theme', theme.value === 'auto' ? null : theme.value)
})
