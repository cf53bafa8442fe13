/**
 * A page with the inspector on it, and `hilo` made from the options in its address. A test gives
 * the inspector its `hilo`. Also has what tests ask of the inspector.
 */
import { consecutive } from '../../../src/addons/consecutive/index.js'
import { createHilo, type HiloOptions } from '../../../src/index.js'
import '../../../src/addons/inspector/index.js'

const element = () => document.querySelector('hilo-inspector')!

const inspected = {
  all: <E extends Element = HTMLElement>(selector: string) => [
    ...element().shadowRoot!.querySelectorAll<E>(selector),
  ],
  texts: (selector: string) => inspected.all(selector).map((each) => each.textContent),
  /** What each piece of a number line is called. */
  pieces: (collection = 'orders') =>
    inspected.all(`[aria-label="${collection}"] .piece`).map((piece) => piece.ariaLabel!),
  button: (name: string) =>
    inspected.all('button').find((each) => (each.ariaLabel ?? each.textContent)!.startsWith(name))!,
  /** Keys go where the focus is. */
  press: (key: string) =>
    element().shadowRoot!.activeElement!.dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }),
    ),
  focused: () => element().shadowRoot!.activeElement?.ariaLabel,
}

declare global {
  interface Window {
    inspected: typeof inspected
  }
}

const options: HiloOptions = JSON.parse(new URLSearchParams(location.search).get('options') ?? '{}')
window.createHilo = createHilo
window.consecutive = consecutive
window.hilo = createHilo(options)
window.inspected = inspected
