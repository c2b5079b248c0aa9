import { render } from 'preact'
import { Shell } from './shell'
import './theme'

render(<Shell />, document.getElementById('app')!)
