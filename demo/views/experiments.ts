/**
 * The buttons that try to break the promise: many orders at once, more tabs, a killed tab, a lost
 * server, a forged duplicate.
 */
import type { Hilo } from '../../src/index.js'
import { ask } from '../ask.js'
import { pullThePlug } from '../plug.js'
import { must, setText } from './dom.js'

export interface Attempts {
  storm(): Promise<void>
  forge(): Promise<void>
  /** The server stopped answering, or answers again. */
  lostServer(): void
}

export class Experiments {
  readonly #forge = must<HTMLButtonElement>('#forge')
  readonly #outage = must<HTMLButtonElement>('#outage')

  constructor(hilo: Hilo, { storm, forge, lostServer }: Attempts) {
    const storming = must<HTMLButtonElement>('#storm')
    storming.disabled = false
    storming.addEventListener('click', () => {
      showFigures()
      storm()
    })
    must('#kill').addEventListener('click', () => pullThePlug(hilo))
    this.#forge.addEventListener('click', () => {
      if (this.#forge.getAttribute('aria-disabled') === 'true') return
      showFigures()
      forge()
    })
    this.#outage.addEventListener('click', async () => {
      const isOn = this.#outage.getAttribute('aria-pressed') === 'true'
      if (await turn(isOn ? 'DELETE' : 'POST')) this.#showOutage(!isOn)
      lostServer()
    })
    turn('GET').then((answer) => this.#showOutage(answer?.isOn ?? false))
  }

  /** @param canForge is there an order whose id could be used twice? */
  render(canForge: boolean): void {
    this.#forge.setAttribute('aria-disabled', String(!canForge))
  }

  #showOutage(isOn: boolean): void {
    this.#outage.setAttribute('aria-pressed', String(isOn))
    setText(must('span', this.#outage), isOn ? 'Bring it back' : 'Lose the server')
  }
}

/** On a phone they are far above the button. Four desks side by side share those above them. */
function showFigures(): void {
  if (window === window.top) must('#scoreboard').scrollIntoView({ block: 'nearest' })
}

/** @returns undefined when the server really is lost */
const turn = (method: 'GET' | 'POST' | 'DELETE') => ask<{ isOn: boolean }>('/outage', method)
