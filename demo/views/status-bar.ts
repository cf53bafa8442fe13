/** The offline switch, and one sentence on the state between this device and the server. */
import type { Hilo } from '../../src/index.js'
import type { Connection } from '../connection.js'
import type { Snapshot } from '../store.js'
import type { Sync } from '../sync.js'
import { must, plural, setText } from './dom.js'

/** If everything is sent within this time, the bar does not say that it is being sent. */
const SENDING_SHOWN_AFTER_MS = 400

export class StatusBar {
  readonly #switch = must<HTMLButtonElement>('#switch')
  readonly #line = must('#status')
  readonly #hilo: Hilo
  readonly #connection: Connection
  readonly #sync: Sync
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(hilo: Hilo, connection: Connection, sync: Sync) {
    this.#hilo = hilo
    this.#connection = connection
    this.#sync = sync
    this.#switch.addEventListener('click', () => connection.switch(!connection.isSwitchedOn))
  }

  /** @param update starts the newer version and reloads */
  offerUpdate(update: () => void): void {
    const offer = must<HTMLButtonElement>('#update')
    offer.addEventListener('click', update, { once: true })
    offer.hidden = false
  }

  render(snapshot: Snapshot): void {
    const { isSwitchedOn } = this.#connection
    this.#switch.setAttribute('aria-checked', String(isSwitchedOn))
    const [mood, text] = this.#sentence(snapshot)
    const show = () => {
      document.documentElement.dataset.mood = mood
      setText(this.#line, text)
    }
    clearTimeout(this.#timer)
    if (mood === 'sending' && !this.#line.textContent.startsWith('Sending'))
      this.#timer = setTimeout(show, SENDING_SHOWN_AFTER_MS)
    else show()
  }

  #sentence({
    waiting,
    stuck,
    total,
  }: Snapshot): [mood: 'online' | 'sending' | 'offline' | 'trouble', text: string] {
    const { available } = this.#hilo.status('orders')
    const kept =
      waiting > 0
        ? `${plural(waiting, 'order waits', 'orders wait')} on this device.`
        : 'New orders wait on this device.'
    const left = available > 0 || total > 0 ? `${plural(available, 'order id')} left.` : FIRST_VISIT
    if (!this.#connection.isSwitchedOn) return ['offline', `Working offline. ${kept} ${left}`]
    if (!this.#connection.isOnline) return ['offline', `No network. ${kept} ${left}`]
    if (this.#sync.problem)
      return ['trouble', `${this.#sync.problem} ${kept} ${left} The page tries again by itself.`]
    if (waiting > 0) return ['sending', `Sending ${plural(waiting, 'order')}…`]
    if (stuck > 0)
      return [
        'online',
        `Online. ${plural(stuck, 'order needs', 'orders need')} a decision; every other one ` +
          'is in the server’s table.',
      ]
    return [
      'online',
      total > 0
        ? 'Online. Every order is in the server’s table.'
        : 'Online. Orders reach the server as you make them.',
    ]
  }
}

const FIRST_VISIT =
  'This device has no ids yet: it has to reach the server once, then it works offline.'
