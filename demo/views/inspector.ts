/** The package's own inspector, loaded when somebody wants to look inside. */
import type { InspectedSeries } from '../../src/addons/inspector/index.js'
import type { Hilo } from '../../src/index.js'
import { must } from './dom.js'

export class Inspector {
  constructor(hilo: Hilo, series: InspectedSeries) {
    const details = must<HTMLDetailsElement>('#inside')
    details.addEventListener('toggle', async () => {
      if (!details.open || details.querySelector('hilo-inspector')) return
      await import('../../src/addons/inspector/index.js')
      const shown = { hilo, series }
      details.append(Object.assign(document.createElement('hilo-inspector'), shown))
    })
  }
}
