/**
 * `offline-hilo/inspector`: importing it registers `<hilo-inspector>`; on a server it does nothing.
 */
import { HiloInspector } from './element.js'

export type { InspectedSeries } from './series-view.js'
export { HiloInspector }

declare global {
  interface HTMLElementTagNameMap {
    'hilo-inspector': HiloInspector
  }
}

if (globalThis.customElements && !customElements.get('hilo-inspector'))
  customElements.define('hilo-inspector', HiloInspector)
